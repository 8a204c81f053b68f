//! Queueing stations with known answers: M/M/1, M/M/c and a closed network.
//!
//! One model with two kinds of process, and an incremental undo: a station saves the change of its
//! queue, not the queue.

mod station;
mod summary;
pub mod theory;

pub use station::{Station, StationUndo};
pub use summary::{Measured, measure};

use serde::{Deserialize, Serialize};

use crate::random::{Distribution, Exponential};
use crate::{Context, Forward, Link, Mode, Model, Process, ProcessId, Saved, Time, Topology};

/// A set of equal stations, each with some servers and one queue, first come first served.
///
/// With an arrival rate every station has its own Poisson source, and customers leave after
/// service. Without one, customers travel to a random station for ever.
#[derive(Clone, Debug, Serialize)]
pub struct Queueing {
    /// The number of stations.
    pub stations: u32,
    /// Servers of each station.
    pub servers: u32,
    /// Mean service time, exponential.
    pub service_s: f64,
    /// Customers per second from each source; `None` makes the network closed.
    pub arrivals_per_s: Option<f64>,
    /// Customers that each station of a closed network starts with.
    pub customers: u32,
    /// The travel time of customers to a station: the lookahead, which may be zero.
    pub travel_s: f64,
    /// The start of the measurement.
    pub warm_up_s: f64,
}

impl Default for Queueing {
    fn default() -> Self {
        Queueing {
            stations: 1,
            servers: 1,
            service_s: 1.0,
            arrivals_per_s: Some(0.5),
            customers: 0,
            travel_s: 0.1,
            warm_up_s: 100.0,
        }
    }
}

/// The events of a queueing network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum QueueingEvent {
    /// A source makes a customer.
    Create,
    /// A customer arrives at a station.
    Arrive,
    /// The service of a customer ends.
    Depart,
}

/// The output of a station: one change of the number of its customers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Customers before the change.
    pub customers_before: u32,
    /// Servers busy before the change.
    pub busy_before: u32,
    /// The waiting time of the customer whose service begins with this change.
    pub wait: Option<Time>,
}

/// A process of the model.
#[derive(Clone, Debug, Serialize)]
pub enum QueueingProcess {
    /// Makes customers for one station.
    Source {
        /// Its station.
        station: ProcessId,
        /// The travel time of customers to it.
        travel: Time,
        /// Mean ticks between customers.
        between_ticks: f64,
        /// Customers made.
        created: u64,
    },
    /// Serves customers.
    Station(Station),
}

/// The undo of an event.
#[derive(Debug)]
pub enum QueueingUndo {
    /// Of a source.
    Created,
    /// Of a station.
    Station(StationUndo),
}

impl Process for QueueingProcess {
    type Event = QueueingEvent;
    type Undo = QueueingUndo;
    type Output = Change;

    fn start(&mut self, ctx: &mut Context<'_, Self, Forward>) {
        match self {
            QueueingProcess::Source { between_ticks, .. } => {
                let delay = exponential_delay(*between_ticks, ctx);
                ctx.schedule(delay, QueueingEvent::Create);
            }
            QueueingProcess::Station(station) => station.start(ctx),
        }
    }

    fn handle<M: Mode>(
        &mut self,
        now: Time,
        event: &QueueingEvent,
        ctx: &mut Context<'_, Self, M>,
    ) -> Saved<M, QueueingUndo> {
        match self {
            QueueingProcess::Source {
                station,
                travel,
                between_ticks,
                created,
            } => {
                let saved = ctx.save(|| QueueingUndo::Created);
                *created += 1;
                ctx.send(*station, *travel, QueueingEvent::Arrive);
                let delay = exponential_delay(*between_ticks, ctx);
                ctx.schedule(delay, QueueingEvent::Create);
                saved
            }
            QueueingProcess::Station(station) => station.handle(now, event, ctx),
        }
    }

    fn undo(&mut self, undo: QueueingUndo) {
        match (self, undo) {
            (QueueingProcess::Station(station), QueueingUndo::Station(undo)) => station.undo(undo),
            (QueueingProcess::Source { created, .. }, _) => *created -= 1,
            // The undo of a station belongs to a station.
            (QueueingProcess::Station(_), QueueingUndo::Created) => {}
        }
    }

    fn commit(&mut self, now: Time, change: Change) {
        if let QueueingProcess::Station(station) = self {
            station.measured.add(now, change);
        }
    }

    fn finish(&mut self, end: Time) {
        if let QueueingProcess::Station(station) = self {
            station.finish(end);
        }
    }
}

/// An exponential delay with this mean.
fn exponential_delay<M: Mode>(mean_ticks: f64, ctx: &mut Context<'_, QueueingProcess, M>) -> Time {
    Time::from_ticks(Exponential::with_mean(mean_ticks).sample(ctx.random()) as u64)
}

impl Model for Queueing {
    type Process = QueueingProcess;

    /// Stations come first, then their sources.
    fn process_count(&self) -> u32 {
        if self.arrivals_per_s.is_some() {
            self.stations * 2
        } else {
            self.stations
        }
    }

    fn create(&self, id: ProcessId) -> QueueingProcess {
        match self.arrivals_per_s {
            Some(rate) if id.0 >= self.stations => QueueingProcess::Source {
                station: ProcessId(id.0 - self.stations),
                travel: Time::from_seconds(self.travel_s),
                between_ticks: 1e9 / rate,
                created: 0,
            },
            _ => QueueingProcess::Station(Station::new(self)),
        }
    }

    fn topology(&self) -> Topology {
        let lookahead = Time::from_seconds(self.travel_s);
        if self.arrivals_per_s.is_none() {
            return Topology::Complete { lookahead };
        }
        Topology::links((0..self.stations).map(|station| Link {
            from: ProcessId(self.stations + station),
            to: ProcessId(station),
            lookahead,
        }))
    }

    fn name(&self, id: ProcessId) -> String {
        if id.0 < self.stations {
            format!("station {}", id.0)
        } else {
            format!("source {}", id.0 - self.stations)
        }
    }
}
