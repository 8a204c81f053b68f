//! A sequential run in which random processes roll back by random numbers of events.

use std::collections::BTreeMap;

use super::fields::Fields;
use super::{Broken, Difference};
use crate::event::{EventKey, ProcessId};
use crate::executor::Job;
use crate::executor::optimistic::{Post, TimeWarp};
use crate::fault::{Error, FailedEvent};
use crate::placement::PartitionMap;
use crate::{Model, Process, RandomStream, Settings};

/// The mean number of events between two injected rollbacks; with fewer, the run would make little
/// progress.
const EVENTS_BETWEEN_ROLLBACKS: u64 = 8;
/// The most events that one rollback undoes.
const LONGEST_ROLLBACK: u64 = 6;
/// Events between two commits.
const EVENTS_BETWEEN_COMMITS: u64 = 200;

/// A run and the former states of its processes.
struct Rehearsal<'a, M: Model> {
    model: &'a M,
    warp: TimeWarp<M::Process>,
    post: Post<'a, <M::Process as Process>::Event>,
    /// For each event since the last commit: the process before it, and the event.
    before: BTreeMap<EventKey, (Fields, String)>,
    random: RandomStream,
}

/// Returns the number of undone events, and the digest.
pub(super) fn check<M: Model>(model: &M, settings: &Settings) -> Result<(u64, String), Broken> {
    let topology = model.topology();
    let job = Job {
        model,
        settings,
        topology: &topology,
    };
    let partition_map = PartitionMap::new(model, &topology, settings.placement, 1);
    let failed = |failed: FailedEvent| Broken::Run(failed.into_error(model));
    let mut post = Post::new(&partition_map, 0);
    let mut partition = job.partition(partition_map.members(0));
    partition.start(&mut post).map_err(failed)?;
    let mut rehearsal = Rehearsal {
        model,
        warp: TimeWarp::new(partition),
        post,
        before: BTreeMap::new(),
        random: RandomStream::new(settings.seed, ProcessId(u32::MAX)),
    };
    while let Some(first) = rehearsal.warp.first_key() {
        rehearsal.step()?;
        if rehearsal.random.below(EVENTS_BETWEEN_COMMITS) == 0 {
            rehearsal.warp.commit_before(first, 0).map_err(failed)?;
            // Undos do not restore the effects of commits.
            rehearsal.before.clear();
        }
    }
    rehearsal
        .warp
        .commit_before(EventKey::MAX, 0)
        .map_err(failed)?;
    let mut partition = rehearsal.warp.into_partition();
    partition.finish(settings.end).map_err(failed)?;
    Ok((
        partition.tally.events_rolled_back,
        format!("{:016x}", partition.tally.digest),
    ))
}

impl<M: Model> Rehearsal<'_, M> {
    /// Executes an event, and may undo some.
    fn step(&mut self) -> Result<(), Broken> {
        let Some((head, payload)) = self.warp.first_event() else {
            return Ok(());
        };
        let index = head.destination as usize;
        let event = fields(payload)?.line();
        let state = fields(&self.warp.partition().slots[index].process)?;
        if self.warp.has_executed_after(index, head.key()) {
            // The process is about to roll back to before this event; its state there is unknown.
            self.before.remove(&head.key());
        } else {
            self.before.insert(head.key(), (state, event));
        }
        self.warp.execute_next(|_| true, &mut self.post);
        if self.random.below(EVENTS_BETWEEN_ROLLBACKS) == 0 {
            let count = 1 + self.random.below(LONGEST_ROLLBACK);
            let victim = self.random.below(u64::from(self.model.process_count())) as usize;
            let chosen = if self.random.chance(0.5) {
                victim
            } else {
                index
            };
            self.undo_last(chosen, count)?;
        }
        Ok(())
    }

    fn undo_last(&mut self, index: usize, count: u64) -> Result<(), Broken> {
        let Some(key) = self.warp.undo_last(index, count, &mut self.post) else {
            return Ok(());
        };
        let Some((before, event)) = self.before.get(&key) else {
            return Ok(());
        };
        let slot = &self.warp.partition().slots[index];
        match before.difference(&fields(&slot.process)?) {
            None => Ok(()),
            Some((field, first, second)) => Err(Broken::NotRestored(Box::new(Difference {
                process: self.model.name(slot.id),
                event: event.clone(),
                time: key.time(),
                field,
                first,
                second,
            }))),
        }
    }
}

fn fields<T: serde::Serialize>(value: &T) -> Result<Fields, Broken> {
    Fields::of(value).map_err(|error| {
        Broken::Run(Error::Settings(format!(
            "a process or event cannot be serialized: {error}"
        )))
    })
}
