//! Puts operations in the order in which they began.
//!
//! An operation is handed on when all that began before its end have ended. So whoever finds a file is
//! handed on after whoever made it has told so, unless the finding began first; and then it is known
//! that the file was made.

use super::event::Event;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// When something began, and the how manieth it was.
pub type Key = (u64, u64);

/// How many operations wait for one that takes long; then the first of them go on without it.
pub const HELD_MAX: usize = 1 << 16;

/// What is under way, and what has ended and waits for it.
#[derive(Debug, Default)]
pub struct Order {
    last: u64,
    under_way: BTreeSet<Key>,
    ended: BTreeMap<Key, Event>,
    /// The files that these have made.
    made: HashSet<u64>,
}

impl Order {
    /// Something begins.
    pub fn begin(&mut self, now_ns: u64) -> Key {
        let key = self.key(now_ns);
        self.under_way.insert(key);
        key
    }

    /// It has ended, and was these operations. Returns those that can be handed on.
    pub fn end(&mut self, key: Key, events: Vec<Event>) -> Vec<Event> {
        self.under_way.remove(&key);
        for event in events {
            self.made.extend(event.made());
            let key = self.key(event.begin_ns);
            self.ended.insert(key, event);
        }
        let mut ready = Vec::new();
        while let Some(first) = self.ended.first_entry()
            && (is_past(&self.under_way, first.get()) || self.ended.len() > HELD_MAX)
        {
            ready.extend(self.hand_on());
        }
        ready
    }

    /// All that has ended; nothing is waited for any more.
    pub fn end_all(&mut self) -> Vec<Event> {
        self.under_way.clear();
        std::iter::from_fn(|| self.hand_on()).collect()
    }

    /// The first that has ended. What others have made since it began was not there before.
    fn hand_on(&mut self) -> Option<Event> {
        let (_, mut event) = self.ended.pop_first()?;
        if let Some(file) = event.made() {
            self.made.remove(&file);
        }
        event.met.retain(|met| !self.made.contains(&met.file));
        Some(event)
    }

    fn key(&mut self, at_ns: u64) -> Key {
        self.last += 1;
        (at_ns, self.last)
    }
}

/// Whether all that is under way began after an operation's end.
fn is_past(under_way: &BTreeSet<Key>, event: &Event) -> bool {
    let oldest = under_way.first();
    oldest.is_none_or(|&(began_ns, _)| began_ns > event.end_ns)
}
