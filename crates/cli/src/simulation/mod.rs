//! Simulations: the points of a scenario, run side by side, and by several processes together.

mod computation;
mod grown;
mod handover;
pub mod local_cluster;
mod paced;
mod part;
pub mod ranks;
pub mod real;
pub mod refusal;
mod replay;
pub mod surroundings;
pub mod sweep;
mod totals;

use crate::exit::{Exit, Problem};
use futago_lab::document;
use futago_twin::scenario::{Point, Scenario};
use std::path::Path;

/// The program and its version, as reports name it.
pub const VERSION: &str = concat!("futago ", env!("CARGO_PKG_VERSION"));

/// The points of a scenario file with options laid over it.
pub fn points(path: &Path, options: &[String]) -> anyhow::Result<Vec<Point>> {
    let scenario = Scenario::load(path, options).map_err(mistake)?;
    scenario.points().map_err(mistake)
}

/// All that the first point's scenario says; nothing if there is no point.
pub fn first_document(points: &[Point]) -> serde_json::Value {
    let first = points.first();
    first.map_or_else(Default::default, |point| point.document.clone())
}

/// A mistake in a file or an option is wrong usage.
pub fn mistake(problem: document::Problem) -> anyhow::Error {
    Problem::error(Exit::Usage, problem.to_string())
}

/// A hash of the running program: results of another build are others.
pub fn fingerprint() -> anyhow::Result<String> {
    let program = std::fs::read(std::env::current_exe()?)?;
    Ok(format!(
        "{VERSION} ({:016x})",
        xxhash_rust::xxh3::xxh3_64(&program)
    ))
}
