//! What a client remembers, within bounds. All of it is hints: what is forgotten is learnt again.

use alloc::collections::{BTreeMap, VecDeque};
use futago_base::FileId;

/// Facts about files; the one that has been known longest is forgotten first.
#[derive(Debug)]
pub struct Cache<V> {
    known: BTreeMap<FileId, V>,
    order: VecDeque<FileId>,
    most: usize,
}

impl<V> Cache<V> {
    pub const fn new(most: usize) -> Self {
        Self {
            known: BTreeMap::new(),
            order: VecDeque::new(),
            most,
        }
    }

    pub fn get(&self, id: FileId) -> Option<&V> {
        self.known.get(&id)
    }

    /// Sets a fact.
    pub fn insert(&mut self, id: FileId, value: V) {
        if self.known.insert(id, value).is_some() {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Sets a fact if there is none.
    pub fn insert_new(&mut self, id: FileId, value: V) {
        if !self.known.contains_key(&id) {
            self.insert(id, value);
        }
    }

    /// Forgets a fact.
    pub fn remove(&mut self, id: FileId) {
        if self.known.remove(&id).is_some() {
            self.order.retain(|&other| other != id);
        }
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
}
