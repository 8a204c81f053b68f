//! The work of clients, phase by phase.

use super::{cluster::Cluster, data::Data, traces::Traces};
use crate::world::{
    self, Activity, Amount, Arrivals, FileNames, Latency, Mix, OperationKind, Place, Popularity,
    WideDirectories,
};
use bytesize::ByteSize;
use futago_lab::{
    document::{Problem, bounds},
    workload::Trace,
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The phases of a scenario, and the directories that they begin with. All clients begin a phase
/// together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Directories below the root that are there from the start.
    #[serde(default)]
    pub directories: Vec<Directory>,
    /// Empty directories of the clients below the root that are there from the start.
    #[serde(default)]
    pub wide: WideDirectories,
    /// The phases, in their order.
    pub phases: Vec<Phase>,
}

/// A directory that is there from the start.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Its name.
    pub name: String,
    /// How many buckets its names are spread over, a power of two.
    #[serde(default = "one")]
    pub buckets: u64,
    /// Clients know the buckets from the start.
    #[serde(default)]
    pub known: bool,
    /// The names of the clients' files in it.
    #[serde(default)]
    pub names: FileNames,
}

/// How phases name the root.
const ROOT: &str = "/";

const fn one() -> u64 {
    1
}

/// One phase. A client has one operation under way.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The name in reports; the operation's name if there is one operation.
    #[serde(default)]
    pub name: Option<String>,
    /// The directory that all clients use, by its name, or `/` for the root; without it each client
    /// has its own.
    #[serde(default)]
    pub directory: Option<String>,
    /// The operations on names, with weights.
    #[serde(default)]
    pub mix: BTreeMap<OperationKind, u32>,
    /// So many files belong to all clients together.
    #[serde(default)]
    pub common: u64,
    /// How a file is chosen where any will do.
    #[serde(default)]
    pub popularity: Popularity,
    /// The data of files that the mix creates or reads.
    #[serde(default)]
    pub file_size: ByteSize,
    /// Transfers of large files, instead of operations on names.
    #[serde(default)]
    pub data: Option<Data>,
    /// The file of a recorded run, instead of all that says what is done, how often and when.
    #[serde(default)]
    pub trace: Option<PathBuf>,
    /// How many operations each client performs; all of the phase is measured. By default, each
    /// transfer is made once.
    #[serde(default)]
    pub operations: Option<u64>,
    /// For how long it is measured, in milliseconds, instead of a number of operations.
    #[serde(default)]
    pub measured_ms: Option<f64>,
    /// From the beginning of the phase until it is measured, in milliseconds.
    #[serde(default)]
    pub warm_up_ms: f64,
    /// The time between an operation's end and the beginning of the next one.
    #[serde(default)]
    pub think: Latency,
    /// When operations arrive, if that does not depend on the end of earlier ones.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// How often it is run, one after the other.
    #[serde(default = "once", deserialize_with = "bounds::repetitions")]
    pub repeat: u32,
}

const fn once() -> u32 {
    1
}

impl Workload {
    /// Whether its parts fit together, and a cluster.
    pub(super) fn check(&self, cluster: &Cluster) -> Result<(), Problem> {
        let servers = cluster.servers;
        for (number, directory) in self.directories.iter().enumerate() {
            let problem = |text: &str, key| below("directories", number, Problem::new(text), key);
            if !directory.buckets.is_power_of_two() {
                return Err(problem("this must be a power of two", "buckets"));
            }
            if directory.names == FileNames::RoundRobin && directory.buckets < u64::from(servers) {
                let text = format!(
                    "files alternate between servers only if each of {servers} servers has a bucket"
                );
                let wide = servers.next_power_of_two();
                let problem = Problem::new(text).suggest(format!("say `buckets = {wide}` or more"));
                return Err(below("directories", number, problem, "names"));
            }
            let earlier = &self.directories[..number];
            if earlier.iter().any(|other| other.name == directory.name) {
                return Err(problem("there is another directory of this name", "name"));
            }
        }
        if !self.wide.buckets.is_power_of_two() {
            let problem = Problem::new("this must be a power of two");
            return Err(problem.inside("buckets").inside("wide"));
        }
        if self.phases.is_empty() {
            return Err(Problem::new("there is no phase").inside("phases"));
        }
        for (number, phase) in self.phases.iter().enumerate() {
            let checked = self
                .check_phase(phase)
                .and_then(|()| check_file_size(phase, cluster.chunk));
            checked.map_err(|(problem, key)| below("phases", number, problem, key))?;
        }
        Ok(())
    }

