//! An event as the process that it concerns sees it.

use super::cores::Cores;
use crate::world::event::Event;
use crate::world::message::Message;
use crate::world::scene::{Scene, Window};
use crate::world::statistics::Output;
use crate::world::{Latency, ResourceClass};
use futago_des::RandomStream;
use futago_des::random::{Distribution, Exponential, LogNormal};
use futago_server::TransactionCounts;
use std::sync::Arc;

/// What a process's event leads to.
#[derive(Debug, Default)]
pub struct Consequences {
    /// Messages, and when they reach the network interface.
    pub messages: Vec<(u64, Arc<Message>)>,
    /// Timers of clients: when, and whose.
    pub timers: Vec<(u64, u32)>,
    /// Events of this host, and when.
    pub events: Vec<(u64, Event)>,
    /// What there is to count.
    pub outputs: Vec<Output>,
    /// How many clients have come to the end of their round.
    pub finished: u32,
}

/// The moment in which a process acts, and what is around it.
pub struct Moment<'a> {
    /// The time; it moves on as the process works.
    pub ns: u64,
    pub scene: &'a Scene,
    pub random: &'a mut RandomStream,
    pub cores: &'a mut Cores,
    /// The process has its turn on a core: it need not wait for one.
    pub has_turn: bool,
    /// Until when it has worked.
    pub worked_until_ns: u64,
    /// What is measured at this time.
    pub window: Option<Window>,
    pub cpu: ResourceClass,
    pub out: &'a mut Consequences,
}

impl Moment<'_> {
    /// Works for a span of CPU time, once a core is free.
    pub fn occupy(&mut self, span_ns: f64) {
        let span_ns = span_ns.round() as u64;
        if span_ns == 0 {
            return;
        }
        let arrived_ns = self.ns;
        let started_ns = match self.has_turn {
            true => arrived_ns,
            false => self.cores.occupy(arrived_ns, span_ns),
        };
        self.ns = started_ns + span_ns;
        self.worked_until_ns = self.ns;
        self.used(self.cpu, [arrived_ns, started_ns, self.ns]);
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
