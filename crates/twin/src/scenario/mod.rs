//! Scenarios: a cluster, a machine, a workload, and which of their parameters to vary, as a TOML
//! file.
//!
//! [`Scenario::load`] reads one, with values given on the command line laid over it;
//! [`Scenario::points`] gives a [`Point`] for every combination of the varied parameters and every
//! seed, each ready to be [run](crate::world).

mod base;
mod body;
mod cluster;
mod data;
mod result;
mod sweep;
mod traces;
mod workload;

pub use body::{Body, Limits, Run};
pub use cluster::{Cluster, Medium, ProtocolSettings};
pub use data::{Data, Files};
pub use result::summarize;
pub use workload::{Directory, Phase, Workload};

use crate::world::{Activity, Setup};
use futago_lab::document::{Node, Problem};
use std::{collections::BTreeMap, path::Path};
use sweep::Assignment;
use traces::Traces;

/// A scenario file that has been read, with what was set on the command line.
#[derive(Clone, Debug)]
pub struct Scenario {
    document: Node,
    options: Vec<Assignment>,
    directory: std::path::PathBuf,
}

/// One combination of parameters.
#[derive(Clone, Debug)]
pub struct Point {
    /// The parameters that distinguish it from other points, by the keys of the scenario file: the
    /// number of servers and clients, the seed, swept values and values from the command line.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// All of the scenario with these parameters in their places.
    pub document: serde_json::Value,
    /// The scenario.
    pub body: Body,
    /// The setup of the simulation.
    pub setup: Setup,
}

impl Scenario {
    /// Reads a scenario file and lays options of the form `KEY=VALUE` over it.
    pub fn load(path: &Path, options: &[String]) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problem::new(format!("cannot read the scenario {name}: {error}")))?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Self::parse(&name, &text, directory, options)
    }

    /// Reads a scenario from its text. `name` stands for it in errors; machine files are looked for
    /// from `directory` on.
    pub fn parse(
        name: &str,
        text: &str,
        directory: &Path,
        options: &[String],
    ) -> Result<Self, Problem> {
        let options = options.iter().map(|option| Assignment::parse(option));
        let options: Vec<Assignment> = options.collect::<Result<_, _>>()?;
        let (of_sweep, options): (Vec<_>, Vec<_>) =
            options.into_iter().partition(Assignment::changes_sweep);
        let mut document = Node::parse(name, text)?;
        for assignment in of_sweep {
            assignment.apply(&mut document)?;
        }
        Ok(Self {
            document,
            options,
            directory: directory.to_owned(),
        })
    }

    /// All points, in the order of the sweep.
    pub fn points(&self) -> Result<Vec<Point>, Problem> {
        let mut document = self.document.clone();
        let sweep = document.take("sweep");
        let plain = self.body(&document, &[])?;
        let axes = sweep::axes(sweep.as_ref(), &self.options)?;
        sweep::check_size(&axes, plain.1.run.seeds.len(), plain.1.limits.points)
            .map_err(|problem| self.document.locate(problem))?;
        let combinations = sweep::combinations(&axes);
        let traces = Traces::new(&self.directory);
        let points = combinations
            .iter()
            .map(|combination| self.seeds(&document, combination, &traces));
        let points: Vec<Vec<Point>> = points.collect::<Result<_, _>>()?;
        Ok(points.into_iter().flatten().collect())
    }

    /// The document with all parameters in their places, and what it says.
    fn body(&self, document: &Node, varied: &[Assignment]) -> Result<(Node, Body), Problem> {
        let mut document = document.clone();
        let all = || self.options.iter().chain(varied);
        for assignment in all().filter(|assignment| assignment.chooses_machine()) {
            assignment.apply(&mut document)?;
        }
        base::lay_under(&mut document, &self.directory)?;
        for assignment in all().filter(|assignment| !assignment.chooses_machine()) {
            assignment.apply(&mut document)?;
        }
        let body: Body = document.read()?;
        body.check().map_err(|problem| document.locate(problem))?;
        Ok((document, body))
    }

    /// The points of one combination: one for every seed.
    fn seeds(
        &self,
        document: &Node,
        varied: &[Assignment],
        traces: &Traces<'_>,
    ) -> Result<Vec<Point>, Problem> {
        let (document, body) = self.body(document, varied)?;
        let mut parameters = BTreeMap::from([
            ("cluster.servers".to_owned(), body.cluster.servers.into()),
            ("cluster.clients".to_owned(), body.cluster.clients.into()),
        ]);
        for assignment in self.options.iter().chain(varied) {
            parameters.insert(assignment.key.clone(), assignment.node.to_json());
        }
        let point = |seed: &u64| {
            let setup = body.setup(*seed, traces);
            let setup = setup.map_err(|p| document.locate(p))?;
            let mut parameters = parameters.clone();
            parameters.insert("seed".to_owned(), (*seed).into());
            Ok(Point {
                parameters,
                document: with_traces(document.to_json(), &setup),
                body: body.clone(),
                setup,
            })
        };
        body.run.seeds.iter().map(point).collect()
    }
}

/// A scenario with what stands for its traces, so that points of other traces are other points.
fn with_traces(mut document: serde_json::Value, setup: &Setup) -> serde_json::Value {
    let digests = setup
        .phases
        .iter()
        .filter_map(|phase| match &phase.activity {
            Activity::Trace(trace) => Some(trace.digest.as_str()),
            _ => None,
        });
    let digests: Vec<&str> = digests.collect();
    if !digests.is_empty() {
        document["traces"] = digests.into();
    }
    document
}

#[cfg(test)]
mod tests;
