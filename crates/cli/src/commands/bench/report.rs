//! The output of a benchmark.

use super::Common;
use crate::{
    bench::{Job, Target, Work, coordinator::Rounds},
    output,
};
use futago_lab::statistics::{PhaseReport, median_round};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    /// The library, or the directory that was measured.
    target: String,
    work: &'a Work,
    in_flight: u32,
    rounds: u32,
    phases: Vec<Phase>,
    /// The results of the peer that was measured alternately.
    beside: Vec<Other<'a>>,
}

#[derive(Serialize)]
struct Other<'a> {
    name: &'a str,
    target: String,
    phases: Vec<Phase>,
}

#[derive(Serialize)]
struct Phase {
    /// The round of the median rate.
    #[serde(flatten)]
    round: PhaseReport,
    /// The rates of all rounds, in their order.
    rounds_ops_per_s: Vec<f64>,
    /// The first target's rate in parts of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

/// Prints what was measured on every job's target.
pub fn print(common: &Common, jobs: &[Job], measured: Vec<Vec<Rounds>>) -> anyhow::Result<()> {
    let mut measured = measured.iter().zip(jobs);
    let Some((first, job)) = measured.next() else {
        return Ok(());
    };
    let phases: Vec<Phase> = first.iter().filter_map(|all| phase(all, None)).collect();
    let others = measured.zip(&common.beside);
    let beside = others.map(|((all, job), beside)| Other {
        name: &beside.name,
        target: described(&job.target),
        phases: beside_phases(all, &phases),
    });
    let report = Report {
        target: described(&job.target),
        work: &job.work,
        in_flight: job.in_flight,
        rounds: common.rounds,
        beside: beside.collect(),
        phases,
    };
    output::print(common.json, &report, table)
}

pub fn described(target: &Target) -> String {
    match target {
        Target::Cluster { leases: false, .. } => "library".to_owned(),
        Target::Cluster { leases: true, .. } => "library, leases".to_owned(),
        Target::CLibrary { library, .. } => library.display().to_string(),
        Target::Directory(path) => path.display().to_string(),
    }
}

fn beside_phases(all: &[Rounds], first: &[Phase]) -> Vec<Phase> {
    let pairs = all.iter().zip(first);
    pairs
        .filter_map(|(rounds, first)| phase(rounds, Some(first.round.ops_per_s)))
        .collect()
}

fn phase(rounds: &[PhaseReport], first_ops_per_s: Option<f64>) -> Option<Phase> {
    let round = median_round(rounds)?.clone();
    Some(Phase {
        ratio: first_ops_per_s.map(|first| first / round.ops_per_s),
        rounds_ops_per_s: rounds.iter().map(|round| round.ops_per_s).collect(),
        round,
    })
}

/// A line for each phase, and below it one for what was measured beside it.
fn table(report: &Report<'_>) -> String {
    let names = report.beside.iter().map(|other| other.name.len());
    let width = names.max().unwrap_or(0).max("phase".len() + 3);
    let mut text = format!(
        "{:width$} {:>9} {:>11} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>8}{}\n",
        "phase",
        "ops",
        "ops/s",
        "MiB/s",
        "p50 us",
        "p99 us",
        "requests",
        "client us",
        "server us",
        "busy us",
        if report.beside.is_empty() {
            ""
        } else {
            "    ratio"
        },
    );
    for (index, phase) in report.phases.iter().enumerate() {
        text += &line(&phase.round.name, width, phase);
        for other in &report.beside {
            if let Some(phase) = other.phases.get(index) {
                text += &line(other.name, width, phase);
            }
        }
    }
    text
}

fn line(name: &str, width: usize, Phase { round, ratio, .. }: &Phase) -> String {
    let requests = (round.server_requests).map_or("-".to_owned(), |n| n.to_string());
    let spent = |us: Option<f64>| us.map_or("-".to_owned(), |us| format!("{us:.1}"));
    let (server, busy) = (
        spent(round.server_cpu_us_per_op),
        spent(round.server_busy_us_per_op),
    );
    let ratio = ratio.map_or(String::new(), |ratio| format!(" {ratio:>8.2}"));
    format!(
        "{name:width$} {:>9} {:>11.0} {:>9.1} {:>9.1} {:>9.1} {requests:>10} {:>10.1} {server:>10} {busy:>8}{ratio}\n",
        round.ops,
        round.ops_per_s,
        round.mib_per_s,
        round.p50_us,
        round.p99_us,
        round.client_cpu_us_per_op
    )
}
