//! An operation under way: not a suspended future but the record of what has happened to it.

use super::leaves::{Answer, Asked, Copied, Leaves, Recalled, Step};
use super::operation::{Done, Operation};
use super::sharing::{Parked, Ready};
use crate::world::Setup;
use futago_base::{ClusterMap, Errno, Payload, Time};
use futago_client::{Client, Config, Memory, Served};
use futago_driver::Calls;
use futago_wire::SharingCounters;
use serde::Serialize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

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

/// A message that an operation has waited for.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "most are answers, and all are passed on at once"
)]
pub enum Incoming {
    /// The answer of a server.
    Answer(Answer),
    /// A message of another client.
    Copied(Box<Copied>),
    /// A server recalls leases, which the client returns beside the operation.
    Recalled(Box<Recalled>),
}

impl Incoming {
    /// The number of the request that it belongs to.
    pub const fn sequence(&self) -> Option<u64> {
        match self {
            Self::Answer(answer) => Some(answer.sequence),
            Self::Copied(copied) => Some(copied.sequence),
            Self::Recalled(_) => None,
        }
    }
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
    /// The data that it has read from servers and from other clients, in bytes.
    pub sources: Sources,
}

/// Where data came from, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources {
    pub servers: u64,
    pub clients: u64,
}

impl Sources {
    /// Those between two counts.
    const fn between(before: &SharingCounters, after: &SharingCounters) -> Self {
        Self {
            servers: after.bytes_from_servers - before.bytes_from_servers,
            clients: after.bytes_from_peers - before.bytes_from_peers,
        }
    }
}

/// The tools of an operation.
pub struct Tools<'a> {
    pub client: u32,
    pub map: &'a ClusterMap,
    pub setup: &'a Setup,
    pub config: Config,
    /// The host of a client that shares its cache.
    pub host: Option<u32>,
    pub calls: &'a mut Calls,
    pub memory: &'a mut Memory,
    /// Requests to other clients.
    pub asked: &'a mut Vec<Asked>,
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
    pub fn go_on(
        &mut self,
        now: Time,
        incoming: Option<Incoming>,
        tools: Tools<'_>,
    ) -> Option<Ended> {
        self.begin_step(now, incoming, tools.calls);
        let leaves = Leaves::new(tools.calls, &mut self.sequences, self.random, tools.host);
        let outcome = {
            let lent = Lent::new(&leaves, tools.map, tools.config, tools.memory);
            let core = lent.core();
            core.and_then(|core| {
                let performed = self.operation.perform(core, tools.client, tools.setup);
                run(core, &leaves, pin!(performed), &self.steps)
            })
        };
        self.wake = leaves.wake();
        tools.asked.append(&mut leaves.take_asked());
        if outcome.is_none() {
            let changes = tools.memory.take_changes();
            tools.memory.take_back(changes);
        }
        let retries = leaves.pauses();
        let waited = self.steps.len() > 1;
        outcome.map(|(outcome, sources)| Ended {
            outcome,
            waited,
            retries,
            sources,
        })
    }

    fn begin_step(&mut self, now: Time, incoming: Option<Incoming>, calls: &Calls) {
        let mut step = Step {
            now,
            session: calls.session(),
            answer: None,
            copied: None,
            recalled: None,
        };
        match incoming {
            Some(Incoming::Answer(answer)) => step.answer = Some(answer),
            Some(Incoming::Copied(copied)) => step.copied = Some(copied),
            Some(Incoming::Recalled(recalled)) => step.recalled = Some(recalled),
            None => {}
        }
        self.steps.push(step);
    }

    /// Answers other clients with the core as this operation has left it. Returns the answers that
    /// are ready, in order, and removes their requests.
    pub fn serve(&mut self, now: Time, parked: &mut Vec<Parked>, tools: Tools<'_>) -> Vec<Ready> {
        let leaves = Leaves::new(tools.calls, &mut self.sequences, self.random, tools.host);
        let copies = {
            let lent = Lent::new(&leaves, tools.map, tools.config, tools.memory);
            let copies = lent.core().map(|core| {
                // The core knows the fetches of the operation for as long as its future lives.
                let performed = self.operation.perform(core, tools.client, tools.setup);
                let mut performed = pin!(performed);
                replay(core, performed.as_mut(), &leaves, &self.steps, false);
                answer_all(core, &leaves, now, parked)
            });
            copies.unwrap_or_default()
        };
        let changes = tools.memory.take_changes();
        tools.memory.take_back(changes);
        copies
    }
}

