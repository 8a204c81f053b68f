//! Several processes that `mpirun` or `srun` started, on one scenario.

use super::sweep;
use anyhow::{Context, anyhow};
use futago_des::ranks::Ranks;
use futago_lab::results::PointResult;
use futago_twin::scenario::Point;

/// This process among those that mpirun started.
pub fn start() -> anyhow::Result<Box<dyn Ranks>> {
    #[cfg(feature = "mpi")]
    return Ok(Box::new(futago_des::ranks::MpiRanks::start()?));
    #[cfg(not(feature = "mpi"))]
    Err(crate::exit::Problem::error(
        crate::exit::Exit::Usage,
        "--mpi: this program was built without MPI; build it with `--features mpi`",
    ))
}

/// Runs all points: a single one on all ranks together, several dealt out to the ranks, `jobs` at a
/// time on each. All ranks get all results.
pub fn run_all(
    points: &[Point],
    jobs: usize,
    ranks: &mut dyn Ranks,
) -> anyhow::Result<Vec<PointResult>> {
    if let [point] = points {
        return Ok(vec![sweep::run_point(point, ranks)?]);
    }
    let (rank, count) = (ranks.rank() as usize, ranks.count() as usize);
    let own: Vec<Point> = points.iter().skip(rank).step_by(count).cloned().collect();
    // A rank that fails must still take part in the exchange, or the others would wait for ever.
    let mine = sweep::run_all(&own, jobs, || ());
    let mine = mine.as_ref().map_err(|error| format!("{error:#}"));
    let mine = serde_json::to_vec(&mine)?;
    let parts = ranks.exchange(vec![mine; count])?;
    let parts = parts.iter().map(|part| {
        let part: Result<Vec<PointResult>, String> = serde_json::from_slice(part)?;
        part.map_err(|error| anyhow!(error))
    });
    let parts: Vec<Vec<PointResult>> = parts.collect::<anyhow::Result<_>>()?;
    let place = |number: usize| parts.get(number % count)?.get(number / count).cloned();
    let all: Option<Vec<PointResult>> = (0..points.len()).map(place).collect();
    all.context("a rank has not run all its points")
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_des::ranks::in_process;
    use futago_twin::scenario::Scenario;
    use std::path::Path;

    const SCENARIO: &str = "
        cluster = { servers = 1, clients = 1 }
        machine.preset = 'ppmds'
        workload.phases = [{ mix = { create = 3, stat = 1 }, operations = 37 }]
        sweep.'cluster.clients' = { from = 1, to = 12, step = 1 }";

    #[test]
    fn points_are_dealt_out_and_come_back_in_order() {
        let scenario = Scenario::parse("s.toml", SCENARIO, Path::new("."), &[]).unwrap();
        let points = scenario.points().unwrap();
        let alone = sweep::run_all(&points, 1, || ()).unwrap();
        let together: Vec<Vec<PointResult>> = std::thread::scope(|scope| {
            let ranks = in_process(2).into_iter();
            let ranks = ranks.map(|mut rank| {
                let points = &points;
                scope.spawn(move || run_all(points, 1, &mut rank).unwrap())
            });
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        // To the last digit, though the results of other ranks have been text.
        let summary = |results: &[PointResult]| -> Vec<_> {
            let of = |result: &PointResult| (result.digest.clone(), result.throughput.clone());
            results.iter().map(of).collect()
        };
        for results in together {
            assert_eq!(summary(&results), summary(&alone));
        }
    }
}
