//! A bounded cache. An evicted fact is learnt again from a server.

use futago_base::{
    FileId,
    reversible::{Changes, ReversibleMap},
};
use serde::Serialize;

/// Cached facts, mostly about files. The oldest entry is evicted first.
#[derive(Debug, Serialize)]
pub struct Cache<V, K: Ord = FileId> {
    /// Each fact, and its position in `order`.
    known: ReversibleMap<K, (u64, V)>,
    order: ReversibleMap<u64, K>,
    #[serde(skip)]
    most: usize,
}

/// The changes of a [`Cache`] to undo.
#[derive(Debug)]
pub struct CacheUndo<V, K = FileId> {
    known: Changes<K, (u64, V)>,
    order: Changes<u64, K>,
}

impl<V, K: Ord + Copy> Cache<V, K> {
    pub const fn new(most: usize) -> Self {
        Self {
            known: ReversibleMap::new(),
            order: ReversibleMap::new(),
            most,
        }
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.known.record_changes();
        self.order.record_changes();
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> CacheUndo<V, K> {
        CacheUndo {
            known: self.known.take_changes(),
            order: self.order.take_changes(),
        }
    }
}

impl<V: Clone, K: Ord + Copy> Cache<V, K> {
    /// The key of the oldest entry.
    pub fn oldest(&self) -> Option<K> {
        self.order.first_key_value().map(|(_, &id)| id)
    }

    pub fn get(&self, id: K) -> Option<&V> {
        self.known.get(&id).map(|(_, value)| value)
    }

    /// The facts from a key on, in order.
    pub fn from(&self, first: K) -> impl Iterator<Item = (&K, &V)> {
        let known = self.known.range(first..);
        known.map(|(key, (_, value))| (key, value))
    }

    pub fn get_mut(&mut self, id: K) -> Option<&mut V> {
        self.known.get_mut(&id).map(|(_, value)| value)
    }

    /// Makes an entry the youngest.
    pub fn renew(&mut self, id: K) {
        if let Some(value) = self.remove(id) {
            self.insert(id, value);
        }
    }

    /// Sets a fact. Returns the entry that is evicted for it.
    pub fn insert(&mut self, id: K, value: V) -> Option<(K, V)> {
        if let Some((_, known)) = self.known.get_mut(&id) {
            *known = value;
            return None;
        }
        let youngest = self.order.iter().next_back();
        let position = youngest.map_or(0, |(&position, _)| position + 1);
        self.order.insert(position, id);
        self.known.insert(id, (position, value));
        if self.known.len() <= self.most {
            return None;
        }
        let (_, oldest) = self.order.pop_first()?;
        let (_, forgotten) = self.known.remove(&oldest)?;
        Some((oldest, forgotten))
    }

    /// Sets a fact if there is none.
    pub fn insert_new(&mut self, id: K, value: V) {
        if !self.known.contains_key(&id) {
            self.insert(id, value);
        }
    }

    /// Removes a fact and returns it.
    pub fn remove(&mut self, id: K) -> Option<V> {
        let (position, value) = self.known.remove(&id)?;
        self.order.remove(&position);
        Some(value)
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: CacheUndo<V, K>) {
        self.known.take_back(undo.known);
        self.order.take_back(undo.order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_fact_is_forgotten_first() {
        let mut cache = Cache::new(2);
        for (id, value) in [(1, 'a'), (2, 'b'), (1, 'c'), (3, 'd')] {
            cache.insert(FileId(id), value);
        }
        assert_eq!(cache.get(FileId(1)), None);
        assert_eq!(cache.get(FileId(2)), Some(&'b'));
        assert_eq!(cache.get(FileId(3)), Some(&'d'));
        cache.remove(FileId(2));
        cache.insert_new(FileId(3), 'x');
        cache.insert_new(FileId(4), 'e');
        assert_eq!(cache.get(FileId(3)), Some(&'d'));
        assert_eq!(cache.get(FileId(4)), Some(&'e'));
    }

    #[test]
    fn changes_are_taken_back() {
        let mut cache = Cache::new(2);
        cache.record_changes();
        cache.insert(FileId(1), 'a');
        cache.insert(FileId(2), 'b');
        let before = alloc::format!("{cache:?}");
        cache.take_changes();
        let expected = alloc::format!("{cache:?}");
        assert_ne!(before, expected, "the changes were there to be taken");
        cache.insert(FileId(1), 'c');
        cache.insert(FileId(3), 'd');
        cache.remove(FileId(2));
        let changes = cache.take_changes();
        cache.take_back(changes);
        assert_eq!(alloc::format!("{cache:?}"), expected);
    }
}
