//! PHOLD, the benchmark of parallel discrete-event simulators.
//!
//! Fujimoto, "Performance of Time Warp under synthetic workloads", Proceedings of the SCS
//! Multiconference on Distributed Simulation, 1990. Parameters as in the PHOLD of ROSS: every
//! process starts with some events; handling one sends one, to a random process or to oneself.

mod bare_loop;

pub use bare_loop::bare_loop;

use serde::{Deserialize, Serialize};

use crate::random::{Distribution, Exponential};
use crate::{Context, Forward, Mode, Model, Process, ProcessId, Saved, Time, Topology};

/// The parameters of PHOLD; times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Phold {
    /// The number of processes.
    pub processes: u32,
    /// Events each process starts with.
    pub start_events: u32,
    /// The least delay of an event.
    pub lookahead_s: f64,
    /// The mean delay of an event, the lookahead included.
    pub mean_s: f64,
    /// The probability that an event goes to a random process and not back to its sender.
    pub remote: f64,
    /// The factor by which the second half of the processes waits longer, apart from the lookahead.
    /// 1 is the usual PHOLD; more lets parts of the model run away from each other.
    pub skew: f64,
}

impl Default for Phold {
    fn default() -> Self {
        Phold {
            processes: 1024,
            start_events: 1,
            lookahead_s: 0.1,
            mean_s: 1.0,
            remote: 0.25,
            skew: 1.0,
        }
    }
}

/// The only event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Token;

/// A process of PHOLD. It counts its events, so that there is something to undo.
#[derive(Clone, Debug, Serialize)]
pub struct Holder {
    /// Events handled.
    pub handled: u64,
    #[serde(skip)]
    start_events: u32,
    #[serde(skip)]
    remote: f64,
    #[serde(skip)]
    lookahead: Time,
    #[serde(skip)]
    delay_ticks: Exponential,
}

impl Holder {
    #[inline]
    fn send_one<M: Mode>(&self, ctx: &mut Context<'_, Self, M>) {
        let to = if ctx.random().chance(self.remote) {
            let count = u64::from(ctx.process_count());
            ProcessId(ctx.random().below(count) as u32)
        } else {
            ctx.me()
        };
        let beyond = Time::from_ticks(self.delay_ticks.sample(ctx.random()) as u64);
        ctx.send(to, self.lookahead.saturating_add(beyond), Token);
    }
}

impl Process for Holder {
    type Event = Token;
    type Undo = ();
    type Output = ();

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        for _ in 0..self.start_events {
            self.send_one(ctx);
        }
    }

    #[inline]
    fn handle<M: Mode>(
        &mut self,
        _: Time,
        Token: &Token,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, ()> {
        let saved = ctx.save(|| ());
        self.handled += 1;
        self.send_one(ctx);
        saved
    }

    fn undo(&mut self, (): ()) {
        self.handled -= 1;
    }
}

impl Model for Phold {
    type Process = Holder;

    fn process_count(&self) -> u32 {
        self.processes
    }

    fn create(&self, id: ProcessId) -> Holder {
        let slow = id.0 >= self.processes / 2;
        let mean_s = (self.mean_s - self.lookahead_s).max(0.0) * if slow { self.skew } else { 1.0 };
        Holder {
            handled: 0,
            start_events: self.start_events,
            remote: self.remote,
            lookahead: Time::from_seconds(self.lookahead_s),
            delay_ticks: Exponential::with_mean(mean_s * 1e9),
        }
    }

    fn topology(&self) -> Topology {
        Topology::Complete {
            lookahead: Time::from_seconds(self.lookahead_s),
        }
    }
}
