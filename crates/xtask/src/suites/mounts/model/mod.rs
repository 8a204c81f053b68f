//! A plain POSIX tree in memory: what the file system under test must do.

mod names;
mod numbering;

use std::collections::BTreeMap;
use std::rc::Rc;

use nix::errno::Errno;

use crate::suites::mounts::locks::Locks;
use crate::suites::mounts::operation::{
    Attributes, Content, Entry, Kind, Operation, Outcome, SLOTS,
};

/// A file's number in the model.
pub type Id = u64;

/// The directory in which everything happens.
pub const ROOT: Id = 0;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A regular file's bytes.
    File(Rc<Vec<u8>>),
    /// A directory's names, and the directory that it is in.
    Directory(BTreeMap<String, Id>, Id),
    /// A symbolic link's target.
    Symlink(String),
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its content.
    pub body: Body,
    mode: u32,
    links: u64,
    modified_ns: Option<i64>,
    locks: Locks,
}

/// The tree, and which files the agents hold open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    nodes: BTreeMap<Id, Node>,
    next: Id,
    open: Vec<[Option<Id>; SLOTS]>,
}

type Result<T> = std::result::Result<T, Errno>;

impl Model {
    /// An empty directory and some agents.
    pub fn new(agents: usize) -> Self {
        let mut model = Self {
            nodes: BTreeMap::new(),
            next: ROOT,
            open: vec![[None; SLOTS]; agents],
        };
        let root = model.add(Body::Directory(BTreeMap::new(), ROOT), 0o755);
        model.change(root).links = 1;
        model
    }

    /// Does what the agent is asked to do.
    pub fn apply(&mut self, agent: usize, operation: &Operation) -> Outcome {
        self.try_apply(agent, operation)
            .unwrap_or_else(|errno| Outcome::Error(errno as i32))
    }

    /// As [`apply`](Self::apply) for an operation with two paths, which were walked before: the
    /// first in state `one`, the second in state `other`. Their last names are looked up now.
    pub fn apply_walked(&mut self, operation: &Operation, one: &Self, other: &Self) -> Outcome {
        let outcome = match operation {
            Operation::Rename { from, to, how } => one.place(from, false).and_then(|old| {
                let new = other.place(to, false)?;
                self.rename_at(&self.again(old)?, &self.again(new)?, *how)
            }),
            Operation::Link { from, to } => one.find(from, false).and_then(|id| {
                let new = other.place(to, false)?;
                self.nodes.get(&id).ok_or(Errno::ENOENT)?;
                self.link_at(id, &self.again(new)?)
            }),
            _ => Err(Errno::ENOSYS),
        };
        outcome.unwrap_or_else(|errno| Outcome::Error(errno as i32))
    }

    fn try_apply(&mut self, agent: usize, operation: &Operation) -> Result<Outcome> {
        match operation {
            Operation::Create { path, mode } => self.make(path, Body::File(Rc::default()), *mode),
            Operation::MakeDirectory { path, mode } => {
                self.make(path, Body::Directory(BTreeMap::new(), ROOT), *mode)
            }
            Operation::Symlink { target, path } => {
                self.make(path, Body::Symlink(target.clone()), 0o777)
            }
            Operation::Unlink { path } => self.unlink(path),
            Operation::RemoveDirectory { path } => self.remove_directory(path),
            Operation::Rename { from, to, how } => self.rename(from, to, *how),
            Operation::Link { from, to } => self.link(from, to),
            Operation::ReadLink { path } => self.read_link(path),
            Operation::ChangeMode { path, mode } => {
                let id = self.find(path, true)?;
                self.change(id).mode = *mode;
                Ok(Outcome::Done)
            }
            Operation::SetTimes { path, time_ns } => {
                let id = self.find(path, true)?;
                self.change(id).modified_ns = Some(*time_ns);
                Ok(Outcome::Done)
            }
            Operation::Stat { path } => {
                Ok(Outcome::Attributes(self.attributes(self.find(path, true)?)))
            }
            Operation::List { path } => self.list(path),
            Operation::Tree => Ok(self.tree(agent)),
            _ => self.apply_to_data(agent, operation),
        }
    }

