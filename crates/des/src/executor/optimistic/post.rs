use serde::{Deserialize, Serialize};

use super::agenda::Agenda;
use crate::Time;
use crate::event::{Event, EventKey, Head, ProcessId};
use crate::fault::Fault;
use crate::partition::Route;
use crate::placement::PartitionMap;
use crate::queue::Queue;

/// A message from one partition to another.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message<E> {
    Event(Event<E>),
    /// An anti-message: cancels the event with this head, which was sent before.
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

/// Sorts the events that a partition sends: its own stay, the rest waits in bags.
pub(crate) struct Post<'a, E> {
    partition_map: &'a PartitionMap,
    me: u32,
    pub(super) bags: Vec<Vec<Message<E>>>,
    /// The first of all keys sent away since the last reset.
    pub(super) earliest: EventKey,
    pub(super) events_sent_away: u64,
}

impl<'a, E> Post<'a, E> {
    pub fn new(partition_map: &'a PartitionMap, me: usize) -> Self {
        Post {
            partition_map,
            me: me as u32,
            bags: (0..partition_map.partitions())
                .map(|_| Vec::new())
                .collect(),
            earliest: EventKey::MAX,
            events_sent_away: 0,
        }
    }

    /// Sends an event; its destination is a process number.
    #[inline]
    pub(super) fn send(&mut self, agenda: &mut Agenda<E>, mut event: Event<E>) {
        let locate = self.partition_map.locate(ProcessId(event.head.destination));
        event.head.destination = locate.index;
        if locate.partition == self.me {
            agenda.insert(event);
        } else {
            self.events_sent_away += 1;
            self.bag(locate.partition, Message::Event(event));
        }
    }

    /// Cancels an event. If its destination is in this partition, its head is added to `here`.
    pub(super) fn cancel(&mut self, here: &mut Vec<Head>, mut head: Head) {
        let locate = self.partition_map.locate(ProcessId(head.destination));
        head.destination = locate.index;
        if locate.partition == self.me {
            here.push(head);
        } else {
            self.bag(locate.partition, Message::Cancel(head));
        }
    }

    #[inline]
    fn bag(&mut self, partition: u32, message: Message<E>) {
        self.earliest = self.earliest.min(message.key());
        self.bags[partition as usize].push(message);
    }
}

/// For the first events, which are never undone.
impl<E> Route<E> for Post<'_, E> {
    fn route(&mut self, queue: &mut Queue<E>, _: Time, mut event: Event<E>) -> Result<(), Fault> {
        let locate = self.partition_map.locate(ProcessId(event.head.destination));
        event.head.destination = locate.index;
        if locate.partition == self.me {
            queue.push(event);
        } else {
            self.events_sent_away += 1;
            self.bag(locate.partition, Message::Event(event));
        }
        Ok(())
    }
}
