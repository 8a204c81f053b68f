//! The interface of handlers to the engine.

use std::marker::PhantomData;

use crate::event::{Event, EventKey, Head, ProcessId};
use crate::fault::Fault;
use crate::undo::{Mode, Saved};
use crate::{Process, RandomStream, Time};

/// The engine, as a handler uses it.
///
/// A rollback undoes everything in it: a handler that is undone has sent, drawn and emitted
/// nothing.
pub struct Context<'a, P: Process, M> {
    me: ProcessId,
    now: Time,
    depth: u16,
    random: &'a mut RandomStream,
    events_sent: &'a mut u64,
    outbox: &'a mut Outbox<P>,
    mode: PhantomData<M>,
}

/// The events and outputs of one handler, and its limits.
pub(crate) struct Outbox<P: Process> {
    pub events: Vec<Event<P::Event>>,
    pub outputs: Vec<P::Output>,
    pub fault: Option<Fault>,
    limits: Limits,
}

/// The limits of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub process_count: u32,
    /// Events at this time or later are dropped, because no executor would run them.
    pub end: Time,
    pub zero_delay_depth: u16,
}

impl<P: Process> Outbox<P> {
    pub fn new(limits: Limits) -> Self {
        Outbox {
            events: Vec::new(),
            outputs: Vec::new(),
            fault: None,
            limits,
        }
    }

    /// Clears the remains of a handler that has failed.
    pub fn clear(&mut self) {
        self.events.clear();
        self.outputs.clear();
        self.fault = None;
    }
}

impl<'a, P: Process, M: Mode> Context<'a, P, M> {
    #[inline]
    pub(crate) fn new(
        me: ProcessId,
        now: Time,
        depth: u16,
        random: &'a mut RandomStream,
        events_sent: &'a mut u64,
        outbox: &'a mut Outbox<P>,
    ) -> Self {
        Context {
            me,
            now,
            depth,
            random,
            events_sent,
            outbox,
            mode: PhantomData,
        }
    }

    /// The process that handles the event.
    #[inline]
    pub fn me(&self) -> ProcessId {
        self.me
    }

    /// The time of the event.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of processes in the model.
    #[inline]
    pub fn process_count(&self) -> u32 {
        self.outbox.limits.process_count
    }

    /// The random stream of the process.
    #[inline]
    pub fn random(&mut self) -> &mut RandomStream {
        self.random
    }

    /// Saves data for `undo`. `make` runs only where events can be undone; the handler calls this
    /// before it changes the process.
    #[inline]
    pub fn save<U: 'static>(&self, make: impl FnOnce() -> U) -> Saved<M, U> {
        Saved::new(make)
    }

    /// Requests a call of [`Process::commit`] with `output` once this event is certain.
    #[inline]
    pub fn emit(&mut self, output: P::Output) {
        self.outbox.outputs.push(output);
    }

    /// Sends an event to this process itself; any delay, zero included.
    #[inline]
    pub fn schedule(&mut self, delay: Time, event: P::Event) {
        self.send(self.me, delay, event);
    }

    /// Sends an event that takes place after `delay`, which may be zero.
    ///
    /// An event to a process that does not exist, past the end of time, or too deep in a chain of
    /// zero-delay events stops the run with an error that names it, unless this event is itself
    /// rolled back.
    #[inline]
    pub fn send(&mut self, to: ProcessId, delay: Time, event: P::Event) {
        match self.address(to, delay) {
            Ok(head) if head.time() < self.outbox.limits.end => {
                self.outbox.events.push(Event {
                    head,
                    payload: event,
                });
            }
            Ok(_) => {}
            Err(fault) => {
                self.outbox.fault.get_or_insert(fault);
            }
        }
    }

    #[inline]
    fn address(&mut self, to: ProcessId, delay: Time) -> Result<Head, Fault> {
        let limits = self.outbox.limits;
        if to.0 >= limits.process_count {
            return Err(Fault::NoSuchProcess { to });
        }
        let time = self
            .now
            .checked_add(delay)
            .ok_or(Fault::EndOfTime { delay })?;
        let depth = if delay == Time::ZERO {
            self.depth + 1
        } else {
            0
        };
        if depth > limits.zero_delay_depth {
            return Err(Fault::TooDeep {
                limit: limits.zero_delay_depth,
            });
        }
        let counter = *self.events_sent;
        if counter >= EventKey::COUNTER_LIMIT {
            return Err(Fault::CounterExhausted);
        }
        *self.events_sent = counter + 1;
        Ok(Head::new(
            EventKey::new(time, depth, self.me, counter),
            to.0,
        ))
    }
}
