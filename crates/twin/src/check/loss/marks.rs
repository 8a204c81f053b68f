//! Values of bytes by which files are known.

use crate::model::{NewKind, Node, Operation, Tree};
use futago_base::FileId;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Which value the bytes of each file have, so that bytes of another file are seen as such.
#[derive(Debug)]
pub struct Marks {
    /// The content of files before each file had values of its own.
    before: BTreeMap<FileId, BTreeSet<u8>>,
    /// The value that clients write to each file.
    of: BTreeMap<FileId, u8>,
    /// The file that each value is known to be of.
    owners: BTreeMap<u8, FileId>,
    free: Vec<u8>,
}

impl Marks {
    /// Values for the files of a tree, and for those to come.
    pub fn new(tree: &Tree) -> Self {
        let held = |node: &Rc<Node>| {
            let runs = node.file()?.data.runs().iter();
            Some((node.id?, runs.map(|run| run.tag).collect::<BTreeSet<u8>>()))
        };
        let before: BTreeMap<FileId, BTreeSet<u8>> = tree.nodes.values().filter_map(held).collect();
        let used: BTreeSet<u8> = before.values().flatten().copied().collect();
        Self {
            free: (1..=u8::MAX)
                .filter(|value| !used.contains(value))
                .collect(),
            before,
            of: BTreeMap::new(),
            owners: BTreeMap::new(),
        }
    }

    /// Has an operation write the value of its file; `None` if there is none left for it.
    pub fn mark(&mut self, mut operation: Operation) -> Option<Operation> {
        match &mut operation {
            Operation::Write { id, tag, .. } | Operation::Append { id, tag, .. } => {
                *tag = self.value_of(*id)?;
            }
            Operation::Create {
                kind: NewKind::File(1..),
                tag,
                ..
            } => *tag = self.free.pop()?,
            _ => {}
        }
        Some(operation)
    }

    fn value_of(&mut self, file: FileId) -> Option<u8> {
        if let Some(value) = self.of.get(&file) {
            return Some(*value);
        }
        let value = self.free.pop()?;
        self.of.insert(file, value);
        self.owners.insert(value, file);
        Some(value)
    }

    /// A file was made by an operation.
    pub fn made(&mut self, operation: &Operation, file: FileId) {
        if let Operation::Create {
            kind: NewKind::File(1..),
            tag,
            ..
        } = operation
        {
            self.owners.insert(*tag, file);
        }
    }

    /// Whether a byte of a file may have this value. One that nobody is known to have is of the
    /// file that shows it first: its creation has not been answered.
    pub fn may_hold(&mut self, file: FileId, value: u8) -> bool {
        let before = self.before.get(&file);
        before.is_some_and(|values| values.contains(&value))
            || *self.owners.entry(value).or_insert(file) == file
    }
}
