//! The speed of a world of PPMDSsim's largest figures: all executors beside a bare loop over the
//! same handlers, interleaved, each in a process of its own.
//!
//!     cargo bench -p futago-twin --bench speed -- [CLIENTS [OPERATIONS [ROUNDS]]]
//!
//! prints a line of JSON: medians of all rounds, and of the ratios within each round, which a noisy
//! machine disturbs least. Every client creates OPERATIONS files in one directory of 128 servers.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's program may end with its reader"
)]

mod bare_loop;

use futago_des::Executor;
use futago_des::watch::peak_resident_bytes;
use futago_twin::scenario::Scenario;
use futago_twin::world::{self, Amount, OperationKind, ResourceClass, RunOptions, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCENARIO: &str = "../../experiments/ppmds/fig9.toml";

/// The executors of the handlers.
const RUNNERS: [(&str, Option<(Executor, u32)>); 4] = [
    ("bare-loop", None),
    ("sequential", Some((Executor::Sequential, 1))),
    ("conservative", Some((Executor::Conservative, 2))),
    ("optimistic", Some((Executor::Optimistic, 2))),
];

/// One run of one runner.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    operations: u64,
    /// Messages that reached a server.
    requests: u64,
    wall_s: f64,
    operations_per_s: f64,
    peak_rss_bytes: Option<u64>,
    /// Of an executor; the bare loop has no events.
    #[serde(skip_serializing_if = "Option::is_none")]
    events_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// All rounds.
#[derive(Debug, Serialize)]
struct Comparison {
    clients: u32,
    operations: u64,
    rounds: u32,
    /// The run of median speed.
    median: BTreeMap<&'static str, Run>,
    sequential_to_bare_loop: f64,
    conservative_to_sequential: f64,
    optimistic_to_sequential: f64,
}

fn main() {
    let arguments = std::env::args().skip(1);
    // Cargo adds a flag of its own.
    let arguments: Vec<String> = arguments.filter(|given| !given.starts_with("--")).collect();
    let number = |at: usize, default: u32| {
        let given = arguments.get(at).map(|text| (text, text.parse()));
        given.map_or(default, |(text, number)| {
            number.unwrap_or_else(|_| panic!("`{text}` is no number"))
        })
    };
    let (clients, operations) = (number(0, 2048), u64::from(number(1, 100)));
    let json = match arguments.get(3) {
        Some(runner) => serde_json::to_string(&run(runner, clients, operations)),
        None => serde_json::to_string(&compare(clients, operations, number(2, 3))),
    };
    println!("{}", json.expect("plain data"));
}

fn compare(clients: u32, operations: u64, rounds: u32) -> Comparison {
    assert!(rounds > 0, "there must be at least one round");
    let mut rows: Vec<Vec<Run>> = Vec::new();
    for round in 0..rounds {
        let runs = RUNNERS.map(|(runner, _)| apart(runner, clients, operations, round));
        assert_same(&runs);
        rows.push(runs.into());
    }
    let ratio = |over: usize, under: usize| {
        let ratios = rows
            .iter()
            .map(|row| row[over].operations_per_s / row[under].operations_per_s);
        median(ratios.collect(), |ratio| *ratio)
    };
    let medians = RUNNERS.iter().enumerate().map(|(at, (runner, _))| {
        let runs = rows.iter().map(|row| row[at].clone()).collect();
        (*runner, median(runs, |run| run.operations_per_s))
    });
    Comparison {
        clients,
        operations,
        rounds,
        sequential_to_bare_loop: ratio(1, 0),
        conservative_to_sequential: ratio(2, 1),
        optimistic_to_sequential: ratio(3, 1),
        median: medians.collect(),
    }
}

/// The bare loop does the same work, and the executors have the same results.
fn assert_same(runs: &[Run]) {
    for run in runs {
        assert_eq!(run.operations, runs[0].operations);
        assert_eq!(run.requests, runs[0].requests);
    }
    for run in &runs[1..] {
        assert_eq!(run.digest, runs[1].digest);
    }
}

fn median<T>(mut all: Vec<T>, by: impl Fn(&T) -> f64) -> T {
    all.sort_by(|left, right| by(left).total_cmp(&by(right)));
    all.swap_remove(all.len() / 2)
}

/// Runs it in a process of its own, so that none inherits another one's memory.
fn apart(runner: &str, clients: u32, operations: u64, round: u32) -> Run {
    let program = std::env::current_exe().expect("the program has a path");
    let arguments = [
        clients.to_string(),
        operations.to_string(),
        round.to_string(),
    ];
    let output = Command::new(program)
        .args(arguments)
        .arg(runner)
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("it prints a run")
}

fn run(runner: &str, clients: u32, operations: u64) -> Run {
    let setup = setup(clients, operations);
    let known = RUNNERS.iter().find(|(name, _)| *name == runner);
    match known.expect("a runner").1 {
        None => {
            let ran = bare_loop::run(&setup);
            Run::new(ran.operations, ran.requests, ran.wall_s)
        }
        Some((executor, threads)) => simulate(&setup, executor, threads),
    }
}

fn simulate(setup: &Setup, executor: Executor, threads: u32) -> Run {
    let options = RunOptions {
        executor,
        threads,
        ..RunOptions::default()
    };
    let measured = world::run(setup, &options).expect("the world runs");
    let phase = &measured.phases[0];
    let created = phase.operations[&OperationKind::Create].count;
    let requests = phase.resources[&ResourceClass::ServerNicReceive].uses;
    Run {
        events_per_s: Some(measured.engine.events_per_s),
        digest: Some(measured.engine.digest),
        ..Run::new(created, requests, measured.engine.wall_s)
    }
}

impl Run {
    fn new(operations: u64, requests: u64, wall_s: f64) -> Self {
        Self {
            operations,
            requests,
            wall_s,
            operations_per_s: operations as f64 / wall_s,
            peak_rss_bytes: peak_resident_bytes(),
            events_per_s: None,
            digest: None,
        }
    }
}

/// The scenario of the largest figures with so many clients and operations of each.
fn setup(clients: u32, operations: u64) -> Setup {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCENARIO);
    let options = [format!("cluster.clients={clients}")];
    let scenario = Scenario::load(&path, &options).expect("the scenario is there");
    let mut points = scenario.points().expect("the scenario is valid");
    let mut setup = points.swap_remove(0).setup;
    setup.phases[0].amount = Amount::Operations(operations);
    setup
}
