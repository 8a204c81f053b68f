//! A sequential run in which random processes go back by random numbers of events.

use std::collections::BTreeMap;

use super::fields::Fields;
use super::{Broken, Difference};
use crate::event::{EventKey, ProcessId};
use crate::executor::Job;
use crate::executor::optimistic::{Post, TimeWarp};
use crate::fault::{Error, FailedEvent};
use crate::placement::Seating;
use crate::{Model, Process, RandomStream, Settings};

/// Events between two injected rollbacks, on average; less would hardly get anywhere.
const EVENTS_BETWEEN_ROLLBACKS: u64 = 8;
/// The most events that one process is taken back by.
const LONGEST_ROLLBACK: u64 = 6;
/// Events between two commits.
const EVENTS_BETWEEN_COMMITS: u64 = 200;

/// A run and what the processes looked like.
struct Rehearsal<'a, M: Model> {
    model: &'a M,
    warp: TimeWarp<M::Process>,
    post: Post<'a, <M::Process as Process>::Event>,
    /// By event executed since the last commit: the process before it, and the event.
    before: BTreeMap<EventKey, (Fields, String)>,
    random: RandomStream,
}

/// Returns the number of events taken back, and the digest.
pub(super) fn check<M: Model>(model: &M, settings: &Settings) -> Result<(u64, String), Broken> {
    let topology = model.topology();
    let job = Job {
        model,
        settings,
        topology: &topology,
    };
    let seating = Seating::new(model, &topology, settings.placement, 1);
    let failed = |failed: FailedEvent| Broken::Run(failed.into_error(model));
    let mut post = Post::new(&seating, 0);
    let mut partition = job.partition(seating.members(0));
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
            // What commits leave in a process is not for undos to take away.
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
    /// Executes an event, and perhaps takes some back.
    fn step(&mut self) -> Result<(), Broken> {
        let Some((head, payload)) = self.warp.first_event() else {
            return Ok(());
        };
        let index = head.destination as usize;
        let event = fields(payload)?.line();
        let state = fields(&self.warp.partition().slots[index].process)?;
        if self.warp.has_executed_after(index, head.key()) {
            // The process is about to go back to before this event; how it looks then is unknown.
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
            self.take_back(chosen, count)?;
        }
        Ok(())
    }

    fn take_back(&mut self, index: usize, count: u64) -> Result<(), Broken> {
        let Some(key) = self.warp.take_back(index, count, &mut self.post) else {
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
