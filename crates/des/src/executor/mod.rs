//! Three executors for the same events.

mod carrier;
mod conservative;
mod failure;
pub(crate) mod optimistic;
pub(crate) mod sequential;
mod team;

use std::time::Instant;

use crate::context::Limits;
use crate::event::ProcessId;
use crate::fault::{Error, FailedEvent};
use crate::partition::{Partition, Route, Slot};
use crate::placement::PartitionMap;
use crate::ranks::{Alone, Ranks, share};
use crate::settings::{Executor, Settings};
use crate::watch::{Reading, RunShape, Statistics, Tally, TraceRow};
use crate::{Model, Process, Time, Topology};

/// The number of events between two progress reports of a run without other interruptions.
const STRIDE: u32 = 16_384;

/// The results of a run.
#[derive(Debug)]
pub struct Outcome<P> {
    /// The statistics of the run, over all ranks.
    pub statistics: Statistics,
    /// The processes of this rank in their final state, by number.
    pub processes: Vec<(ProcessId, P)>,
    /// The committed events of this rank in order, if [`Settings::trace`] asked for them.
    pub trace: Vec<TraceRow>,
}

/// Runs the model in this operating-system process.
///
/// # Errors
///
/// If the settings are invalid, or an event fails: see [`Error`].
pub fn run<M: Model>(model: &M, settings: &Settings) -> Result<Outcome<M::Process>, Error> {
    run_on(model, settings, &mut Alone)
}

/// Runs the model together with other ranks, which all must call this with the same model and
/// settings.
///
/// # Errors
///
/// As [`run`], on all ranks if it happens on one.
pub fn run_on<M: Model>(
    model: &M,
    settings: &Settings,
    ranks: &mut dyn Ranks,
) -> Result<Outcome<M::Process>, Error> {
    settings.check(model.process_count())?;
    let topology = model.topology();
    let job = Job {
        model,
        settings,
        topology: &topology,
    };
    let (partition_map, finished) = match settings.executor {
        Executor::Sequential => sequential::run(&job, ranks),
        Executor::Conservative => conservative::run(&job, ranks),
        Executor::Optimistic => optimistic::run(&job, ranks),
    }?;
    let Finished {
        partitions,
        wall_s,
        error,
    } = finished;
    let local: Vec<Tally> = partitions.iter().map(|part| part.tally.clone()).collect();
    let tallies = gather_tallies(ranks, error, local)?;
    let lookahead =
        partition_map.and_then(|partition_map| partition_map.effective_lookahead(model, &topology));
    let shape = RunShape {
        settings,
        ranks: ranks.count(),
        lookahead,
        wall_s,
    };
    let statistics = Statistics::new(model, shape, &tallies);
    Ok(Outcome::new(statistics, partitions))
}

/// The tallies of all partitions of all ranks, or the first error of any.
fn gather_tallies(
    ranks: &mut dyn Ranks,
    error: Option<Error>,
    local: Vec<Tally>,
) -> Result<Vec<Tally>, Error> {
    let mine = error
        .as_ref()
        .map_or(Ok(local), |error| Err(error.to_string()));
    let all: Vec<Result<Vec<Tally>, String>> = share(ranks, &mine)?;
    if let Some(error) = error {
        return Err(error);
    }
    let mut tallies = Vec::new();
    for (rank, theirs) in all.into_iter().enumerate() {
        tallies.extend(theirs.map_err(|cause| Error::Ranks(format!("rank {rank}: {cause}")))?);
    }
    Ok(tallies)
}

impl<P: Process> Outcome<P> {
    fn new(statistics: Statistics, partitions: Vec<Partition<P>>) -> Self {
        let mut processes = Vec::new();
        let mut trace = Vec::new();
        for partition in partitions {
            processes.extend(
                partition
                    .slots
                    .into_iter()
                    .map(|slot| (slot.id, slot.process)),
            );
            trace.extend(partition.trace.into_iter().flatten());
        }
        processes.sort_unstable_by_key(|(id, _)| *id);
        trace.sort_unstable();
        Outcome {
            statistics,
            processes,
            trace,
        }
    }
}

/// The model and the settings of a run.
pub(crate) struct Job<'a, M> {
    pub model: &'a M,
    pub settings: &'a Settings,
    pub topology: &'a Topology,
}

impl<M: Model> Job<'_, M> {
    pub fn limits(&self) -> Limits {
        Limits {
            process_count: self.model.process_count(),
            end: self.settings.end,
            zero_delay_depth: self.settings.zero_delay_depth,
        }
    }

    pub fn partition(&self, members: impl Iterator<Item = ProcessId>) -> Partition<M::Process> {
        let slots = members
            .map(|id| Slot::new(self.model, self.settings.seed, id))
            .collect();
        Partition::new(slots, self.limits(), self.settings.trace)
    }

    fn partition_map(&self, partitions: u32) -> PartitionMap {
        PartitionMap::new(
            self.model,
            self.topology,
            self.settings.placement,
            partitions,
        )
    }

    /// Executes the certain events of the partition before `bound`, and reports the progress of the
    /// thread.
    fn run_before(
        &self,
        bound: Time,
        thread: usize,
        partition: &mut Partition<M::Process>,
        route: &mut impl Route<<M::Process as Process>::Event>,
    ) -> Result<(), FailedEvent> {
        while !partition.run_before(bound, STRIDE, route)? {
            self.show(thread, || Reading::certain(partition.time(), partition));
        }
        let reached = bound.min(self.settings.end);
        self.show(thread, || Reading::certain(reached, partition));
        Ok(())
    }

    /// Ends the run of the partition, and reports that no event remains.
    fn finish(
        &self,
        thread: usize,
        partition: &mut Partition<M::Process>,
    ) -> Result<(), FailedEvent> {
        partition.finish(self.settings.end)?;
        self.show(thread, || Reading::certain(self.settings.end, partition));
        Ok(())
    }

    /// Reports the progress of a thread, if a watch is set.
    fn show(&self, thread: usize, reading: impl FnOnce() -> Reading) {
        if let Some(watch) = &self.settings.watch {
            watch.report(thread, reading());
        }
    }
}

/// The part of a run on this rank.
struct Finished<P: Process> {
    partitions: Vec<Partition<P>>,
    wall_s: f64,
    error: Option<Error>,
}

/// Wall-clock seconds since `start`.
fn seconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}