    fn apply_to_data(&mut self, agent: usize, operation: &Operation) -> Result<Outcome> {
        match operation {
            Operation::Write {
                path,
                offset,
                length,
                fill,
                create,
            } => {
                let id = if *create {
                    self.find_or_create(path)?
                } else {
                    self.find(path, true)?
                };
                self.write(id, *offset, *length, *fill)?;
                self.close_descriptor(agent, id);
                Ok(Outcome::Done)
            }
            Operation::Append { path, length, fill } => {
                let id = self.find(path, true)?;
                let end = self.bytes(id)?.len() as u64;
                self.write(id, end, *length, *fill)?;
                self.close_descriptor(agent, id);
                Ok(Outcome::Done)
            }
            Operation::Read {
                path,
                offset,
                length,
            } => {
                let id = self.find(path, true)?;
                let content = self.read(id, *offset, *length)?;
                self.close_descriptor(agent, id);
                Ok(content)
            }
            Operation::MapRead { path } => {
                let id = self.find(path, true)?;
                let content = self.read(id, 0, usize::MAX)?;
                self.close_descriptor(agent, id);
                Ok(content)
            }
            Operation::Truncate { path, size } => {
                let id = self.find(path, true)?;
                self.change_bytes(id)?
                    .resize(usize::try_from(*size).map_err(|_| Errno::EFBIG)?, 0);
                Ok(Outcome::Done)
            }
            _ => self.apply_to_slot(agent, operation),
        }
    }

    fn apply_to_slot(&mut self, agent: usize, operation: &Operation) -> Result<Outcome> {
        if let Operation::Open { slot, path } = operation {
            self.close(agent, *slot);
            let id = self.find(path, true)?;
            self.bytes(id)?;
            self.open[agent][*slot] = Some(id);
            return Ok(Outcome::Done);
        }
        let (Operation::Close { slot }
        | Operation::WriteOpen { slot, .. }
        | Operation::ReadOpen { slot, .. }
        | Operation::StatOpen { slot }
        | Operation::LockRange { slot, .. }
        | Operation::LockWhole { slot, .. }) = operation
        else {
            return Err(Errno::ENOSYS);
        };
        let Some(id) = self.open[agent][*slot] else {
            return Ok(Outcome::NotOpen);
        };
        match operation {
            Operation::WriteOpen {
                offset,
                length,
                fill,
                ..
            } => {
                self.write(id, *offset, *length, *fill)?;
                Ok(Outcome::Done)
            }
            Operation::ReadOpen { offset, length, .. } => self.read(id, *offset, *length),
            Operation::StatOpen { .. } => Ok(Outcome::Attributes(self.attributes(id))),
            Operation::LockRange {
                kind,
                start,
                length,
                ..
            } => {
                let locks = &mut self.change(id).locks;
                granted(locks.set_range(agent, *kind, *start, start + length))
            }
            Operation::LockWhole { kind, .. } => {
                granted(self.change(id).locks.set_whole(agent, *slot, *kind))
            }
            _ => {
                self.close(agent, *slot);
                Ok(Outcome::Done)
            }
        }
    }

