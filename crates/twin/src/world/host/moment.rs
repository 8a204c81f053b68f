//! An event as the process that it concerns sees it.

use super::cores::Cores;
use super::nic::transmission_ns;
use crate::world::event::Event;
use crate::world::message::{Message, PUBLISH_BYTES, Party, PutIn};
use crate::world::scene::{Scene, Window};
use crate::world::setup::Held;
use crate::world::statistics::Output;
use crate::world::{Latency, MessageCosts, ResourceClass};
use futago_des::RandomStream;
use futago_des::random::{Distribution, Exponential, LogNormal};
use futago_server::TransactionCounts;
use serde::Serialize;
use std::sync::Arc;

/// The results of a process's event.
#[derive(Debug, Default)]
pub struct Consequences {
    /// Messages, and when they reach the network interface.
    pub messages: Vec<(u64, Arc<Message>)>,
    /// Timers of clients: when, and whose.
    pub timers: Vec<(u64, u32)>,
    /// Events of this host, and when.
    pub events: Vec<(u64, Event)>,
    /// Counts to record.
    pub outputs: Vec<Output>,
    /// How many clients have come to the end of their round.
    pub finished: u32,
}

/// The memory through which the cores of a host copy file data, one after the other.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Memory {
    free_ns: u64,
}

/// The moment in which a process acts, and what is around it.
pub struct Moment<'a> {
    /// The time; it moves on as the process works.
    pub ns: u64,
    pub scene: &'a Scene,
    pub random: &'a mut RandomStream,
    /// The host's number.
    pub host: u32,
    pub cores: &'a mut Cores,
    pub memory: &'a mut Memory,
    /// The data that the host's servers hold, where that matters.
    pub held: Held,
    /// By how much work is dearer, as the process has had nothing to do.
    pub more: f64,
    /// How much of the message's data the process has taken out in earlier time slices.
    pub taken_bytes: usize,
    /// The process runs on a core and need not wait for one.
    pub has_core: bool,
    /// Until when it has worked.
    pub worked_until_ns: u64,
    /// The measurement at this time.
    pub window: Option<Window>,
    pub cpu: ResourceClass,
    pub out: &'a mut Consequences,
}

