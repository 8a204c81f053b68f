use std::iter::Sum;

use serde::{Deserialize, Serialize};

use super::{Change, QueueingProcess};
use crate::{ProcessId, Time};

/// The results of one station, or of several together; times in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    since: Time,
    last: Time,
    /// Customers whose service began.
    pub served: u64,
    /// The sum of their waiting times.
    pub wait_ticks: u128,
    /// The integral of the number of customers over time.
    pub customer_ticks: u128,
    /// The integral of the number of busy servers over time.
    pub busy_ticks: u128,
    /// The measured time.
    pub observed_ticks: u128,
}

impl Measured {
    /// No results yet, from `since` on.
    pub(super) fn from(since: Time) -> Measured {
        Measured {
            since,
            last: since,
            ..Measured::default()
        }
    }

    pub(super) fn add(&mut self, now: Time, change: Change) {
        if now < self.since {
            return;
        }
        let span = u128::from(now.since(self.last).ticks());
        self.last = now;
        self.observed_ticks += span;
        self.customer_ticks += span * u128::from(change.customers_before);
        self.busy_ticks += span * u128::from(change.busy_before);
        if let Some(wait) = change.wait {
            self.served += 1;
            self.wait_ticks += u128::from(wait.ticks());
        }
    }

    /// Mean time in the queue, in seconds.
    pub fn mean_wait_s(&self) -> f64 {
        self.wait_ticks as f64 / self.served.max(1) as f64 / 1e9
    }

    /// Mean number of customers in a station.
    pub fn mean_customers(&self) -> f64 {
        self.customer_ticks as f64 / self.observed_ticks.max(1) as f64
    }

    /// Mean number of busy servers of a station.
    pub fn mean_busy(&self) -> f64 {
        self.busy_ticks as f64 / self.observed_ticks.max(1) as f64
    }

    /// Customers per second through a station.
    pub fn throughput_per_s(&self) -> f64 {
        self.served as f64 / (self.observed_ticks.max(1) as f64 / 1e9)
    }
}

impl<'a> Sum<&'a Measured> for Measured {
    fn sum<I: Iterator<Item = &'a Measured>>(parts: I) -> Measured {
        parts.fold(Measured::default(), |all, part| Measured {
            served: all.served + part.served,
            wait_ticks: all.wait_ticks + part.wait_ticks,
            customer_ticks: all.customer_ticks + part.customer_ticks,
            busy_ticks: all.busy_ticks + part.busy_ticks,
            observed_ticks: all.observed_ticks + part.observed_ticks,
            ..all
        })
    }
}

/// The sum over these stations.
pub fn measure(processes: &[(ProcessId, QueueingProcess)]) -> Measured {
    let stations = processes.iter().filter_map(|(_, process)| match process {
        QueueingProcess::Station(station) => Some(&station.measured),
        QueueingProcess::Source { .. } => None,
    });
    stations.sum()
}
