//! An operation under way: not a suspended future but the record of what has happened to it.

use super::leaves::{Answer, Leaves};
use super::operation::{Done, Operation};
use crate::world::Setup;
use futago_base::{ClusterMap, Errno, SessionId, Time};
use futago_client::{Client, Config, Memory};
use futago_driver::Calls;
use serde::Serialize;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// An operation under way.
///
/// The operation's future lives no longer than an event: each event runs the operation again from
/// its beginning, through all that has happened to it, and one step further. So a task is plain
/// data, which can be sent to another thread, serialized, and brought back to an earlier state by
/// forgetting its last steps. Operations take a handful of steps, and running them again costs less
/// than keeping them would.
#[derive(Debug, Serialize)]
pub struct Task {
    pub operation: Operation,
    /// When it arrived, and when it began.
    pub arrived_ns: u64,
    pub began_ns: u64,
    random: u64,
    steps: Vec<Step>,
    /// The sequence numbers that it has drawn.
    sequences: Vec<u64>,
    /// When it wants to go on without an answer.
    pub wake: Option<Time>,
}

/// A moment in which the operation went on.
#[derive(Clone, Debug, Serialize)]
struct Step {
    now: Time,
    session: SessionId,
    answer: Option<Answer>,
}

/// How far a task was.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    steps: usize,
    sequences: usize,
    wake: Option<Time>,
}

/// How an operation has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub outcome: Result<Done, Errno>,
    /// It has waited for something.
    pub waited: bool,
    /// Attempts that came to nothing before.
    pub retries: u32,
}

/// The tools of an operation.
pub struct Tools<'a> {
    pub client: u32,
    pub map: &'a ClusterMap,
    pub setup: &'a Setup,
    pub config: Config,
    pub calls: &'a mut Calls,
    pub memory: &'a mut Memory,
}

impl Task {
    /// An operation that has not begun.
    pub const fn new(operation: Operation, began_ns: u64, random: u64) -> Self {
        Self {
            operation,
            arrived_ns: began_ns,
            began_ns,
            random,
            steps: Vec::new(),
            sequences: Vec::new(),
            wake: None,
        }
    }

    /// How far it is.
    pub const fn progress(&self) -> Progress {
        Progress {
            steps: self.steps.len(),
            sequences: self.sequences.len(),
            wake: self.wake,
        }
    }

    /// Brings it back to where it was.
    pub fn take_back(&mut self, to: Progress) {
        self.steps.truncate(to.steps);
        self.sequences.truncate(to.sequences);
        self.wake = to.wake;
    }

    /// Whether one of its calls has this number.
    pub fn has_drawn(&self, sequence: u64) -> bool {
        self.sequences.contains(&sequence)
    }

    /// Goes on, with an answer or because time has passed. Returns how the operation ended, if it
    /// did. The memory changes only if it did; the changes have been recorded.
    pub fn go_on(&mut self, now: Time, answer: Option<Answer>, tools: Tools<'_>) -> Option<Ended> {
        let session = tools.calls.session();
        self.steps.push(Step {
            now,
            session,
            answer,
        });
        let leaves = Leaves::new(tools.calls, &mut self.sequences, self.random);
        let outcome = {
            let lent = Lent::new(&leaves, tools.map, tools.config, tools.memory);
            let ended = lent.core().map(|core| {
                let performed = self.operation.perform(core, tools.client, tools.setup);
                replay(pin!(performed), &leaves, &self.steps)
            });
            ended.flatten()
        };
        self.wake = leaves.wake();
        if outcome.is_none() {
            let changes = tools.memory.take_changes();
            tools.memory.take_back(changes);
        }
        let retries = leaves.pauses();
        let waited = self.steps.len() > 1;
        outcome.map(|outcome| Ended {
            outcome,
            waited,
            retries,
        })
    }
}

/// A core with a memory that is lent to it, and comes back even if the core panics: what runs ahead
/// may meet what never happens.
struct Lent<'a, 'b> {
    core: Option<Client<&'a Leaves<'b>>>,
    memory: &'a mut Memory,
}

impl<'a, 'b> Lent<'a, 'b> {
    fn new(
        leaves: &'a Leaves<'b>,
        map: &ClusterMap,
        config: Config,
        memory: &'a mut Memory,
    ) -> Self {
        let lent = std::mem::replace(memory, Memory::new(&config));
        let core = Client::with_memory(leaves, map.clone(), config, lent);
        Self {
            core: Some(core),
            memory,
        }
    }

    const fn core(&self) -> Option<&Client<&'a Leaves<'b>>> {
        self.core.as_ref()
    }
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            *self.memory = core.into_memory();
        }
    }
}

/// Runs an operation from its beginning through all steps; the last one is live.
fn replay<T>(
    mut future: Pin<&mut impl Future<Output = T>>,
    leaves: &Leaves<'_>,
    steps: &[Step],
) -> Option<T> {
    let mut ended = None;
    for (index, step) in steps.iter().enumerate() {
        debug_assert!(ended.is_none(), "it goes on after its end");
        let live = index + 1 == steps.len();
        leaves.begin(step.now, step.session, step.answer.clone(), live);
        let polled = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(result) = polled {
            ended = Some(result);
        }
    }
    ended
}
