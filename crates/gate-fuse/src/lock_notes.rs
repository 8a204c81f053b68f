//! Which locks were asked for through this mount: closing a file that has none asks nobody.

use crate::interruption::locked;
use futago_base::{FileId, record::LockSpace};
use futago_wire::LockChange;
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

impl Note {
    fn is_of(&self, holder: Holder) -> bool {
        (self.space, self.owner) == (holder.space, holder.owner)
    }

    const fn holder(&self, file: FileId) -> Holder {
        Holder {
            file,
            space: self.space,
            owner: self.owner,
        }
    }
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

impl Holder {
    /// Of locks on ranges of a file.
    pub const fn of_ranges(file: FileId, owner: u64) -> Self {
        Self {
            file,
            space: LockSpace::Range,
            owner,
        }
    }

    /// Of the locks that a change is about.
    pub const fn of_change(file: FileId, change: &LockChange) -> Self {
        Self {
            file,
            space: change.space,
            owner: change.owner,
        }
    }

    /// Of the lock on the whole of a file.
    pub const fn of_whole(file: FileId, handle: u64) -> Self {
        Self {
            file,
            space: LockSpace::Whole,
            owner: handle,
        }
    }
}

/// The owners that may hold locks.
#[derive(Debug, Default)]
pub struct LockNotes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The owners by file.
    notes: HashMap<FileId, Vec<Note>>,
    /// Holders of whom something is being taken back, as often as that is.
    unsettled: Vec<Holder>,
}

impl State {
    fn take(&mut self, file: FileId, is_taken: impl Fn(&Note) -> bool) -> Vec<Note> {
        let Some(notes) = self.notes.get_mut(&file) else {
            return Vec::new();
        };
        let taken = notes.extract_if(.., |note| is_taken(note)).collect();
        if notes.is_empty() {
            self.notes.remove(&file);
        }
        taken
    }
}

impl LockNotes {
    /// Notes that a holder is about to ask for a lock through `handle`. Returns `false` if
    /// something is still being taken back from it: were the request to go ahead now, what it gets
    /// might be taken back as well.
    pub fn note(&self, holder: Holder, handle: u64) -> bool {
        let mut state = locked(&self.state);
        if state.unsettled.contains(&holder) {
            return false;
        }
        state.take(holder.file, |note| note.is_of(holder));
        let notes = state.notes.entry(holder.file).or_default();
        notes.push(Note {
            space: holder.space,
            owner: holder.owner,
            handle,
        });
        true
    }

    /// Whether a holder may have locks.
    pub fn has(&self, holder: Holder) -> bool {
        let state = locked(&self.state);
        let notes = state.notes.get(&holder.file);
        notes.is_some_and(|notes| notes.iter().any(|note| note.is_of(holder)))
    }

    /// Forgets a holder; it gives up all its locks.
    pub fn forget(&self, holder: Holder) {
        locked(&self.state).take(holder.file, |note| note.is_of(holder));
    }

    /// Forgets an open file and returns the holders that asked through it. They are unsettled until
    /// the caller, who takes their locks back, calls them settled.
    pub fn forget_handle(&self, file: FileId, handle: u64) -> Vec<Holder> {
        let mut state = locked(&self.state);
        let taken = state.take(file, |note| note.handle == handle);
        let holders: Vec<Holder> = taken.iter().map(|note| note.holder(file)).collect();
        state.unsettled.extend(&holders);
        holders
    }

    /// A caller is let go: what comes of its request is taken back once it is known.
    pub fn let_go(&self, holder: Holder) {
        locked(&self.state).unsettled.push(holder);
    }

    /// A pending release of a holder has been done.
    pub fn settle(&self, holder: Holder) {
        let unsettled = &mut locked(&self.state).unsettled;
        if let Some(index) = unsettled.iter().position(|of| *of == holder) {
            unsettled.swap_remove(index);
        }
    }

    /// Whether nothing is to be taken back from a holder.
    pub fn is_settled(&self, holder: Holder) -> bool {
        !locked(&self.state).unsettled.contains(&holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(9);

    #[test]
    fn a_holder_is_known_until_it_is_forgotten() {
        let notes = LockNotes::default();
        let known = Holder::of_ranges(FILE, 1);
        assert!(notes.note(known, 50));
        assert!(notes.has(known));
        assert!(!notes.has(Holder::of_whole(FILE, 1)));
        assert!(!notes.has(Holder::of_ranges(FileId(8), 1)));
        notes.forget(known);
        assert!(!notes.has(known));
    }

    #[test]
    fn an_open_file_ends_with_the_locks_of_its_holders() {
        let notes = LockNotes::default();
        let (first, second, third) = (
            Holder::of_ranges(FILE, 1),
            Holder::of_whole(FILE, 2),
            Holder::of_whole(FILE, 3),
        );
        assert!(notes.note(first, 50) && notes.note(second, 50) && notes.note(third, 51));
        assert_eq!(notes.forget_handle(FILE, 50), [first, second]);
        assert_eq!(notes.forget_handle(FILE, 50), []);
        assert!(notes.has(third));
    }

    #[test]
    fn a_holder_that_the_kernel_names_again_waits_for_the_end_of_the_file_before() {
        let notes = LockNotes::default();
        let named_again = Holder::of_ranges(FILE, 1);
        assert!(notes.note(named_again, 50));
        notes.forget_handle(FILE, 50);
        assert!(!notes.note(named_again, 51));
        assert!(!notes.has(named_again));
        notes.settle(named_again);
        assert!(notes.note(named_again, 51));
    }

    #[test]
    fn a_holder_that_has_asked_through_another_open_file_since_keeps_its_locks() {
        let notes = LockNotes::default();
        let named_again = Holder::of_ranges(FILE, 1);
        assert!(notes.note(named_again, 50) && notes.note(named_again, 51));
        assert_eq!(notes.forget_handle(FILE, 50), []);
        assert!(notes.has(named_again));
    }

    #[test]
    fn a_holder_is_settled_when_every_caller_that_was_let_go_is() {
        let notes = LockNotes::default();
        let (let_go, other) = (Holder::of_ranges(FILE, 1), Holder::of_ranges(FILE, 2));
        notes.let_go(let_go);
        notes.let_go(let_go);
        notes.settle(let_go);
        assert!(!notes.is_settled(let_go) && notes.is_settled(other));
        notes.settle(let_go);
        assert!(notes.is_settled(let_go));
    }
}
