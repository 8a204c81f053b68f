//! The common part of the threads of a rank in every parallel executor.

use std::time::Instant;

use super::carrier::Station;
use super::failure::Failure;
use super::{Finished, Job, seconds_since};
use crate::Model;
use crate::fault::{Error, FailedEvent};
use crate::partition::Partition;
use crate::placement::PartitionMap;
use crate::ranks::Ranks;
use crate::sync::{Barrier, MailGrid};

/// The threads of a rank, one for each of its partitions; `T` is their message.
pub(super) struct Team<'a, M, T> {
    pub job: &'a Job<'a, M>,
    pub partition_map: PartitionMap,
    pub station: Station,
    pub mail: MailGrid<T>,
    barrier: Barrier,
    failure: Failure,
}

/// The ranks, for the one thread that communicates with them.
pub(super) type Line<'r> = Option<&'r mut dyn Ranks>;

impl<'a, M: Model, T: Send> Team<'a, M, T> {
    pub fn new(job: &'a Job<'a, M>, ranks: &dyn Ranks) -> Self {
        let station = Station::new(ranks, job.settings.threads);
        Team {
            job,
            partition_map: job.partition_map(station.partitions() as u32),
            station,
            mail: MailGrid::new(station.threads, station.partitions()),
            barrier: Barrier::new(station.threads),
            failure: Failure::default(),
        }
    }

    /// Makes every thread `work` on its partition; the first one gets the ranks. Returns the
    /// partitions, and the seconds without building them.
    pub fn run<W>(&self, ranks: &mut dyn Ranks, work: W) -> (Vec<Partition<M::Process>>, f64)
    where
        W: Fn(usize, Partition<M::Process>, Line<'_>) -> Partition<M::Process> + Sync,
    {
        let work = &work;
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.station.threads)
                .map(|thread| scope.spawn(move || self.time(thread, None, work).0))
                .collect();
            let (leader, wall_s) = self.time(0, Some(ranks), work);
            let mut partitions = vec![leader];
            // Workers catch the panics of models, so the panic of a thread is a defect of the
            // engine.
            partitions.extend(others.into_iter().map(|worker| match worker.join() {
                Ok(partition) => partition,
                Err(panic) => std::panic::resume_unwind(panic),
            }));
            (partitions, wall_s)
        })
    }

    fn time<W>(&self, thread: usize, line: Line<'_>, work: &W) -> (Partition<M::Process>, f64)
    where
        W: Fn(usize, Partition<M::Process>, Line<'_>) -> Partition<M::Process>,
    {
        let me = self.station.partition(thread) as u32;
        let partition = self.job.partition(self.partition_map.members(me));
        self.barrier.wait();
        let start = Instant::now();
        (work(thread, partition, line), seconds_since(start))
    }

    /// Waits for all threads. If there are other ranks, the thread with the ranks then runs `carry`
    /// while the rest waits. If that fails, it runs `give_up`.
    pub fn meet(
        &self,
        line: &mut Line<'_>,
        carry: impl FnOnce(&mut dyn Ranks) -> Result<(), Error>,
        give_up: impl FnOnce(),
    ) {
        self.barrier.wait();
        if self.station.is_alone() {
            return;
        }
        if let Some(ranks) = line
            && let Err(error) = carry(&mut **ranks)
        {
            self.failure.of_ranks(error);
            give_up();
        }
        self.barrier.wait();
    }

    /// Passes all mail for `thread` to `deliver`; `batch` is empty before and after.
    pub fn take_mail(&self, thread: usize, batch: &mut Vec<T>, mut deliver: impl FnMut(T)) {
        let me = self.station.partition(thread);
        for from in 0..self.station.threads {
            self.mail.take(from, me, batch);
            batch.drain(..).for_each(&mut deliver);
        }
    }

    /// Records a failure; returns true if there is one.
    pub fn has_failed(&self, outcome: Result<(), FailedEvent>) -> bool {
        outcome
            .map_err(|failed| self.failure.of_event(failed))
            .is_err()
    }

    /// Ends the run.
    pub fn finish(
        self,
        partitions: Vec<Partition<M::Process>>,
        wall_s: f64,
    ) -> (Option<PartitionMap>, Finished<M::Process>) {
        let error = self.failure.into_error(self.job.model);
        let finished = Finished {
            partitions,
            wall_s,
            error,
        };
        (Some(self.partition_map), finished)
    }
}
