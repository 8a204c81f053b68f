//! The files whose attributes are read ahead, and those whose leases are recalled ahead.
//!
//! A program that walks a directory lists it, and then looks up one name after the other. So a
//! request for the attributes of one file also asks for files whose names follow in the listing.
//! Their number grows with the look-ups that the cache answers. A program that looks up single
//! names gets little that it does not need.
//!
//! A program that removes a directory removes one name after the other. Each removal would wait
//! until other clients have returned their leases on the file. So the client has the leases on the
//! files that follow recalled together, ever more of them.

use super::{Leases, PartId};
use alloc::vec::Vec;
use futago_base::{FileId, Name};

/// How many files are read ahead at first, and how many more for each look-up that the cache has
/// answered.
const AHEAD_MIN: usize = 15;
const AHEAD_PER_HIT: usize = 4;
/// The most files that are read ahead.
const AHEAD_MAX: usize = 1023;
/// How many names are examined for each file that is read ahead.
const EXAMINED_PER_FILE: usize = 4;
/// How many names are removed from a part before leases are recalled ahead.
const REMOVALS_MIN: u32 = 4;

impl Leases {
    /// Counts a look-up in a part of a directory that the cache has answered with attributes.
    pub fn note_hit(&mut self, part: PartId) {
        if let Some(held) = self.held.get_mut(part) {
            held.hits = held.hits.saturating_add(1);
        }
    }

    /// The files to read ahead together with the file of a name: those of the next names in the
    /// part that have the same home server and whose attributes are unknown. `home` tells where a
    /// file has its home.
    pub fn ahead(
        &self,
        part: PartId,
        name: &Name,
        file: FileId,
        home: impl Fn(FileId) -> PartId,
    ) -> Vec<FileId> {
        let (most, server) = (self.ahead_max(part), home(file).server);
        let is_unknown = |home: &PartId| {
            let held = self.held.get(*home);
            home.server == server && held.is_none_or(|held| held.state.is_none())
        };
        let examined = self.files_after(part, name).take(most * EXAMINED_PER_FILE);
        let unknown = examined.map(home).filter(is_unknown);
        unknown.map(|home| home.node).take(most).collect()
    }

    fn ahead_max(&self, part: PartId) -> usize {
        let hits = self.held.get(part).map_or(0, |held| held.hits as usize);
        AHEAD_MAX.min(AHEAD_MIN + AHEAD_PER_HIT * hits)
    }

    /// The files whose leases to recall after the removal of a name: those of the next names in the
    /// part that have their home on the same server.
    pub fn removals_ahead(
        &mut self,
        part: PartId,
        name: &Name,
        home: impl Fn(FileId) -> PartId,
    ) -> Vec<FileId> {
        let Some(held) = self.held.get_mut(part) else {
            return Vec::new();
        };
        held.removals = held.removals.saturating_add(1);
        let is_recalled = held.recalled_ahead > 0;
        held.recalled_ahead = held.recalled_ahead.saturating_sub(1);
        if is_recalled || held.removals < REMOVALS_MIN {
            return Vec::new();
        }
        let most = AHEAD_MAX.min(AHEAD_PER_HIT * held.removals as usize);
        held.recalled_ahead = most as u32;
        let next = self.files_after(part, name).take(most);
        next.filter(|&file| home(file).server == part.server)
            .collect()
    }

    /// The files of the cached names of a part that follow a name.
    fn files_after(&self, part: PartId, name: &Name) -> impl Iterator<Item = FileId> {
        let first = (part, name.hash(), name.clone());
        let names = self.names.range(first.clone()..);
        let of_part = names.take_while(move |((at, ..), _)| *at == part);
        let after = of_part.filter(move |(key, _)| **key != first);
        after.filter_map(|(_, entry)| Some((*entry)?.id))
    }
}
