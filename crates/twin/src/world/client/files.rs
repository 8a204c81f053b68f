//! The files of the numbers in traces.

use futago_base::FileId;
use serde::Serialize;
use std::collections::BTreeMap;

/// The files that a client has made or found in traces.
#[derive(Debug, Default, Serialize)]
pub struct Files(BTreeMap<Key, FileId>);

/// The phase of a trace, and the number of a file in it.
type Key = (u32, u64);

/// The undo of a remembered file: the file that was known before.
#[derive(Debug)]
pub struct FoundFile(Key, Option<FileId>);

impl Files {
    /// The file of a number, if it has been found.
    pub fn get(&self, phase: u32, number: u64) -> Option<FileId> {
        self.0.get(&(phase, number)).copied()
    }

    /// A file has been found.
    pub fn found(&mut self, phase: u32, number: u64, file: FileId) -> FoundFile {
        let key = (phase, number);
        FoundFile(key, self.0.insert(key, file))
    }

    /// Takes the latest finding back that has not been taken back.
    pub fn forget(&mut self, FoundFile(key, before): FoundFile) {
        match before {
            Some(before) => self.0.insert(key, before),
            None => self.0.remove(&key),
        };
    }
}
