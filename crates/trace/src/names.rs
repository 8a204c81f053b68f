//! The names of files in the course of a trace.

use crate::{Operation, ROOT};
use futago_base::Name;
use std::collections::{BTreeMap, BTreeSet};

/// The names of files.
#[derive(Debug, Default)]
pub struct Names {
    files: BTreeMap<(u64, Name), u64>,
    of_files: BTreeMap<u64, BTreeSet<(u64, Name)>>,
}

impl Names {
    /// Gives a file a name, which may have belonged to another file.
    pub fn add(&mut self, file: u64, directory: u64, name: &Name) {
        self.remove(directory, name);
        let place = (directory, name.clone());
        self.files.insert(place.clone(), file);
        self.of_files.entry(file).or_default().insert(place);
    }

    /// The file that has a name.
    pub fn file(&self, directory: u64, name: &Name) -> Option<u64> {
        self.files.get(&(directory, name.clone())).copied()
    }

    fn remove(&mut self, directory: u64, name: &Name) -> Option<u64> {
        let place = (directory, name.clone());
        let file = self.files.remove(&place)?;
        self.of_files.entry(file).or_default().remove(&place);
        Some(file)
    }

    /// Applies the changes of a successful operation.
    pub fn follow(&mut self, operation: &Operation) {
        if let Some((file, directory, name)) = operation.finds() {
            return self.add(file, directory, name);
        }
        match operation {
            Operation::Link {
                file,
                directory,
                name,
            } => self.add(*file, *directory, name),
            Operation::Unlink { directory, name }
            | Operation::RemoveDirectory { directory, name } => {
                self.remove(*directory, name);
            }
            Operation::Rename {
                directory,
                name,
                new_in,
                new_name,
                exchange,
                ..
            } => {
                let moved = self.remove(*directory, name);
                let replaced = self.remove(*new_in, new_name);
                if let Some(file) = moved {
                    self.add(file, *new_in, new_name);
                }
                if let Some(file) = replaced.filter(|_| *exchange) {
                    self.add(file, *directory, name);
                }
            }
            _ => {}
        }
    }

    /// The path of a file; `None` if it has no name any more.
    pub fn path(&self, file: u64) -> Option<Vec<u8>> {
        let (mut names, mut at) = (Vec::new(), file);
        while at != ROOT {
            // More names than files form a cycle, which no file system has.
            if names.len() > self.of_files.len() {
                return None;
            }
            let (directory, name) = self.of_files.get(&at)?.first()?;
            names.push(name.as_bytes());
            at = *directory;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }
}
