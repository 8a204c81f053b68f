//! Which open files were written to: the client may buffer their data.
//!
//! If something is lost, every open file description through which the file was written gets the
//! error once, as on Linux (`errseq_t`).

use crate::interruption::locked;
use futago_base::{Errno, FileId};
use std::collections::HashMap;
use std::sync::Mutex;

/// The descriptions that have written to a file, with their pending errors.
type Writers = HashMap<u64, Option<Errno>>;

/// The files that are open and were written to.
#[derive(Debug, Default)]
pub struct Unsynchronized(Mutex<HashMap<FileId, Writers>>);

impl Unsynchronized {
    /// Notes that a description has written to a file.
    pub fn written(&self, file: FileId, handle: u64) {
        let mut files = locked(&self.0);
        files.entry(file).or_default().entry(handle).or_default();
    }

    /// Whether a file is open that was written to.
    pub fn has(&self, file: FileId) -> bool {
        locked(&self.0).contains_key(&file)
    }

    /// The files that are open and were written to.
    pub fn files(&self) -> Vec<FileId> {
        locked(&self.0).keys().copied().collect()
    }

    /// Something that was written to a file is lost.
    pub fn lost(&self, file: FileId, why: Errno) {
        if let Some(writers) = locked(&self.0).get_mut(&file) {
            writers.values_mut().for_each(|pending| {
                pending.get_or_insert(why);
            });
        }
    }

    /// The pending error of a file description, returned once.
    pub fn take_lost(&self, file: FileId, handle: u64) -> Result<(), Errno> {
        let mut files = locked(&self.0);
        let pending = files
            .get_mut(&file)
            .and_then(|writers| writers.get_mut(&handle));
        pending.and_then(Option::take).map_or(Ok(()), Err)
    }

    /// A description is closed.
    pub fn closed(&self, file: FileId, handle: u64) {
        let mut files = locked(&self.0);
        if let Some(writers) = files.get_mut(&file) {
            writers.remove(&handle);
            if writers.is_empty() {
                files.remove(&file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(5);

    #[test]
    fn every_writer_gets_the_error_of_a_loss_once() {
        let files = Unsynchronized::default();
        files.written(FILE, 1);
        files.written(FILE, 2);
        files.lost(FILE, Errno::ENOSPC);
        files.lost(FILE, Errno::EIO);
        assert_eq!(files.take_lost(FILE, 1), Err(Errno::ENOSPC));
        assert_eq!(files.take_lost(FILE, 1), Ok(()));
        assert_eq!(files.take_lost(FILE, 3), Ok(()), "it wrote nothing");
        files.closed(FILE, 1);
        assert_eq!(files.take_lost(FILE, 2), Err(Errno::ENOSPC));
        files.closed(FILE, 2);
        assert!(!files.has(FILE));
    }
}
