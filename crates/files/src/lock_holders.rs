//! The owners of advisory locks on a node: closing a file without locks asks no server.

use alloc::vec::Vec;
use atomic_refcell::AtomicRefCell;
use core::sync::atomic::{AtomicBool, Ordering};
use futago_base::{FileId, record::LockSpace};
use futago_wire::LockChange;

/// An owner of locks on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The file.
    pub file: FileId,
    /// The family of locks.
    pub space: LockSpace,
    /// The owner: of locks on ranges as the operating system names it, of a lock on the whole file
    /// the number of the open file.
    pub owner: u64,
}

impl LockHolder {
    /// The owner of locks on ranges of a file.
    pub const fn of_ranges(file: FileId, owner: u64) -> Self {
        Self {
            file,
            space: LockSpace::Range,
            owner,
        }
    }

    /// The owner of a lock on the whole of a file: an open file.
    pub const fn of_whole(file: FileId, number: u64) -> Self {
        Self {
            file,
            space: LockSpace::Whole,
            owner: number,
        }
    }

    /// The owner of the locks that a change concerns.
    pub const fn of_change(file: FileId, change: &LockChange) -> Self {
        Self {
            file,
            space: change.space,
            owner: change.owner,
        }
    }
}

/// The owners that may hold locks on one node.
#[derive(Debug, Default)]
pub(crate) struct LockHolders {
    notes: AtomicRefCell<Vec<Note>>,
    have_ranges: AtomicBool,
}

#[derive(Debug)]
struct Note {
    holder: LockHolder,
    /// The number of the open file through which the holder requested a lock last.
    open: u64,
}

impl LockHolders {
    /// Notes that a holder is about to request a lock through an open file.
    pub(crate) fn note(&self, holder: LockHolder, open: u64) {
        self.take(|note| note.holder == holder);
        self.notes.borrow_mut().push(Note { holder, open });
        self.count_ranges();
    }

    /// Whether a holder may have locks.
    pub(crate) fn has(&self, holder: LockHolder) -> bool {
        let notes = self.notes.borrow();
        notes.iter().any(|note| note.holder == holder)
    }

    /// Whether any holder may have locks on ranges. Any thread may ask.
    pub(crate) fn have_ranges(&self) -> bool {
        self.have_ranges.load(Ordering::Acquire)
    }

    /// Forgets a holder, which gives up all its locks.
    pub(crate) fn forget(&self, holder: LockHolder) {
        self.take(|note| note.holder == holder);
    }

    /// Forgets the holders that have requested their locks through an open file, and returns them.
    pub(crate) fn forget_open(&self, open: u64) -> Vec<LockHolder> {
        self.take(|note| note.open == open)
    }

    fn take(&self, is_taken: impl Fn(&Note) -> bool) -> Vec<LockHolder> {
        let mut notes = self.notes.borrow_mut();
        let taken = notes.extract_if(.., |note| is_taken(note));
        let holders = taken.map(|note| note.holder).collect();
        drop(notes);
        self.count_ranges();
        holders
    }

    fn count_ranges(&self) {
        let is_range = |note: &Note| note.holder.space == LockSpace::Range;
        let have_ranges = self.notes.borrow().iter().any(is_range);
        self.have_ranges.store(have_ranges, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(9);

    #[test]
    fn a_holder_is_known_until_it_is_forgotten() {
        let holders = LockHolders::default();
        let known = LockHolder::of_ranges(FILE, 1);
        holders.note(known, 50);
        assert!(holders.has(known) && holders.have_ranges());
        assert!(!holders.has(LockHolder::of_whole(FILE, 1)));
        holders.forget(known);
        assert!(!holders.has(known) && !holders.have_ranges());
    }

    #[test]
    fn an_open_file_ends_with_the_locks_of_its_holders() {
        let holders = LockHolders::default();
        let (first, second, third) = (
            LockHolder::of_ranges(FILE, 1),
            LockHolder::of_whole(FILE, 2),
            LockHolder::of_whole(FILE, 3),
        );
        holders.note(first, 50);
        holders.note(second, 50);
        holders.note(third, 51);
        assert_eq!(holders.forget_open(50), [first, second]);
        assert_eq!(holders.forget_open(50), []);
        assert!(holders.has(third) && !holders.have_ranges());
    }

    #[test]
    fn a_holder_that_has_used_another_open_file_since_keeps_its_locks() {
        let holders = LockHolders::default();
        let named_again = LockHolder::of_ranges(FILE, 1);
        holders.note(named_again, 50);
        holders.note(named_again, 51);
        assert_eq!(holders.forget_open(50), []);
        assert!(holders.has(named_again));
    }
}
