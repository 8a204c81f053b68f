//! The state of the processes of one partition, for every executor.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::context::{Context, Limits, Outbox};
use crate::digest::Digest;
use crate::event::{Event, EventKey, Head, ProcessId};
use crate::fault::{FailedEvent, Fault};
use crate::queue::Queue;
use crate::undo::{Forward, Mode, Saved};
use crate::watch::{Statistics, Tally, TraceRow};
use crate::{Model, Process, RandomStream, Time};

/// A process with its state in the engine.
#[derive(Debug)]
pub(crate) struct Slot<P> {
    pub process: P,
    pub random: RandomStream,
    pub events_sent: u64,
    pub events_committed: u64,
    pub digest: Digest,
    pub id: ProcessId,
    pub events_rolled_back: u32,
}

impl<P: Process> Slot<P> {
    pub fn new(model: &impl Model<Process = P>, seed: u64, id: ProcessId) -> Self {
        Slot {
            process: model.create(id),
            random: RandomStream::new(seed, id),
            events_sent: 0,
            events_committed: 0,
            digest: Digest::new(),
            id,
            events_rolled_back: 0,
        }
    }

    #[inline]
    pub fn handle<M: Mode>(
        &mut self,
        key: EventKey,
        event: &P::Event,
        outbox: &mut Outbox<P>,
    ) -> Saved<M, P::Undo> {
        let (random, sent) = (&mut self.random, &mut self.events_sent);
        let mut context = Context::new(self.id, key.time(), key.depth(), random, sent, outbox);
        self.process.handle(key.time(), event, &mut context)
    }

    /// Counts a committed event.
    #[inline]
    pub fn certify(&mut self, key: EventKey, event: &P::Event) -> Result<(), FailedEvent> {
        self.events_committed += 1;
        self.digest
            .event(key, self.id, event)
            .map_err(|error| FailedEvent {
                key,
                process: self.id,
                fault: Fault::Digest {
                    message: error.to_string(),
                },
            })
    }

    fn finish(&mut self, end: Time) -> Result<u64, FailedEvent> {
        self.process.finish(end);
        self.digest
            .value(&self.process)
            .map_err(|error| FailedEvent {
                key: EventKey::MAX,
                process: self.id,
                fault: Fault::Digest {
                    message: error.to_string(),
                },
            })?;
        Ok(self.digest.share(self.id))
    }
}

/// Routes an event to its destination.
pub(crate) trait Route<E> {
    fn route(&mut self, queue: &mut Queue<E>, now: Time, event: Event<E>) -> Result<(), Fault>;
}

/// Processes, their pending events, and their results. It executes events in their final order; the
/// optimistic executor builds its history around it.
pub(crate) struct Partition<P: Process> {
    pub slots: Vec<Slot<P>>,
    pub queue: Queue<P::Event>,
    pub outbox: Outbox<P>,
    pub trace: Option<Vec<TraceRow>>,
    pub tally: Tally,
    /// The event being executed or committed, or the last one.
    pub current: Head,
}

impl<P: Process> Partition<P> {
    pub fn new(slots: Vec<Slot<P>>, limits: Limits, trace: bool) -> Self {
        Partition {
            slots,
            queue: Queue::new(),
            outbox: Outbox::new(limits),
            trace: trace.then(Vec::new),
            tally: Tally::default(),
            current: Head::new(EventKey::new(Time::ZERO, 0, ProcessId(0), 0), 0),
        }
    }

    /// The time of the last executed event.
    pub fn time(&self) -> Time {
        self.current.time()
    }

    /// Calls the start hook of every process and routes the first events.
    pub fn start(&mut self, route: &mut impl Route<P::Event>) -> Result<(), FailedEvent> {
        self.guarded(|partition| {
            for index in 0..partition.slots.len() {
                let slot = &mut partition.slots[index];
                partition.current =
                    Head::new(EventKey::new(Time::ZERO, 0, slot.id, 0), index as u32);
                let (random, sent) = (&mut slot.random, &mut slot.events_sent);
                let outbox = &mut partition.outbox;
                let mut context =
                    Context::<_, Forward>::new(slot.id, Time::ZERO, 0, random, sent, outbox);
                slot.process.start(&mut context);
                partition.release(route)?;
            }
            Ok(())
        })
    }