impl Moment<'_> {
    /// The cost of work that costs `span_ns` with warm caches.
    pub fn dear(&self, span_ns: f64) -> f64 {
        span_ns * (1.0 + self.more)
    }

    /// The costs of messages from and to a party for a server.
    pub fn server_messages(&self, other: Party) -> MessageCosts {
        let costs = &self.scene.setup.costs.server;
        let messages = costs.messages(self.is_remote(other), self.held.bytes);
        self.through_connections(messages, other)
    }

    /// The costs of messages from and to a party for a client.
    pub fn client_messages(&self, other: Party) -> MessageCosts {
        let costs = &self.scene.setup.costs.client;
        let messages = costs.messages(self.is_remote(other), self.held.bytes);
        self.through_connections(messages, other)
    }

    /// Messages within a host are the slower the more connections its processes have.
    fn through_connections(&self, messages: MessageCosts, other: Party) -> MessageCosts {
        if self.is_remote(other) {
            return messages;
        }
        messages.with_bytes(self.scene.setup.hosts[self.host as usize].byte_times)
    }

    /// Works for a span of CPU time, once a core is free.
    pub fn occupy(&mut self, span_ns: f64) {
        let span_ns = span_ns.round() as u64;
        if span_ns == 0 {
            return;
        }
        let arrived_ns = self.ns;
        let started_ns = match self.has_core {
            true => arrived_ns,
            false => self.cores.occupy(arrived_ns, span_ns),
        };
        self.ns = started_ns + span_ns;
        self.worked_until_ns = self.ns;
        self.used(self.cpu, [arrived_ns, started_ns, self.ns]);
    }

    /// Works for a span of CPU time in which `bytes` of file data are copied, once a core is free.
    /// The work takes longer if the memory cannot supply the data in that time.
    pub fn occupy_and_copy(&mut self, span_ns: f64, bytes: usize) {
        let of_memory = self.scene.setup.hosts[self.host as usize].memory_bytes_per_s;
        let Some(bytes_per_s) = of_memory.filter(|_| bytes > 0) else {
            return self.occupy(span_ns);
        };
        let began_ns = match self.has_core {
            true => self.ns,
            false => self.cores.free_from(self.ns),
        };
        let copied_ns = transmission_ns(bytes as u64, bytes_per_s);
        let copying_ns = began_ns.max(self.memory.free_ns);
        self.memory.free_ns = copying_ns + copied_ns;
        self.used(
            ResourceClass::Memory,
            [began_ns, copying_ns, self.memory.free_ns],
        );
        let until_copied_ns = (self.memory.free_ns - began_ns) as f64;
        self.occupy(span_ns.max(until_copied_ns));
    }

    /// When a message with `bytes` of data was put in that has just been sent, if the other end is
    /// notified part by part.
    pub fn put_in(&self, to: Party, bytes: usize, byte_sent_ns: f64) -> Option<PutIn> {
        let later_bytes = bytes.saturating_sub(PUBLISH_BYTES);
        if later_bytes == 0 || !self.has_core || self.is_remote(to) {
            return None;
        }
        let later_ns = byte_sent_ns * later_bytes as f64;
        Some(PutIn {
            from_ns: self.ns - later_ns as u64,
            until_ns: self.ns,
        })
    }

    /// Takes out a part of a message, and continues with it in a later time slice.
    pub fn take_part(&mut self, bytes: usize, byte_received_ns: f64) {
        self.occupy_and_copy(byte_received_ns * bytes as f64, bytes);
    }

    /// How much of a message's data is still to be taken out.
    pub fn left_bytes(&self, message: &Message) -> usize {
        message.payload.len() - self.taken_bytes
    }

    /// The cost of receiving the rest of a message's data, which is `found_whole` times as much if
    /// all of it is there. A process alone on its core waits for the data that the other end still
    /// puts in.
    pub fn receive_ns(
        &self,
        message: &Message,
        byte_received_ns: f64,
        found_whole: Option<f64>,
    ) -> f64 {
        let left_bytes = self.left_bytes(message);
        let until_ns = message.put_in.map_or(0, |put_in| put_in.until_ns);
        if message.put_in.is_some() && until_ns <= self.ns {
            return byte_received_ns * found_whole.unwrap_or(1.0) * left_bytes as f64;
        }
        let earlier_ns = byte_received_ns * left_bytes.saturating_sub(PUBLISH_BYTES) as f64;
        let lag_ns = (until_ns as f64 - self.ns as f64 - earlier_ns).max(0.0);
        byte_received_ns * left_bytes as f64 + lag_ns
    }

    /// Whether a party is on another host.
    pub fn is_remote(&self, other: Party) -> bool {
        self.scene.host_of(other) != Some(self.host)
    }

    /// Counts the use of a resource: when it was wanted, begun and ended.
    pub fn used(&mut self, class: ResourceClass, [arrived_ns, started_ns, ended_ns]: [u64; 3]) {
        if let Some(window) = self.window {
            self.out.outputs.push(Output::Use {
                window,
                class,
                arrived_ns,
                started_ns,
                ended_ns,
            });
        }
    }
}

impl Moment<'_> {
    /// Counts what a server has decided about transactions.
    pub fn count_transactions(&mut self, counts: TransactionCounts) {
        if let Some(window) = self.window
            && counts != TransactionCounts::default()
        {
            let at_ns = self.ns;
            self.out.outputs.push(Output::Transactions {
                window,
                at_ns,
                counts,
            });
        }
    }
}

impl Latency {
    /// One span, in nanoseconds.
    pub fn draw(self, random: &mut RandomStream) -> u64 {
        match self {
            Self::Constant(ns) => ns,
            Self::Uniform(least, most) => least + random.below((most - least).saturating_add(1)),
            Self::Exponential(mean) => Exponential::with_mean(mean).sample(random) as u64,
            Self::LogNormal(mean, deviation) => {
                LogNormal::with_mean(mean, deviation).sample(random) as u64
            }
        }
    }
}