    fn check_phase(&self, phase: &Phase) -> Result<(), (Problem, &'static str)> {
        if let Some(name) = &phase.directory
            && self.place(name).is_none()
        {
            let names = self.directories.iter().map(|d| d.name.as_str());
            let names: Vec<&str> = names.chain([ROOT]).collect();
            return Err((Problem::unknown("directory", name, &names), "directory"));
        }
        if phase.trace.is_some() {
            return check_trace(phase);
        }
        check_choice(phase)?;
        check_arrivals(phase)?;
        match &phase.data {
            Some(data) => {
                let shared = phase.directory.is_some();
                let checked = data.check(shared, !phase.mix.is_empty());
                checked.map_err(|problem| (problem, "data"))?;
            }
            None => check_mix(&phase.mix).map_err(|problem| (problem, "mix"))?,
        }
        let positive = |ms: f64| ms > 0.0 && ms < 1e9;
        match (phase.operations, phase.measured_ms) {
            (Some(0), None) => Err((Problem::new("this must be more than 0"), "operations")),
            (Some(_), Some(_)) => {
                let text = "a phase lasts for `operations` or for `measured_ms`, not both";
                Err((Problem::new(text), "measured_ms"))
            }
            (None, None) if phase.data.is_none() => {
                let text = "say how long the phase is: `operations` or `measured_ms`";
                Err((Problem::new(text), ""))
            }
            (None, Some(ms)) if !positive(ms) => Err((
                Problem::new(format!("{ms} must be more than 0")),
                "measured_ms",
            )),
            _ if !(0.0..1e9).contains(&phase.warm_up_ms) => {
                let text = format!("{} must be 0 or more", phase.warm_up_ms);
                Err((Problem::new(text), "warm_up_ms"))
            }
            _ => Ok(()),
        }
    }

    fn place(&self, name: &str) -> Option<Place> {
        if name == ROOT {
            return Some(Place::Root);
        }
        let place = self.directories.iter().position(|d| d.name == name);
        place.map(Place::Shared)
    }

    pub(super) fn world_directories(&self) -> Vec<world::Directory> {
        self.directories
            .iter()
            .map(|directory| world::Directory {
                name: directory.name.clone(),
                buckets: directory.buckets,
                known: directory.known,
                names: directory.names,
            })
            .collect()
    }

    /// The phases for so many clients.
    pub(super) fn world_phases(
        &self,
        clients: u32,
        traces: &Traces<'_>,
    ) -> Result<Vec<world::Phase>, Problem> {
        let mut phases: Vec<world::Phase> = Vec::new();
        for (number, phase) in self.phases.iter().enumerate() {
            let first = self.world_phase(phase, clients, traces, &phases);
            let first = first.map_err(|problem| in_phase(number, problem))?;
            let again = without_fill(first.clone());
            phases.push(first);
            phases.extend((1..phase.repeat).map(|_| again.clone()));
        }
        Ok(phases)
    }

    /// A phase for so many clients, after other phases.
    fn world_phase(
        &self,
        phase: &Phase,
        clients: u32,
        traces: &Traces<'_>,
        earlier: &[world::Phase],
    ) -> Result<world::Phase, Problem> {
        let named = phase.directory.as_ref().and_then(|name| self.place(name));
        let place = named.unwrap_or(Place::Own);
        let activity = match (&phase.trace, &phase.data) {
            (Some(file), _) => Activity::Trace(load_trace(traces, file, clients)?),
            (None, Some(data)) => Activity::Data(data.activity(clients, place, earlier)),
            (None, None) => Activity::Names(Mix {
                operations: phase.mix.clone().into_iter().collect(),
                common: phase.common,
                popularity: phase.popularity,
                file_bytes: phase.file_size.as_u64() as u32,
            }),
        };
        Ok(world::Phase {
            name: phase.name(),
            place,
            amount: phase.amount(&activity, clients),
            activity,
            think: phase.think,
            arrivals: phase.arrivals,
        })
    }
}

/// The same phase once more: what it reads has been written.
fn without_fill(mut phase: world::Phase) -> world::Phase {
    if let Activity::Data(data) = &mut phase.activity {
        data.fill = false;
    }
    phase
}

/// Reads a trace that so many clients are to perform.
fn load_trace(traces: &Traces<'_>, file: &Path, clients: u32) -> Result<Arc<Trace>, Problem> {
    let trace = traces.get(file)?;
    let processes = trace.processes.len();
    if processes <= clients as usize {
        return Ok(trace);
    }
    let text = format!("the trace has {processes} processes, more than the {clients} clients");
    Err(Problem::new(text).suggest(format!("say `cluster.clients = {processes}` or more")))
}

/// A mistake in a phase's trace, unless it is one in another file.
fn in_phase(number: usize, problem: Problem) -> Problem {
    match problem.origin {
        Some(_) => problem,
        None => below("phases", number, problem, "trace"),
    }
}

/// A file is created with at most one chunk of data.
fn check_file_size(phase: &Phase, chunk: ByteSize) -> Result<(), (Problem, &'static str)> {
    if phase.file_size <= chunk {
        return Ok(());
    }
    let (size, chunk) = (phase.file_size.display().iec(), chunk.display().iec());
    let text = format!("{size} are more than a chunk of the cluster, {chunk}");
    Err((Problem::new(text), "file_size"))
}

