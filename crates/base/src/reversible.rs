//! An ordered map whose changes can be undone.

use alloc::{
    collections::{BTreeMap, btree_map::Entry},
    vec::Vec,
};
use core::ops::RangeBounds;
use serde::{Serialize, Serializer};

/// An ordered map that records, on request, the values that its changes replace.
///
/// An optimistic simulation stores the [`Changes`] of each event and undoes them if the event
/// proves wrong. Without [`ReversibleMap::record_changes`] nothing is recorded, and the map
/// costs as much as a `BTreeMap`.
#[derive(Clone, Debug)]
pub struct ReversibleMap<K, V> {
    map: BTreeMap<K, V>,
    replaced: Option<Changes<K, V>>,
}

/// The values that changes of a [`ReversibleMap`] replaced, in order.
#[derive(Clone, Debug)]
pub struct Changes<K, V>(Vec<(K, Option<V>)>);

impl<K, V> Default for Changes<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K, V> Default for ReversibleMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> ReversibleMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self {
            map: BTreeMap::new(),
            replaced: None,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// All entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.map.iter()
    }

    /// Records the replaced values from now on.
    pub fn record_changes(&mut self) {
        self.replaced.get_or_insert_default();
    }

    /// The changes since the last call; empty unless changes are recorded.
    pub fn take_changes(&mut self) -> Changes<K, V> {
        self.replaced
            .as_mut()
            .map_or_else(Changes::default, core::mem::take)
    }
}

impl<K: Ord + Clone, V: Clone> ReversibleMap<K, V> {
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    /// Whether a key has an entry.
    pub fn contains_key(&self, key: &K) -> bool {
        self.map.contains_key(key)
    }

    /// The entries with keys in a range, in order.
    pub fn range(&self, range: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.map.range(range)
    }

    /// The first entry.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.map.first_key_value()
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let value = self.map.get_mut(key)?;
        if let Some(Changes(replaced)) = &mut self.replaced {
            // Restoring the value from before the previous change of this key undoes this change,
            // too.
            if replaced.last().is_none_or(|(last, _)| last != key) {
                replaced.push((key.clone(), Some(value.clone())));
            }
        }
        Some(value)
    }

    /// The value of a key, to be changed; inserted first if the key has none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let slot = self.map.entry(key);
        if let Some(Changes(replaced)) = &mut self.replaced
            && replaced.last().is_none_or(|(last, _)| last != slot.key())
        {
            let before = match &slot {
                Entry::Occupied(entry) => Some(entry.get().clone()),
                Entry::Vacant(_) => None,
            };
            replaced.push((slot.key().clone(), before));
        }
        slot.or_insert_with(make)
    }

    /// Sets an entry and returns its previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let name = self.replaced.is_some().then(|| key.clone());
        let before = self.map.insert(key, value);
        self.remember(name, &before);
        before
    }

    /// Removes an entry and returns it.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let before = self.map.remove(key);
        if before.is_some() {
            let name = self.replaced.is_some().then(|| key.clone());
            self.remember(name, &before);
        }
        before
    }

    /// Removes the first entry and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let first = self.map.first_key_value()?.0.clone();
        let value = self.remove(&first)?;
        Some((first, value))
    }

    /// Undoes changes. They must be the latest changes that have not been undone.
    pub fn take_back(&mut self, changes: Changes<K, V>) {
        for (key, value) in changes.0.into_iter().rev() {
            match value {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
    }

    fn remember(&mut self, key: Option<K>, before: &Option<V>) {
        if let Some(Changes(replaced)) = &mut self.replaced
            && let Some(key) = key
        {
            replaced.push((key, before.clone()));
        }
    }
}

/// Serialized as the map alone.
impl<K: Serialize, V: Serialize> Serialize for ReversibleMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.map.serialize(serializer)
    }
}
