//! Files that the present state does not need, and an older one does.

use crate::{files, head::FileKind};

/// Files that wait to be removed until the state that does not need them is durable.
#[derive(Debug, Default)]
pub struct Unneeded {
    /// With the position of the entry after which they were not needed. In order.
    waiting: Vec<(u64, String)>,
}

impl Unneeded {
    /// Adds files that are not needed after the entry at a position.
    pub fn add(&mut self, position: u64, kind: FileKind, numbers: Vec<u64>) {
        let names = numbers.into_iter().map(|number| files::name(kind, number));
        self.waiting.extend(names.map(|name| (position, name)));
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes those that are not needed after the entry at a position.
    pub fn take_before(&mut self, position: u64) -> Vec<String> {
        let count = self.waiting.partition_point(|(at, _)| *at <= position);
        self.waiting.drain(..count).map(|(_, name)| name).collect()
    }
}
