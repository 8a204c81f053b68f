//! Copies trees into a cluster and out of it, with a progress bar and a report.

mod hosts;
mod report;
mod stream;
mod watch;

pub use hosts::Hosts;
pub use stream::{get_into, put_stream};

use crate::{
    cluster::spawn,
    exit::{Exit, Failures},
};
use anyhow::Context;
use futago_node::Cluster;
use futago_staging::{
    Contents, Counts, Direction, Item, Owner, Perform, Present, Rules, Setup, Stage, Summary,
    TreePath, Unreachable, Verification,
};
use report::Report;
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};
use watch::Watch;

/// Files of more bytes are copied in parts of this size.
pub const PART_BYTES: u64 = 64 << 20;

/// How a copy is made.
pub struct Plan {
    /// Which side is the cluster.
    pub direction: Direction,
    /// The number of clients on each host.
    pub clients: usize,
    /// The hosts of the clients; without any, this one.
    pub hosts: Option<Hosts>,
    /// The rules.
    pub rules: Rules,
    /// The directory of the target that shall survive a crash at the end.
    pub synchronized: Option<TreePath>,
}

impl Plan {
    /// The plan of a plain copy from this host, which replaces what is there.
    pub fn plain(direction: Direction) -> Self {
        let rules = Rules {
            owner: Owner::of_this_process(),
            present: Present::Replaced,
            verification: Verification::Omitted,
            unreachable: Unreachable::SkipsFile,
            part_bytes: PART_BYTES,
            contents: Contents::Copied,
        };
        Self {
            direction,
            clients: 2,
            hosts: None,
            rules,
            synchronized: None,
        }
    }
}

/// A copy that signals interrupt.
pub struct Transfer<'a> {
    cluster: &'a Cluster,
    interrupted: Arc<AtomicBool>,
    watch: Watch,
    begun: Instant,
}

impl<'a> Transfer<'a> {
    /// Prepares a copy. SIGINT, SIGTERM and SIGHUP end it without half a file.
    ///
    /// # Errors
    /// If signals cannot be caught.
    pub fn begin(cluster: &'a Cluster, message: &'static str) -> anyhow::Result<Self> {
        Ok(Self {
            cluster,
            interrupted: spawn::interruption()?,
            watch: Watch::new(message),
            begun: Instant::now(),
        })
    }

    /// Copies. The report of failed nodes has been printed.
    ///
    /// # Errors
    /// If clients cannot be started.
    pub fn run(&self, plan: &Plan, items: Vec<Item>) -> anyhow::Result<Report> {
        let setup = Setup {
            cluster: self.cluster.text()?.to_string(),
            direction: plan.direction,
            rules: plan.rules,
            clients: plan.clients,
        };
        let running = match &plan.hosts {
            Some(hosts) => hosts.start(&setup, &self.interrupted)?,
            None => hosts::Running::default(),
        };
        let performers: Vec<Box<dyn Perform + '_>> = match &plan.hosts {
            Some(_) => running.performers(plan.clients),
            None => setup
                .clients(&self.interrupted)
                .context("starting clients")?,
        };
        let stage = Stage::new(performers, plan.rules, &self.watch);
        let summary = stage.run(items, plan.synchronized.as_ref());
        drop(stage);
        running.end();
        self.watch.end();
        Ok(Report::new(summary, self.begun.elapsed()))
    }

    /// Prints the report of a stream that was copied.
    ///
    /// # Errors
    /// As [`crate::output::print`].
    pub fn conclude_stream(&self, counts: Counts, json: bool) -> anyhow::Result<Exit> {
        let summary = Summary {
            counts,
            ..Summary::default()
        };
        let report = Report::new(summary, self.begun.elapsed());
        conclude(&report, &Failures::default(), json)
    }

    /// Fails after a signal.
    fn ensure_uninterrupted(&self) -> anyhow::Result<()> {
        spawn::ensure_uninterrupted(&self.interrupted)
    }
}

/// Prints a report, and returns the exit code. `earlier` are failures that were printed before.
///
/// # Errors
/// As [`crate::output::print`].
pub fn conclude(report: &Report, earlier: &Failures, json: bool) -> anyhow::Result<Exit> {
    crate::output::print(json, report, Report::text)?;
    Ok(match report.exit() {
        Exit::Success => earlier.exit(),
        exit => exit,
    })
}
