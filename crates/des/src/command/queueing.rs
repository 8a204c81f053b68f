//! `futago des queueing`.

use std::io::Write;

use anyhow::ensure;
use clap::Args;
use serde::Serialize;

use super::experiment::Experiment;
use super::run_options::{RunOptions, time};
use crate::models::queueing::{Measured, Queueing, measure, theory};

#[derive(Args, Debug)]
pub(super) struct QueueingArguments {
    /// The number of stations.
    #[arg(long, default_value_t = 16)]
    stations: u32,
    /// Servers of each station.
    #[arg(long, default_value_t = 1)]
    servers: u32,
    /// Mean service time, in seconds.
    #[arg(long, default_value_t = 1.0)]
    service: f64,
    /// Customers a second that come to each station.
    #[arg(long, default_value_t = 0.5)]
    arrivals: f64,
    /// Make the network closed, with this many customers a station and no arrivals.
    #[arg(long)]
    closed: Option<u32>,
    /// How long customers travel to a station, in seconds: the lookahead.
    #[arg(long, default_value_t = 0.1)]
    travel: f64,
    /// Measure from this simulated time on, in seconds.
    #[arg(long, default_value_t = 10.0)]
    warm_up: f64,
    #[command(flatten)]
    run: RunOptions,
}

/// The measured and the expected results.
#[derive(Serialize)]
struct Results {
    throughput_per_s: f64,
    expected_throughput_per_s: f64,
    mean_customers: f64,
    expected_customers: f64,
    mean_wait_s: f64,
    expected_wait_s: f64,
    utilization: f64,
}

impl QueueingArguments {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let model = self.model()?;
        let experiment = Experiment {
            name: "queueing",
            model: &model,
            parameters: &model,
        };
        experiment.run(&self.run, out, measure, |seen, _| {
            Results::new(&model, &seen.iter().sum())
        })
    }

    fn model(&self) -> anyhow::Result<Queueing> {
        time("--travel", self.travel)?;
        time("--warm-up", self.warm_up)?;
        ensure!(
            self.service > 0.0,
            "--service {}: must be more than 0",
            self.service
        );
        ensure!(self.servers > 0, "--servers must be at least 1");
        let offered = self.arrivals * self.service;
        ensure!(
            self.closed.is_some() || (offered > 0.0 && offered < f64::from(self.servers)),
            "--arrivals {} x --service {} must be between 0 and --servers {}, or queues only grow",
            self.arrivals,
            self.service,
            self.servers
        );
        ensure!(
            self.closed.is_none() || self.servers == 1,
            "--closed: the expected results are for one server a station"
        );
        Ok(Queueing {
            stations: self.stations,
            servers: self.servers,
            service_s: self.service,
            arrivals_per_s: self.closed.is_none().then_some(self.arrivals),
            customers: self.closed.unwrap_or(0),
            travel_s: self.travel,
            warm_up_s: self.warm_up,
        })
    }
}

impl Results {
    fn new(model: &Queueing, measured: &Measured) -> Results {
        let (throughput, wait) = expectation(model);
        Results {
            throughput_per_s: measured.throughput_per_s(),
            expected_throughput_per_s: throughput,
            mean_customers: measured.mean_customers(),
            expected_customers: throughput * (wait + model.service_s),
            mean_wait_s: measured.mean_wait_s(),
            expected_wait_s: wait,
            utilization: measured.mean_busy() / f64::from(model.servers),
        }
    }
}

/// The throughput of a station, and the mean time in its queue.
fn expectation(model: &Queueing) -> (f64, f64) {
    let Queueing {
        servers, service_s, ..
    } = *model;
    if let Some(rate) = model.arrivals_per_s {
        return (rate, theory::mean_wait(servers, rate, service_s));
    }
    let population = model.customers * model.stations;
    let (throughput, customers) =
        theory::closed_network(model.stations, population, service_s, model.travel_s);
    (throughput, customers / throughput - service_s)
}
