use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use crate::Time;
use crate::event::{Event, EventKey, Head, ProcessId};
use crate::fault::Fault;
use crate::partition::Route;
use crate::placement::Seating;
use crate::queue::Queue;

/// What one partition tells another.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message<E> {
    Event(Event<E>),
    /// An anti-message: the event with this head, sent before, was a mistake.
    Cancel(Head),
}

impl<E> Message<E> {
    fn key(&self) -> EventKey {
        match self {
            Message::Event(event) => event.head.key(),
            Message::Cancel(head) => head.key(),
        }
    }
}

/// Sorts what a partition sends: its own events stay, the rest waits in bags.
pub(crate) struct Post<'a, E> {
    seating: &'a Seating,
    me: u32,
    pub(super) bags: Vec<Vec<Message<E>>>,
    /// The first of all keys sent away since this was last reset.
    pub(super) earliest: EventKey,
    pub(super) events_sent_away: u64,
}

impl<'a, E> Post<'a, E> {
    pub fn new(seating: &'a Seating, me: usize) -> Self {
        Post {
            seating,
            me: me as u32,
            bags: (0..seating.partitions()).map(|_| Vec::new()).collect(),
            earliest: EventKey::MAX,
            events_sent_away: 0,
        }
    }

    /// Sends an event on its way; its destination is a process number.
    #[inline]
    pub(super) fn send(&mut self, agenda: &mut Agenda<E>, mut event: Event<E>) {
        let seat = self.seating.seat(ProcessId(event.head.destination));
        event.head.destination = seat.index;
        if seat.partition == self.me {
            agenda.insert(event);
        } else {
            self.events_sent_away += 1;
            self.bag(seat.partition, Message::Event(event));
        }
    }

    /// Calls an event back; if it went to this partition itself, leaves that in `here`.
    pub(super) fn cancel(&mut self, here: &mut Vec<Head>, mut head: Head) {
        let seat = self.seating.seat(ProcessId(head.destination));
        head.destination = seat.index;
        if seat.partition == self.me {
            here.push(head);
        } else {
            self.bag(seat.partition, Message::Cancel(head));
        }
    }

    #[inline]
    fn bag(&mut self, partition: u32, message: Message<E>) {
        self.earliest = self.earliest.min(message.key());
        self.bags[partition as usize].push(message);
    }
}

/// For the first events, before there is anything to undo.
impl<E> Route<E> for Post<'_, E> {
    fn route(&mut self, queue: &mut Queue<E>, _: Time, mut event: Event<E>) -> Result<(), Fault> {
        let seat = self.seating.seat(ProcessId(event.head.destination));
        event.head.destination = seat.index;
        if seat.partition == self.me {
            queue.push(event);
        } else {
            self.events_sent_away += 1;
            self.bag(seat.partition, Message::Event(event));
        }
        Ok(())
    }
}
