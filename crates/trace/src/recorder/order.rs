//! Sorts operations by the times at which they began.
//!
//! An operation is passed on when all operations that began before its end have ended. So an
//! operation that finds a file is passed on after the one that created it, unless the finding
//! operation began first. In that case it is known by then that the file was created.

use super::event::Event;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The time at which an operation began, and a unique number.
pub type Key = (u64, u64);

/// The most operations that wait for a long one; beyond it, the first of them proceed without it.
pub const HELD_MAX: usize = 1 << 16;

/// The operations in progress, and the ended ones that wait for them.
#[derive(Debug, Default)]
pub struct Order {
    last: u64,
    under_way: BTreeSet<Key>,
    ended: BTreeMap<Key, Event>,
    /// The files that the waiting operations created.
    made: HashSet<u64>,
}

impl Order {
    /// Begins an operation.
    pub fn begin(&mut self, now_ns: u64) -> Key {
        let key = self.key(now_ns);
        self.under_way.insert(key);
        key
    }

    /// Ends an operation, which consisted of `events`. Returns the events that can be passed on.
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

    /// All ended events, without waiting for operations in progress.
    pub fn end_all(&mut self) -> Vec<Event> {
        self.under_way.clear();
        std::iter::from_fn(|| self.hand_on()).collect()
    }

    /// The first ended event. Files that other operations have created since it began did not exist
    /// before.
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

/// Whether all operations in progress began after an event's end.
fn is_past(under_way: &BTreeSet<Key>, event: &Event) -> bool {
    let oldest = under_way.first();
    oldest.is_none_or(|&(began_ns, _)| began_ns > event.end_ns)
}
