//! Records in the order of their keys.

use futago_base::{
    Key, Value,
    record::{Rank, Sort},
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::{mem, ops::Bound, slice};

/// An ordered map of records.
///
/// Each kind of record has a tree of ranks of its own, because most kinds have few records. Ranks
/// are searched because comparing numbers is many times faster than comparing keys. Keys that share
/// a rank are in a list. The trees hold only ranks and pointers, so that a search stays within the
/// CPU caches and an insertion moves few bytes.
#[derive(Debug)]
pub struct Records {
    sorts: [BTreeMap<Rank, Slot>; Rank::SORTS],
}

impl Default for Records {
    fn default() -> Self {
        Self::new()
    }
}

type Record = (Key, Value);

/// The records of one rank.
#[derive(Debug)]
enum Slot {
    One(Box<Record>),
    /// Several, in the order of their keys.
    #[expect(
        clippy::box_collection,
        reason = "few slots are of this kind, and all are as large as the largest"
    )]
    Several(Box<Vec<Record>>),
}

impl Slot {
    fn records(&self) -> &[Record] {
        match self {
            Self::One(record) => slice::from_ref(&**record),
            Self::Several(records) => records,
        }
    }

    fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        match self {
            Self::One(record) if record.0 == key => Some(mem::replace(&mut record.1, value)),
            Self::One(_) => {
                let Self::One(record) = mem::replace(self, Self::Several(Box::default())) else {
                    return None;
                };
                *self = Self::Several(Box::new(vec![*record]));
                self.insert(key, value)
            }
            Self::Several(records) => match position(records, &key) {
                Ok(at) => Some(mem::replace(&mut records[at].1, value)),
                Err(at) => {
                    records.insert(at, (key, value));
                    None
                }
            },
        }
    }
}

fn position(records: &[Record], key: &Key) -> Result<usize, usize> {
    records.binary_search_by(|(other, _)| other.cmp(key))
}

impl Records {
    pub const fn new() -> Self {
        Self {
            sorts: [const { BTreeMap::new() }; Rank::SORTS],
        }
    }

    pub fn get(&self, key: &Key) -> Option<&Value> {
        let rank = key.rank();
        let records = self.sorts[rank.sort()].get(&rank)?.records();
        let at = match records {
            [(other, _)] => (other == key).then_some(0),
            _ => position(records, key).ok(),
        };
        at.map(|at| &records[at].1)
    }

    /// Sets a record and returns its previous value.
    pub fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        let rank = key.rank();
        match self.sorts[rank.sort()].entry(rank) {
            Entry::Occupied(mut slot) => slot.get_mut().insert(key, value),
            Entry::Vacant(slot) => {
                slot.insert(Slot::One(Box::new((key, value))));
                None
            }
        }
    }

    /// Removes a record and returns it.
    pub fn remove(&mut self, key: &Key) -> Option<Value> {
        let rank = key.rank();
        let Entry::Occupied(mut slot) = self.sorts[rank.sort()].entry(rank) else {
            return None;
        };
        match slot.get_mut() {
            Slot::One(record) if record.0 != *key => None,
            Slot::One(_) => match slot.remove() {
                Slot::One(record) => Some(record.1),
                Slot::Several(_) => None,
            },
            Slot::Several(records) => {
                let at = position(records, key).ok()?;
                let (_, value) = records.remove(at);
                if records.is_empty() {
                    slot.remove();
                }
                Some(value)
            }
        }
    }

    pub fn has_any(&self, sort: Sort) -> bool {
        let rank = Key::whole_sort(sort).0.rank();
        !self.sorts[rank.sort()].is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> {
        let slots = self.sorts.iter().flat_map(BTreeMap::values);
        pairs(slots)
    }

    /// The records after a key, or all, in order.
    pub fn after(&self, after: Option<&Key>) -> impl Iterator<Item = (&Key, &Value)> {
        let rank = after.map(Key::rank);
        let from = rank.map_or(Bound::Unbounded, Bound::Included);
        let sorts = &self.sorts[rank.map_or(0, Rank::sort)..];
        let slots = sorts
            .iter()
            .flat_map(move |sort| sort.range((from, Bound::Unbounded)));
        pairs(slots.map(|(_, slot)| slot))
            .skip_while(move |(key, _)| after.is_some_and(|after| *key <= after))
    }

    /// The records from `from` up to but not including `to`, in order.
    pub fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)> {
        let (first, last) = (from.rank(), to.rank());
        // The smaller of two keys of one rank may be either one; the range is empty if it is `to`.
        let sorts = if first <= last {
            &self.sorts[first.sort()..=last.sort()]
        } else {
            &[]
        };
        let occupied = sorts.iter().filter(|sort| !sort.is_empty());
        let slots = occupied.flat_map(move |sort| sort.range(first..=last));
        pairs(slots.map(|(_, slot)| slot))
            .skip_while(move |(key, _)| **key < from)
            .take_while(move |(key, _)| **key < to)
    }
}

fn pairs<'a>(slots: impl Iterator<Item = &'a Slot>) -> impl Iterator<Item = (&'a Key, &'a Value)> {
    slots
        .flat_map(Slot::records)
        .map(|(key, value)| (key, value))
}
/// Serialized as the records in order.
impl Serialize for Records {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