    /// Executes at most `count` events before `bound`. Returns true if none before it is left.
    pub fn run_before(
        &mut self,
        bound: Time,
        count: u32,
        route: &mut impl Route<P::Event>,
    ) -> Result<bool, FailedEvent> {
        self.guarded(|partition| {
            let mut executed = 0;
            while executed < count
                && let Some(event) = partition.queue.pop_if(|head| head.time() < bound)
            {
                partition.execute(&event, route)?;
                executed += 1;
            }
            partition.tally.events_committed += u64::from(executed);
            Ok(executed < count)
        })
    }

    #[inline]
    fn execute(
        &mut self,
        event: &Event<P::Event>,
        route: &mut impl Route<P::Event>,
    ) -> Result<(), FailedEvent> {
        self.current = event.head;
        let key = event.head.key();
        let slot = &mut self.slots[event.head.destination as usize];
        slot.certify(key, &event.payload)?;
        let _nothing: Saved<Forward, P::Undo> = slot.handle(key, &event.payload, &mut self.outbox);
        if let Some(trace) = &mut self.trace {
            trace.push(TraceRow {
                key,
                destination: slot.id,
            });
        }
        self.release(route)
    }

    /// Commits the outputs of the current handler and routes its events.
    #[inline]
    pub fn release(&mut self, route: &mut impl Route<P::Event>) -> Result<(), FailedEvent> {
        if let Some(fault) = self.outbox.fault.take() {
            return Err(self.failed(fault));
        }
        let now = self.current.time();
        let slot = &mut self.slots[self.current.destination as usize];
        for output in self.outbox.outputs.drain(..) {
            slot.process.commit(now, output);
        }
        for event in self.outbox.events.drain(..) {
            if let Err(fault) = route.route(&mut self.queue, now, event) {
                let process = slot.id;
                return Err(FailedEvent {
                    key: self.current.key(),
                    process,
                    fault,
                });
            }
        }
        Ok(())
    }

    /// Converts a panic of the model into a failure of the current event.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, FailedEvent>,
    ) -> Result<T, FailedEvent> {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(outcome) => outcome,
            Err(panic) => Err(self.failed(Fault::from_panic(&*panic))),
        }
    }

    pub fn failed(&self, fault: Fault) -> FailedEvent {
        let process = self.slots[self.current.destination as usize].id;
        FailedEvent {
            key: self.current.key(),
            process,
            fault,
        }
    }

    /// Calls the finish hook of every process and completes the tally.
    pub fn finish(&mut self, end: Time) -> Result<(), FailedEvent> {
        self.guarded(|partition| {
            for index in 0..partition.slots.len() {
                partition.current = Head::new(EventKey::MAX, index as u32);
                let share = partition.slots[index].finish(end)?;
                partition.tally.digest = partition.tally.digest.wrapping_add(share);
            }
            Ok(())
        })?;
        self.tally.queue_peak = self.queue.peak() as u64;
        self.tally.events_committed = self.slots.iter().map(|slot| slot.events_committed).sum();
        self.tally.busiest = self.busiest();
        Ok(())
    }

    fn busiest(&self) -> Vec<(ProcessId, u64, u32)> {
        let mut order: Vec<&Slot<P>> = self.slots.iter().collect();
        let count = Statistics::HOT_SPOTS.min(order.len());
        let by_load = |slot: &&Slot<P>| (std::cmp::Reverse(slot.events_committed), slot.id);
        if count < order.len() {
            order.select_nth_unstable_by_key(count, by_load);
        }
        order[..count]
            .iter()
            .map(|slot| (slot.id, slot.events_committed, slot.events_rolled_back))
            .collect()
    }
}
