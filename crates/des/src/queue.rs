//! The pending events of one partition.

use crate::event::{Event, EventKey, Head};

/// A priority queue of events by key.
///
/// A 4-ary heap (Johnson, "Priority queues with update and finding minimum spanning trees",
/// Information Processing Letters 4(3), 1975). It is half as deep as a binary one, and four
/// children share one or two cache lines. It moves 24-byte entries only; payloads stay in their
/// slots.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: Vec<Entry>,
    payloads: Store<E>,
    peak: usize,
}

const ARITY: usize = 4;

/// A head whose destination field holds the slot of the payload, unless payloads have size zero.
type Entry = Head;

impl<E> Queue<E> {
    pub fn new() -> Self {
        Queue {
            heap: Vec::new(),
            payloads: Store::new(),
            peak: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The most events that were ever pending.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// The key of the first event.
    #[inline]
    pub fn first_key(&self) -> Option<EventKey> {
        self.heap.first().map(Head::key)
    }

    /// The first event.
    pub fn first(&self) -> Option<(Head, &E)> {
        let entry = self.heap.first()?;
        let (destination, payload) = self.payloads.get(entry.destination)?;
        Some((Head::new(entry.key(), destination), payload))
    }

    #[inline]
    pub fn push(&mut self, event: Event<E>) {
        let mut entry = event.head;
        entry.destination = self.payloads.put(event.head.destination, event.payload);
        self.heap.push(entry);
        self.peak = self.peak.max(self.heap.len());
        self.sift_up(self.heap.len() - 1, entry);
    }

    /// Removes the first event if `wanted` accepts it.
    #[inline]
    pub fn pop_if(&mut self, wanted: impl FnOnce(&Head) -> bool) -> Option<Event<E>> {
        let first = *self.heap.first()?;
        if !wanted(&first) {
            return None;
        }
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.fill_root(last);
        }
        let (destination, payload) = self.payloads.take(first.destination)?;
        Some(Event {
            head: Head::new(first.key(), destination),
            payload,
        })
    }

    /// Moves `entry` from `hole` towards the root.
    #[inline]
    fn sift_up(&mut self, mut hole: usize, entry: Entry) {
        let heap = &mut self.heap[..=hole];
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if !entry.is_before(&heap[parent]) {
                break;
            }
            heap[hole] = heap[parent];
            hole = parent;
        }
        heap[hole] = entry;
    }

    /// Closes the hole at the root. The hole moves down to a leaf along the first children. Then
    /// `entry`, which came from a leaf and mostly belongs near one, moves up from there.
    #[inline]
    fn fill_root(&mut self, entry: Entry) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        while let Some(children) = heap.get(ARITY * hole + 1..ARITY * hole + 1 + ARITY) {
            let child = ARITY * hole + 1 + first_of_four(children);
            heap[hole] = heap[child];
            hole = child;
        }
        if let Some(child) = first_of_few(heap, ARITY * hole + 1) {
            heap[hole] = heap[child];
            hole = child;
        }
        self.sift_up(hole, entry);
    }
}

/// The first of four entries, by a knock-out of two rounds.
#[inline]
fn first_of_four(entries: &[Entry]) -> usize {
    let left = usize::from(entries[1].is_before(&entries[0]));
    let right = 2 + usize::from(entries[3].is_before(&entries[2]));
    if entries[right].is_before(&entries[left]) {
        right
    } else {
        left
    }
}

/// The position of the first entry from `start` on, where fewer than four are left.
#[inline]
fn first_of_few(heap: &[Entry], start: usize) -> Option<usize> {
    let mut best = start;
    let first = heap.get(start)?;
    let mut best_entry = first;
    for (offset, entry) in heap[start..].iter().enumerate().skip(1) {
        if entry.is_before(best_entry) {
            best = start + offset;
            best_entry = entry;
        }
    }
    Some(best)
}

/// Payloads by slot. Payloads of size zero have no slot, and the destination is stored instead.
#[derive(Debug)]
struct Store<E> {
    cells: Vec<Option<(u32, E)>>,
    free: Vec<u32>,
    sizeless: Vec<E>,
}

impl<E> Store<E> {
    const SIZELESS: bool = size_of::<E>() == 0;

    fn new() -> Self {
        Store {
            cells: Vec::new(),
            free: Vec::new(),
            sizeless: Vec::new(),
        }
    }

    #[inline]
    fn put(&mut self, destination: u32, payload: E) -> u32 {
        if Self::SIZELESS {
            self.sizeless.push(payload);
            return destination;
        }
        match self.free.pop() {
            Some(slot) => {
                self.cells[slot as usize] = Some((destination, payload));
                slot
            }
            None => {
                self.cells.push(Some((destination, payload)));
                (self.cells.len() - 1) as u32
            }
        }
    }

    fn get(&self, slot: u32) -> Option<(u32, &E)> {
        if Self::SIZELESS {
            return self.sizeless.last().map(|payload| (slot, payload));
        }
        self.cells[slot as usize]
            .as_ref()
            .map(|(destination, payload)| (*destination, payload))
    }

    #[inline]
    fn take(&mut self, slot: u32) -> Option<(u32, E)> {
        if Self::SIZELESS {
            return self.sizeless.pop().map(|payload| (slot, payload));
        }
        let cell = self.cells[slot as usize].take();
        self.free.push(slot);
        cell
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ProcessId, Time};

    fn event<E>(time: u64, counter: u64, payload: E) -> Event<E> {
        let key = EventKey::new(Time::from_ticks(time), 0, ProcessId(0), counter);
        Event {
            head: Head::new(key, counter as u32),
            payload,
        }
    }

    proptest! {
        #[test]
        fn events_leave_in_order(steps in prop::collection::vec((0u64..50, any::<bool>()), 0..400)) {
            let mut queue = Queue::new();
            let mut pending = std::collections::BTreeSet::new();
            for (counter, (time, pop)) in (0u64..).zip(steps) {
                queue.push(event(time, counter, counter * 3));
                pending.insert((time, counter));
                if pop {
                    let popped = queue.pop_if(|_| true).expect("not empty");
                    let (time, counter) = pending.pop_first().expect("not empty");
                    prop_assert_eq!(popped.head, event(time, counter, ()).head);
                    prop_assert_eq!(popped.payload, counter * 3);
                }
                prop_assert_eq!(queue.len(), pending.len());
            }
        }
    }

    #[test]
    fn payloads_without_a_size_keep_their_destination() {
        let mut queue = Queue::new();
        queue.push(event(2, 8, ()));
        queue.push(event(1, 9, ()));
        assert_eq!(
            queue.pop_if(|_| true).map(|event| event.head.destination),
            Some(9)
        );
        assert!(
            queue
                .pop_if(|head| head.time() < Time::from_ticks(2))
                .is_none()
        );
        assert_eq!(
            queue.pop_if(|_| true).map(|event| event.head.destination),
            Some(8)
        );
        assert_eq!(queue.peak(), 2);
    }
}
