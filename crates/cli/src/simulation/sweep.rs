//! Runs points side by side.

use anyhow::{Context, anyhow};
use futago_des::ranks::{Alone, Ranks};
use futago_lab::results::PointResult;
use futago_twin::{
    scenario::{Point, summarize},
    world::{self, RunOptions},
};
use std::{
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// How many points to run at a time: as asked for, or as many as cores allow.
pub fn jobs(asked: Option<usize>, points: &[Point]) -> usize {
    let threads = points.iter().map(|point| point.body.run.threads).max();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    asked
        .unwrap_or(cores / threads.unwrap_or(1).max(1) as usize)
        .max(1)
}

/// Runs one point together with all ranks.
pub fn run_point(point: &Point, ranks: &mut dyn Ranks) -> anyhow::Result<PointResult> {
    let options = RunOptions {
        executor: point.body.run.executor,
        threads: point.body.run.threads,
        watch: None,
    };
    let measured = world::run_on(&point.setup, &options, ranks);
    let measured = measured.with_context(|| describe(point))?;
    Ok(summarize(point, &measured))
}

fn describe(point: &Point) -> String {
    let parameters = point.parameters.iter();
    let parameters: Vec<String> = parameters
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("the point with {}", parameters.join(", "))
}

/// Runs points, `jobs` at a time, and gives each result with the point's place to `done`, in the
/// order in which they come. The first error ends it.
pub fn run(
    points: &[&Point],
    jobs: usize,
    mut done: impl FnMut(usize, PointResult) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (results, received) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.min(points.len()) {
            let (next, results) = (&next, results.clone());
            scope.spawn(move || {
                while let Some(place) = take(next, points.len()) {
                    let result = run_point(points[place], &mut Alone);
                    if results.send((place, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        let outcome = received
            .iter()
            .try_for_each(|(place, result)| done(place, result?));
        // No thread begins another point.
        next.store(points.len(), Ordering::Relaxed);
        outcome
    })
}

fn take(next: &AtomicUsize, count: usize) -> Option<usize> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    (place < count).then_some(place)
}

/// Runs all points and returns their results in their order.
pub fn run_all(
    points: &[Point],
    jobs: usize,
    mut progress: impl FnMut(),
) -> anyhow::Result<Vec<PointResult>> {
    let mut results = vec![None; points.len()];
    let all: Vec<&Point> = points.iter().collect();
    run(&all, jobs, |place, result| {
        results[place] = Some(result);
        progress();
        Ok(())
    })?;
    let results = results.into_iter().collect::<Option<Vec<_>>>();
    results.ok_or_else(|| anyhow!("a point ended without a result"))
}
