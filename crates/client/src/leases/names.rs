//! Names of directories and their entries, as far as they are cached.

use super::{
    Leases, NameKey, PartId,
    effects::{Effects, Subject},
};
use alloc::vec::Vec;
use futago_base::{Duration, Name, NameHash, Time, record::Entry};

impl Leases {
    /// The entry of a name in a part of a directory, if it is known.
    pub fn name(&self, part: PartId, name: &Name, now: Time) -> Option<Option<Entry>> {
        let key = (part, name.hash(), name.clone());
        let entry = match self.names.get(&key) {
            Some(entry) => *entry,
            None if self.is_absent(key) => None,
            None => return None,
        };
        (self.trust(part.server, now) > Duration(0)).then_some(entry)
    }

    /// Handles the entry of a name in a reply. Returns whether it is cached.
    pub(super) fn note_name(
        &mut self,
        sequence: u64,
        effects: &Effects,
        entry: Option<Entry>,
    ) -> bool {
        let Some((part, name)) = effects.name.clone() else {
            return false;
        };
        let own = u32::from(!effects.names.is_empty());
        let subject = Subject::Name(part, name.clone());
        let changing = self.changing.get(&subject);
        let is_alone = changing.map_or(0, |changing| changing.requests) == own;
        let is_cached =
            self.held.get(part).is_some() && is_alone && self.is_current(sequence, &subject);
        if is_cached {
            self.cache_name((part, name.hash(), name), entry);
        }
        is_cached
    }

    fn cache_name(&mut self, key: NameKey, entry: Option<Entry>) {
        if self.names.len() >= self.names_max
            && let Some(((part, ..), _)) = self.names.pop_first()
        {
            self.unlist([part]);
        }
        self.names.insert(key, entry);
    }

    /// Forgets the names of a part.
    pub(super) fn forget_names(&mut self, part: PartId) {
        let first = (part, NameHash(0), Name::least());
        let names = self.names.range(first..);
        let names: Vec<NameKey> = names
            .map(|(key, _)| key)
            .take_while(|(at, ..)| *at == part)
            .cloned()
            .collect();
        for key in names {
            self.names.remove(&key);
        }
    }
}