/// A trace says itself what is done, how often and when; a phase only says where.
fn check_trace(phase: &Phase) -> Result<(), (Problem, &'static str)> {
    let others = [
        ("mix", !phase.mix.is_empty()),
        ("data", phase.data.is_some()),
        ("common", phase.common > 0),
        ("popularity", phase.popularity != Popularity::Uniform),
        ("file_size", phase.file_size != ByteSize(0)),
        ("operations", phase.operations.is_some()),
        ("measured_ms", phase.measured_ms.is_some()),
        ("warm_up_ms", phase.warm_up_ms != 0.0),
        ("think", phase.think != Latency::ZERO),
        ("arrivals", phase.arrivals.is_some()),
        ("repeat", phase.repeat != 1),
    ];
    if let Some((key, _)) = others.into_iter().find(|(_, said)| *said) {
        let text = "a trace says itself what is done, how often and when";
        return Err((Problem::new(text), key));
    }
    if phase.directory.is_none() {
        let problem = Problem::new("a trace needs a directory that all clients share");
        let problem = problem.suggest("say `directory = …` in the phase, such as `\"/\"`");
        return Err((problem, "trace"));
    }
    Ok(())
}

/// Whether there is something to choose, where and how it is said.
fn check_choice(phase: &Phase) -> Result<(), (Problem, &'static str)> {
    if phase.common > 0 && phase.directory.is_none() {
        let problem = Problem::new("common files need a directory that all clients share");
        let problem = problem.suggest("say `directory = …` in the phase");
        return Err((problem, "common"));
    }
    if let Popularity::Zipf(exponent) = phase.popularity
        && !(exponent > 0.0 && exponent.is_finite())
    {
        let text = format!("{exponent} must be more than 0");
        return Err((Problem::new(text).inside("zipf"), "popularity"));
    }
    if phase.mix.keys().any(|kind| kind.chooses()) {
        return Ok(());
    }
    let text = "no operation of the mix chooses a file: `stat`, `lookup`, `open-close`, `read-file`, `link` and `exchange` do";
    match phase {
        Phase { common: 1.., .. } => Err((Problem::new(text), "common")),
        Phase {
            popularity: Popularity::Zipf(_),
            ..
        } => Err((Problem::new(text), "popularity")),
        _ => Ok(()),
    }
}

fn check_arrivals(phase: &Phase) -> Result<(), (Problem, &'static str)> {
    let Some(arrivals) = phase.arrivals else {
        return Ok(());
    };
    if !arrivals.is_valid() {
        let text = format!(
            "{} must be more than 0, and not more than {:.0}",
            arrivals.per_s,
            Arrivals::PER_S_MAX
        );
        return Err((Problem::new(text).inside("per_s"), "arrivals"));
    }
    if phase.think != Latency::ZERO {
        let text = "operations arrive by themselves, `arrivals`, or after `think`, not both";
        return Err((Problem::new(text), "think"));
    }
    Ok(())
}

fn check_mix(mix: &BTreeMap<OperationKind, u32>) -> Result<(), Problem> {
    if let Some(kind) = mix.keys().find(|kind| !kind.is_mixed()) {
        let name: &str = kind.into();
        let problem = Problem::new("this cannot be in a mix").inside(name);
        let of_data = matches!(kind, OperationKind::Write | OperationKind::Read);
        return Err(match of_data {
            true => problem.suggest(format!("say `data = {{ operation = \"{name}\" }}`")),
            false => problem.suggest("it can be in a trace"),
        });
    }
    if mix.values().all(|weight| *weight == 0) {
        let problem = Problem::new("some operation must have a weight above 0");
        return Err(problem.suggest("or say `data = …` for transfers of large files"));
    }
    Ok(())
}

/// A mistake in a part of a list.
fn below(list: &str, number: usize, problem: Problem, key: &str) -> Problem {
    let problem = match key {
        "" => problem,
        key => problem.inside(key),
    };
    problem.inside(number.to_string()).inside(list)
}

impl Phase {
    fn name(&self) -> String {
        let mut operations: Vec<&str> = self.mix.keys().map(|kind| kind.into()).collect();
        operations.extend(self.data.as_ref().map(|data| data.operation.name()));
        operations.extend(self.trace.as_ref().map(|_| "trace"));
        self.name.clone().unwrap_or_else(|| operations.join("+"))
    }

    fn amount(&self, activity: &Activity, clients: u32) -> Amount {
        let all = match activity {
            Activity::Data(data) => data.transfer_count(clients),
            Activity::Trace(trace) => trace.longest(),
            Activity::Names(_) => 1,
        };
        let ns = |ms: f64| (ms * 1e6) as u64;
        match self.measured_ms {
            Some(measured) => Amount::Duration {
                warm_up_ns: ns(self.warm_up_ms),
                measured_ns: ns(measured),
            },
            None => Amount::Operations(self.operations.unwrap_or(all)),
        }
    }
}
