//! Which locks were asked for through this mount: closing a file that has none asks nobody.

use crate::interruption::locked;
use futago_base::{FileId, record::LockSpace};
use std::collections::HashMap;
use std::sync::Mutex;

/// An owner of locks on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    space: LockSpace,
    owner: u64,
    /// The open file through which a lock was asked for last.
    handle: u64,
}

/// Whose locks on which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The file.
    pub file: FileId,
    /// The kind of locks.
    pub space: LockSpace,
    /// The owner: of locks on ranges as the kernel names it, of locks on whole files the open file.
    pub owner: u64,
}

/// The owners that may hold locks, by file.
#[derive(Debug, Default)]
pub struct LockNotes {
    notes: Mutex<HashMap<FileId, Vec<Note>>>,
    /// Whose callers were let go before it was known what became of their requests.
    unsettled: Mutex<Vec<Holder>>,
}

impl LockNotes {
    /// Notes that `owner` is about to ask for a lock through `handle`.
    pub fn note(&self, file: FileId, space: LockSpace, owner: u64, handle: u64) {
        let mut files = locked(&self.notes);
        let notes = files.entry(file).or_default();
        notes.retain(|note| (note.space, note.owner) != (space, owner));
        notes.push(Note {
            space,
            owner,
            handle,
        });
    }

    /// Whether an owner may hold locks.
    pub fn has(&self, file: FileId, space: LockSpace, owner: u64) -> bool {
        let files = locked(&self.notes);
        let is_meant = |note: &Note| (note.space, note.owner) == (space, owner);
        files
            .get(&file)
            .is_some_and(|notes| notes.iter().any(is_meant))
    }

    /// Forgets an owner; it gives up all its locks.
    pub fn forget(&self, file: FileId, space: LockSpace, owner: u64) {
        self.take(file, |note| (note.space, note.owner) == (space, owner));
    }

    /// Forgets an open file and returns the owners that asked through it.
    pub fn forget_handle(&self, file: FileId, handle: u64) -> Vec<(LockSpace, u64)> {
        let taken = self.take(file, |note| note.handle == handle);
        taken.iter().map(|note| (note.space, note.owner)).collect()
    }

    /// A caller is let go: what comes of its request is taken back once it is known.
    pub fn let_go(&self, holder: Holder) {
        locked(&self.unsettled).push(holder);
    }

    /// What had come of such a request is taken back.
    pub fn settle(&self, holder: Holder) {
        let mut unsettled = locked(&self.unsettled);
        if let Some(index) = unsettled.iter().position(|of| *of == holder) {
            unsettled.swap_remove(index);
        }
    }

    /// Whether nothing is to be taken back from a holder: its next request may go ahead.
    pub fn is_settled(&self, holder: Holder) -> bool {
        !locked(&self.unsettled).contains(&holder)
    }

    fn take(&self, file: FileId, is_taken: impl Fn(&Note) -> bool) -> Vec<Note> {
        let mut files = locked(&self.notes);
        let Some(notes) = files.get_mut(&file) else {
            return Vec::new();
        };
        let taken = notes.extract_if(.., |note| is_taken(note)).collect();
        if notes.is_empty() {
            files.remove(&file);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockSpace::{Range, Whole};

    const FILE: FileId = FileId(9);

    #[test]
    fn an_owner_is_known_until_it_is_forgotten() {
        let notes = LockNotes::default();
        notes.note(FILE, Range, 1, 50);
        assert!(notes.has(FILE, Range, 1));
        assert!(!notes.has(FILE, Whole, 1));
        assert!(!notes.has(FileId(8), Range, 1));
        notes.forget(FILE, Range, 1);
        assert!(!notes.has(FILE, Range, 1));
    }

    #[test]
    fn an_open_file_ends_with_the_locks_of_its_owners() {
        let notes = LockNotes::default();
        notes.note(FILE, Range, 1, 50);
        notes.note(FILE, Whole, 2, 50);
        notes.note(FILE, Whole, 3, 51);
        assert_eq!(notes.forget_handle(FILE, 50), [(Range, 1), (Whole, 2)]);
        assert_eq!(notes.forget_handle(FILE, 50), []);
        assert!(notes.has(FILE, Whole, 3));
    }

    #[test]
    fn a_holder_is_settled_when_every_caller_that_was_let_go_is() {
        let notes = LockNotes::default();
        let holder = Holder {
            file: FILE,
            space: Range,
            owner: 1,
        };
        let other = Holder { owner: 2, ..holder };
        notes.let_go(holder);
        notes.let_go(holder);
        notes.settle(holder);
        assert!(!notes.is_settled(holder) && notes.is_settled(other));
        notes.settle(holder);
        assert!(notes.is_settled(holder));
    }
}
