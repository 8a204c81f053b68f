//! One thread, one queue: the reference for the other executors.

use std::time::Instant;

use super::{Finished, Job, seconds_since};
use crate::event::{Event, ProcessId};
use crate::fault::{Error, FailedEvent, Fault};
use crate::partition::{Partition, Route};
use crate::placement::PartitionMap;
use crate::queue::Queue;
use crate::ranks::Ranks;
use crate::{Model, Time};

pub(super) fn run<M: Model>(
    job: &Job<'_, M>,
    ranks: &mut dyn Ranks,
) -> Result<(Option<PartitionMap>, Finished<M::Process>), Error> {
    let count = if ranks.rank() == 0 {
        job.model.process_count()
    } else {
        0
    };
    let mut partition = job.partition((0..count).map(ProcessId));
    let start = Instant::now();
    let error = run_all(job, &mut partition).err();
    let finished = Finished {
        partitions: vec![partition],
        wall_s: seconds_since(start),
        error: error.map(|failed| failed.into_error(job.model)),
    };
    Ok((None, finished))
}

fn run_all<M: Model>(
    job: &Job<'_, M>,
    partition: &mut Partition<M::Process>,
) -> Result<(), FailedEvent> {
    partition.start(&mut Here)?;
    job.run_before(Time::MAX, 0, partition, &mut Here)?;
    job.finish(0, partition)
}

/// The route of a single partition: the index of a process is its number.
pub(crate) struct Here;

impl<E> Route<E> for Here {
    #[inline]
    fn route(&mut self, queue: &mut Queue<E>, _: Time, event: Event<E>) -> Result<(), Fault> {
        queue.push(event);
        Ok(())
    }
}