    /// A file that is there; ids are only handed out for those.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[&id]
    }

    fn change(&mut self, id: Id) -> &mut Node {
        self.nodes
            .get_mut(&id)
            .unwrap_or_else(|| panic!("the model lost file {id}"))
    }

    /// A directory's names.
    pub fn entries(&self, id: Id) -> Result<&BTreeMap<String, Id>> {
        match &self.node(id).body {
            Body::Directory(entries, _) => Ok(entries),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn change_entries(&mut self, id: Id) -> &mut BTreeMap<String, Id> {
        let node = self.change(id);
        node.modified_ns = None;
        match &mut node.body {
            Body::Directory(entries, _) => entries,
            _ => panic!("file {id} of the model is no directory"),
        }
    }

    /// The directory that a directory is in.
    pub fn parent(&self, id: Id) -> Id {
        match &self.node(id).body {
            Body::Directory(_, parent) => *parent,
            _ => panic!("file {id} of the model is no directory"),
        }
    }

    fn add(&mut self, body: Body, mode: u32) -> Id {
        let id = self.next;
        self.next += 1;
        let node = Node {
            body,
            mode,
            links: 0,
            modified_ns: None,
            locks: Locks::default(),
        };
        self.nodes.insert(id, node);
        id
    }

    fn read_link(&self, path: &str) -> Result<Outcome> {
        match &self.node(self.find(path, false)?).body {
            Body::Symlink(target) => Ok(Outcome::Target(target.clone())),
            _ => Err(Errno::EINVAL),
        }
    }

    fn list(&self, path: &str) -> Result<Outcome> {
        let entries = self.entries(self.find(path, true)?)?;
        let names = entries
            .iter()
            .map(|(name, id)| (name.clone(), self.kind(*id)));
        Ok(Outcome::Names(names.collect()))
    }

    fn bytes(&self, id: Id) -> Result<&Rc<Vec<u8>>> {
        match &self.node(id).body {
            Body::File(bytes) => Ok(bytes),
            _ => Err(Errno::EISDIR),
        }
    }

    fn change_bytes(&mut self, id: Id) -> Result<&mut Vec<u8>> {
        let node = self.change(id);
        match &mut node.body {
            Body::File(bytes) => {
                node.modified_ns = None;
                Ok(Rc::make_mut(bytes))
            }
            _ => Err(Errno::EISDIR),
        }
    }

    fn write(&mut self, id: Id, offset: u64, length: usize, fill: u8) -> Result<()> {
        let start = usize::try_from(offset).map_err(|_| Errno::EFBIG)?;
        let bytes = self.change_bytes(id)?;
        if length > 0 {
            bytes.resize(bytes.len().max(start + length), 0);
            bytes[start..start + length].fill(fill);
        }
        Ok(())
    }

    fn read(&self, id: Id, offset: u64, length: usize) -> Result<Outcome> {
        let bytes = self.bytes(id)?;
        let start = usize::try_from(offset)
            .map_err(|_| Errno::EINVAL)?
            .min(bytes.len());
        let end = start.saturating_add(length).min(bytes.len());
        Ok(Outcome::Data(Content::of(&bytes[start..end])))
    }

    fn close(&mut self, agent: usize, slot: usize) {
        if let Some(id) = self.open[agent][slot].take() {
            self.change(id).locks.drop_whole(agent, slot);
            self.close_descriptor(agent, id);
            self.forget(id);
        }
    }

    fn close_descriptor(&mut self, agent: usize, id: Id) {
        self.change(id).locks.drop_ranges(agent);
    }

    fn kind(&self, id: Id) -> Kind {
        match self.node(id).body {
            Body::File(_) => Kind::File,
            Body::Directory(..) => Kind::Directory,
            Body::Symlink(_) => Kind::Symlink,
        }
    }

    fn attributes(&self, id: Id) -> Attributes {
        let node = self.node(id);
        let (links, size) = match &node.body {
            Body::File(bytes) => (node.links, Some(bytes.len() as u64)),
            Body::Symlink(target) => (node.links, Some(target.len() as u64)),
            Body::Directory(entries, _) => {
                let below = entries
                    .values()
                    .filter(|id| self.kind(**id) == Kind::Directory);
                (2 + below.count() as u64, None)
            }
        };
        Attributes {
            kind: self.kind(id),
            mode: node.mode,
            links,
            size,
            modified_ns: node.modified_ns,
            inode: id,
            changed_ns: None,
        }
    }

    fn tree(&mut self, agent: usize) -> Outcome {
        let mut tree = BTreeMap::new();
        let mut paths = vec![(String::new(), ROOT)];
        while let Some((path, id)) = paths.pop() {
            let mut content = Content::of(&[]);
            match &self.node(id).body {
                Body::Directory(entries, _) => paths.extend(
                    entries
                        .iter()
                        .map(|(name, below)| (join(&path, name), *below)),
                ),
                Body::File(bytes) => content = Content::of(bytes),
                Body::Symlink(target) => content = Content::of(target.as_bytes()),
            }
            tree.insert(
                path,
                Entry {
                    attributes: self.attributes(id),
                    content,
                },
            );
            // The agent opens and closes every file.
            self.close_descriptor(agent, id);
        }
        Outcome::Tree(tree)
    }
}

/// The path of a name in a directory.
pub fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

fn granted(granted: bool) -> Result<Outcome> {
    if granted {
        Ok(Outcome::Done)
    } else {
        Err(Errno::EAGAIN)
    }
}
