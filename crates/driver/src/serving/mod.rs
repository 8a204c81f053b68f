//! A server without its input and output: what it does with each message.
//!
//! The real server, the fuzzed cluster and the simulated world drive the same [`ServerDriver`].
//! They differ in where messages and readings of clocks come from, and in what time passes
//! meanwhile.
//!
//! An input passes five steps. The server *observes* the clock of a message, and *admits* it, or
//! refuses one request too many. It *decides*, which changes nothing, and *commits* the decision to
//! its store. [`ServerDriver::receive`] does all of them. [`ServerDriver::release`] makes
//! the batches durable, and only then returns what is to be sent. A simulation in which time
//! passes between the steps calls them one by one.

mod deciding;
mod messages;
mod promises;

pub use deciding::Core;
pub use messages::Receiver;

use messages::{input, message};
use promises::Promises;

use crate::{Admission, AdmissionConfig, AdmissionUndo, HybridClock};
use alloc::{vec, vec::Vec};
use futago_base::{
    Batch, Errno, Key, Moment, Payload, RequestId, ServerId, SessionId, Store, Time, Value,
    record::SessionState,
};
use futago_server::{Decision, Input, Output, Server};
use futago_wire::{Failure, Frame, Header};
use serde::Serialize;

/// A server: its core, its store, its clocks, and the requests under way.
#[derive(Debug, Serialize)]
pub struct ServerDriver<C, S> {
    #[serde(skip)]
    core: C,
    store: S,
    admission: Admission,
    clocks: Clocks,
    /// Outputs since the last [`ServerDriver::release`].
    #[serde(skip)]
    held: Vec<Output>,
    /// Outputs that must survive a loss of power before they leave.
    #[serde(skip)]
    promises: Promises,
}

/// The clocks of a server.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Clocks {
    /// The steady time of the latest decision. No two decisions have the same time.
    decided: HybridClock,
    /// The time that messages carry.
    stamps: HybridClock,
}

impl Clocks {
    /// The time of the latest decision.
    fn latest(&mut self) -> Moment {
        Moment {
            steady: self.decided.read(Time(0)),
            stamp: self.stamps.read(Time(0)),
        }
    }
}

/// The undo of the latest changes of a [`ServerDriver`] except those of its store.
#[derive(Debug)]
pub struct ServerDriverUndo {
    clocks: Clocks,
    admission: AdmissionUndo,
}

impl<S: Store, C: Core<S>> ServerDriver<C, S> {
    /// A server that begins its life with an empty store.
    pub fn new(core: C, mut empty: S, admission: AdmissionConfig, now: impl Into<Moment>) -> Self {
        let now = now.into();
        let genesis = core.server().genesis(&empty, now);
        empty.commit(genesis, now);
        Self {
            core,
            held: Vec::new(),
            promises: Promises::default(),
            store: empty,
            admission: Admission::new(admission),
            clocks: Clocks::default(),
        }
    }

    /// A server that goes on with the state in its store, later than its latest decision.
    pub fn resume(core: C, store: S, admission: AdmissionConfig, decided: Moment) -> Self {
        let mut clocks = Clocks::default();
        clocks.decided.follow(decided.steady);
        clocks.stamps.follow(decided.stamp);
        Self {
            core,
            store,
            admission: Admission::new(admission),
            clocks,
            held: Vec::new(),
            promises: Promises::default(),
        }
    }

    /// The core and its settings.
    pub fn server(&self) -> &Server {
        self.core.server()
    }

    /// The decider.
    pub const fn core_mut(&mut self) -> &mut C {
        &mut self.core
    }

    /// The records and data.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The records and data, for changes that no input has caused.
    pub const fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The rest of a server that ends.
    pub fn into_store(self) -> S {
        self.store
    }

    /// The requests under way.
    pub const fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Handles a message. Messages that only clients get are none for it.
    pub fn receive(&mut self, frame: Frame, now: Moment) {
        self.observe(frame.header.clock, now.stamp);
        if let Some(input) = input(frame) {
            self.handle(input, now);
        }
    }

    /// Handles an input. [`ServerDriver::release`] returns what is to be sent.
    pub fn handle(&mut self, input: Input, now: Moment) {
        if let Some(refusal) = self.admit(&input) {
            return self.held.push(refusal);
        }
        let Decision { batch, outputs, .. } = self.decide(input, now);
        self.store.commit(batch, self.clocks.latest());
        self.held.extend(outputs);
    }

    /// Makes all that was decided survive the end of the process. Returns what is to be sent, in
    /// order: replies to reads, too, wait for the batches before them, because they may have shown
    /// them. A later call returns those that must survive a loss of power before they leave.
    ///
    /// # Errors
    /// If the store fails. Nothing leaves this server any more.
    pub fn release(&mut self) -> Result<Vec<Output>, S::Error> {
        self.store.persist()?;
        let held = core::mem::take(&mut self.held);
        let outputs = self.promises.pass(held, &self.store);
        for output in &outputs {
            if let Output::Reply { request, .. } = output {
                self.note_reply(*request);
            }
        }
        Ok(outputs)
    }