/// Runs an operation one step further. Returns its outcome, and where its data has come from.
fn run<T>(
    core: &Client<&Leaves<'_>>,
    leaves: &Leaves<'_>,
    performed: Pin<&mut impl Future<Output = T>>,
    steps: &[Step],
) -> Option<(T, Sources)> {
    let before = core.sharing_counters();
    let outcome = replay(core, performed, leaves, steps, true)?;
    let sources = Sources::between(&before, &core.sharing_counters());
    Some((outcome, sources))
}

/// As [`Task::serve`], while no operation is under way.
pub fn serve_idle(now: Time, parked: &mut Vec<Parked>, tools: Tools<'_>) -> Vec<Ready> {
    let mut sequences = Vec::new();
    let leaves = Leaves::new(tools.calls, &mut sequences, 0, tools.host);
    let copies = {
        let lent = Lent::new(&leaves, tools.map, tools.config, tools.memory);
        let copies = lent
            .core()
            .map(|core| answer_all(core, &leaves, now, parked));
        copies.unwrap_or_default()
    };
    let changes = tools.memory.take_changes();
    tools.memory.take_back(changes);
    copies
}

/// Answers as many requests as it can. The others stay, and are tried again at every event: the
/// core then looks its cache up anew, as it does whenever a fetch has ended.
fn answer_all(
    core: &Client<&Leaves<'_>>,
    leaves: &Leaves<'_>,
    now: Time,
    parked: &mut Vec<Parked>,
) -> Vec<Ready> {
    let mut copies = Vec::new();
    for mut request in std::mem::take(parked) {
        leaves.begin_answer(now, request.waits_since);
        let mut answer = pin!(core.serve_cache(request.request.clone()));
        match answer
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(Served::Copy(data)) => copies.push(Ready { request, data }),
            Poll::Ready(Served::Reply(_)) => copies.push(Ready {
                request,
                data: Payload::empty(),
            }),
            Poll::Pending => {
                request.waits_since = leaves.waits_since();
                request.wake = leaves.wake();
                parked.push(request);
            }
        }
    }
    copies
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

/// Runs an operation from its beginning through all steps; the last one may be live. The operation
/// ends once the leases are returned that servers have recalled meanwhile.
fn replay<T>(
    core: &Client<&Leaves<'_>>,
    mut future: Pin<&mut impl Future<Output = T>>,
    leaves: &Leaves<'_>,
    steps: &[Step],
    live: bool,
) -> Option<T> {
    let mut ended = None;
    let mut returns: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    // Those that return leases, and the operation, may wait for each other.
    let returns_any = steps.iter().any(|step| step.recalled.is_some());
    let woken = returns_any.then(|| Arc::new(Woken::default()));
    let waker = woken.clone().map_or(Waker::noop().clone(), Waker::from);
    let mut task = Context::from_waker(&waker);
    for (index, step) in steps.iter().enumerate() {
        leaves.begin(step, live && index + 1 == steps.len());
        if let Some(recalled) = &step.recalled {
            let Recalled { server, recalls } = &**recalled;
            returns.push(Box::pin(core.recalled(*server, recalls.clone())));
        }
        loop {
            if ended.is_none()
                && let Poll::Ready(result) = future.as_mut().poll(&mut task)
            {
                ended = Some(result);
            }
            returns.retain_mut(|it| it.as_mut().poll(&mut task).is_pending());
            if !woken.as_ref().is_some_and(|woken| woken.take()) {
                break;
            }
        }
    }
    ended.filter(|_| returns.is_empty())
}

/// Whether a future can go on.
#[derive(Default)]
struct Woken(AtomicBool);

impl Woken {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
