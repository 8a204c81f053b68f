use std::collections::BTreeMap;

use crate::event::{Event, EventKey, Head};
use crate::queue::Queue;

/// Pending events that may be cancelled.
///
/// A heap cannot find an event in its middle, so a cancelled event stays until it comes up. After a
/// rollback its sender may send an event with the same key again, which then replaces it.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    pub queue: Queue<E>,
    /// The replacement of each cancelled key in the queue; `None` if there is no replacement.
    revised: BTreeMap<EventKey, Option<Event<E>>>,
}

impl<E> Agenda<E> {
    pub fn new(queue: Queue<E>) -> Self {
        Agenda {
            queue,
            revised: BTreeMap::new(),
        }
    }

    #[inline]
    pub fn insert(&mut self, event: Event<E>) {
        if !self.revised.is_empty()
            && let Some(instead) = self.revised.get_mut(&event.head.key())
        {
            *instead = Some(event);
            return;
        }
        self.queue.push(event);
    }

    /// Cancels an event that has been inserted and not been popped.
    pub fn cancel(&mut self, key: EventKey) {
        self.revised.insert(key, None);
    }

    /// The key of the first event that is not cancelled.
    #[inline]
    pub fn first_key(&mut self) -> Option<EventKey> {
        while let Some(key) = self.queue.first_key() {
            if self.revised.is_empty() || !matches!(self.revised.get(&key), Some(None)) {
                return Some(key);
            }
            self.revised.remove(&key);
            self.queue.pop_if(|_| true);
        }
        None
    }

    /// The first event that is not cancelled.
    pub fn first(&mut self) -> Option<(Head, &E)> {
        let key = self.first_key()?;
        match self.revised.get(&key) {
            Some(Some(event)) => Some((event.head, &event.payload)),
            _ => self.queue.first(),
        }
    }

    /// Removes the first event if `wanted` accepts it.
    #[inline]
    pub fn pop_if(&mut self, wanted: impl FnOnce(&Head) -> bool) -> Option<Event<E>> {
        if self.revised.is_empty() {
            return self.queue.pop_if(wanted);
        }
        let key = self.first_key()?;
        let event = self.queue.pop_if(wanted)?;
        Some(self.revised.remove(&key).flatten().unwrap_or(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessId, Time};

    fn event(time: u64, payload: char) -> Event<char> {
        let key = EventKey::new(Time::from_ticks(time), 0, ProcessId(0), 0);
        Event {
            head: Head::new(key, 0),
            payload,
        }
    }

    #[test]
    fn a_cancelled_event_is_gone_and_may_come_again() {
        let mut agenda = Agenda::new(Queue::new());
        for (time, payload) in [(1, 'a'), (2, 'b'), (3, 'c')] {
            agenda.insert(event(time, payload));
        }
        agenda.cancel(event(1, 'a').head.key());
        agenda.cancel(event(2, 'b').head.key());
        agenda.insert(event(2, 'B'));
        agenda.cancel(event(2, 'B').head.key());
        agenda.insert(event(2, 'β'));
        assert_eq!(agenda.first_key(), Some(event(2, ' ').head.key()));
        let left: String = std::iter::from_fn(|| agenda.pop_if(|_| true))
            .map(|event| event.payload)
            .collect();
        assert_eq!(left, "βc");
        assert!(agenda.revised.is_empty());
    }
}