    /// Whether something waits until the store is synchronized.
    pub fn awaits_durability(&self) -> bool {
        !self.promises.is_empty()
    }

    /// Takes over the clock of a message, when the wall clock shows `now`.
    pub fn observe(&mut self, clock: Time, now: Time) {
        self.clocks.stamps.observe(clock, now);
    }

    /// Admits an input, unless it is a request and too many are under way. Then returns the reply
    /// that refuses it.
    pub fn admit(&mut self, input: &Input) -> Option<Output> {
        match input {
            Input::Request { id, request, .. } if !self.admission.admit(*id, request) => {
                Some(busy(*id))
            }
            _ => None,
        }
    }

    /// Decides about an input that was admitted. A request that would wait for other clients where
    /// too many do is refused, and nothing of it is left.
    pub fn decide(&mut self, input: Input, now: Moment) -> Decision {
        let request = match &input {
            Input::Request { id, .. } => Some(*id),
            _ => None,
        };
        let decided = Moment {
            steady: self.clocks.decided.advance(now.steady),
            stamp: self.clocks.stamps.advance(now.stamp),
        };
        let mut decision = self.core.handle(&self.store, input, decided, now);
        self.load(&mut decision.outputs);
        self.forget_given_up(&decision.batch);
        let waiting = request.filter(|_| decision.waits_for_clients);
        match waiting.filter(|&id| !self.admission.may_wait(id)) {
            None => decision,
            Some(id) => Decision {
                outputs: vec![busy(id)],
                work: decision.work,
                ..Decision::default()
            },
        }
    }

    /// Frees the places of sessions that a batch gives up, because their waiting requests get no
    /// replies. A hung client may keep its connection for long.
    fn forget_given_up(&mut self, batch: &Batch) {
        for (key, value) in &batch.records {
            if let (Key::Session(id), Some(Value::Session(session))) = (key, value)
                && session.state != SessionState::Living
            {
                self.admission.forget(*id);
            }
        }
    }

    /// Reads the data of replies that is not in memory. If some cannot be read, the replies are
    /// errors: what a request changes never depends on data, so the rest of a decision is valid.
    fn load(&mut self, outputs: &mut [Output]) {
        for output in &mut *outputs {
            if let Output::Reply { payload, .. } = output {
                *payload = core::mem::take(payload).loaded();
            }
        }
        if self.store.take_unreadable() {
            outputs.iter_mut().for_each(withhold);
        }
    }

    /// Notes that the reply to a request leaves: the request takes no place any more.
    pub fn note_reply(&mut self, reply: RequestId) {
        if self.core.frees_places() {
            self.admission.answered(reply);
        }
    }

    /// No client waits for the replies of a session any more.
    pub fn forget(&mut self, session: SessionId) {
        self.admission.forget(session);
    }

    /// When the next tick is useful, right after one.
    pub fn next_tick(&mut self, now: Time) -> Option<Time> {
        let now = self.clocks.decided.read(now);
        self.core.server().next_tick(&self.store, now)
    }

    /// The time for messages that leave when the wall clock shows `now`.
    pub fn clock(&mut self, now: Time) -> Time {
        self.clocks.stamps.read(now)
    }

    /// An output as it leaves when the wall clock shows `now`, and its receiver.
    pub fn frame(&mut self, output: Output, now: Time) -> (Receiver, Frame) {
        let (receiver, frame) = message(output);
        let server = match receiver {
            Receiver::Server(to) => to,
            Receiver::Session(_) => self.id(),
        };
        let header = Header {
            server,
            clock: self.clock(now),
            map_epoch: self.server().map().epoch(),
            ..frame.header
        };
        (receiver, Frame { header, ..frame })
    }

    /// The time of the latest decision.
    pub fn decided(&mut self) -> Moment {
        self.clocks.latest()
    }

    /// The id of the server.
    pub fn id(&self) -> ServerId {
        self.server().id()
    }

    /// Begins to record the changes that [`ServerDriver::undo`] undoes; to be called before the
    /// first of them.
    pub fn begin_undo(&mut self) -> ServerDriverUndo {
        self.admission.record_changes();
        ServerDriverUndo {
            clocks: self.clocks,
            admission: AdmissionUndo::default(),
        }
    }

    /// Ends the recording.
    pub fn end_undo(&mut self, undo: &mut ServerDriverUndo) {
        undo.admission = self.admission.take_changes();
    }

    /// Undoes the latest changes, also those of an event that broke off before its recording ended.
    /// The store's are the caller's.
    pub fn undo(&mut self, undo: ServerDriverUndo) {
        let unfinished = self.admission.take_changes();
        self.admission.take_back(unfinished);
        self.admission.take_back(undo.admission);
        self.clocks = undo.clocks;
    }
}

/// Makes a reply with data an error.
fn withhold(output: &mut Output) {
    if let Output::Reply {
        outcome, payload, ..
    } = output
        && !payload.is_empty()
    {
        *outcome = Err(Errno::EIO.into());
        *payload = Payload::empty();
    }
}

/// The answer to a request that is one too many.
const fn busy(request: RequestId) -> Output {
    Output::Reply {
        request,
        outcome: Err(Failure::Busy),
        payload: Payload::empty(),
    }
}
