//! A client's requests that are under way.

use crate::{
    CallsConfig, HybridClock,
    config::back_off,
    is_express,
    link::{Connection, Link},
};
use alloc::{collections::VecDeque, vec::Vec};
use futago_base::{
    Errno, Moment, Payload, ServerId, SessionId, Time,
    reversible::{Changes, ReversibleMap},
};
use futago_wire::{Body, Failure, Frame, Header, MessageKind, Outcome, Request, header::features};
use serde::Serialize;

/// An action of a client's calls, for the caller to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "the caller takes and performs one output at a time"
)]
pub enum CallOutput {
    /// Connect to the server, and report [`Calls::connected`] or [`Calls::disconnected`].
    Connect(ServerId),
    /// Send this on the connection.
    Send {
        /// The server.
        to: ServerId,
        /// The request.
        frame: Frame,
    },
    /// Complete the call; this happens exactly once for every call.
    Completed {
        /// The call.
        sequence: u64,
        /// The outcome from the server, or `EIO` without one.
        outcome: Outcome,
        /// The data of the reply.
        payload: Payload,
    },
}

/// A request that has not been completed.
#[derive(Clone, Debug, Serialize)]
struct Call {
    server: ServerId,
    request: Request,
    payload: Payload,
    started: Time,
    state: State,
    /// How often the client has sent it.
    attempts: u32,
    /// The time of the first `Busy` reply, and how many there were.
    busy: Option<(Time, u32)>,
    /// When its timer expires.
    wake: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum State {
    /// It waits for a place in the window, or for the connection.
    Queued,
    /// It is under way; the client sends it again at this time.
    Sent(Time),
    /// The server was busy; the client queues it again at this time.
    Paused(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Timer {
    Call(u64),
    Connect(ServerId),
}

/// The requests of one session. Each has a number, is sent within the window of its server, and is
/// sent again with the same number until a reply arrives or the server has been silent too long.
///
/// The caller performs the outputs of [`Calls::next_output`] and reports events. The order of
/// outputs depends on the order of inputs alone.
#[derive(Debug, Serialize)]
pub struct Calls {
    session: SessionId,
    #[serde(skip)]
    map_epoch: u32,
    #[serde(skip)]
    config: CallsConfig,
    counters: Counters,
    /// The counters when changes were last taken, if changes are recorded.
    #[serde(skip)]
    saved: Option<Counters>,
    calls: ReversibleMap<u64, Call>,
    links: ReversibleMap<ServerId, Link>,
    timers: ReversibleMap<(Time, Timer), ()>,
    #[serde(skip)]
    outputs: VecDeque<CallOutput>,
}

/// The small part of the state, which is copied as a whole for an undo.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counters {
    clock: HybridClock,
    /// The latest time in messages of servers. Requests carry it instead of the wall clock of the
    /// client, which may be wrong: servers ignore a time that is far ahead.
    heard: Time,
    /// The last sequence number that was assigned.
    drawn: u64,
    /// Whether the session is about to end, so that the client connects no more.
    leaving: bool,
}

/// The changes of [`Calls`] to undo.
#[derive(Debug)]
pub struct CallsUndo {
    counters: Counters,
    calls: Changes<u64, Call>,
    links: Changes<ServerId, Link>,
    timers: Changes<(Time, Timer), ()>,
}

impl Calls {
    /// A session without calls. `session` must be random and new.
    pub fn new(session: SessionId, map_epoch: u32, config: CallsConfig) -> Self {
        Self {
            session,
            map_epoch,
            config,
            counters: Counters::default(),
            saved: None,
            calls: ReversibleMap::new(),
            links: ReversibleMap::new(),
            timers: ReversibleMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.saved.get_or_insert(self.counters);
        self.calls.record_changes();
        self.links.record_changes();
        self.timers.record_changes();
    }

    /// The changes since the last call, if they are recorded. All outputs must have been taken
    /// before.
    pub fn take_changes(&mut self) -> CallsUndo {
        CallsUndo {
            counters: self.saved.map_or(self.counters, |saved| {
                self.saved = Some(self.counters);
                saved
            }),
            calls: self.calls.take_changes(),
            links: self.links.take_changes(),
            timers: self.timers.take_changes(),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: CallsUndo) {
        self.counters = undo.counters;
        self.saved = self.saved.map(|_| undo.counters);
        self.calls.take_back(undo.calls);
        self.links.take_back(undo.links);
        self.timers.take_back(undo.timers);
    }

    /// The session.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Assigns a number to a request or a transaction. Requests must start in the order of their
    /// numbers: an assigned number that is not under way when a later request starts counts as
    /// completed.
    pub const fn next_sequence(&mut self) -> u64 {
        self.counters.drawn += 1;
        self.counters.drawn
    }

    /// The largest number up to which all requests are completed.
    pub fn acknowledged(&self) -> u64 {
        self.calls
            .first_key_value()
            .map_or(self.counters.drawn, |(&oldest, _)| oldest.saturating_sub(1))
    }

    /// Adopts the time of an earlier session, so that the operations of this one have later
    /// timestamps.
    pub fn observe(&mut self, clock: Time) {
        self.counters.clock.follow(clock);
        self.counters.heard = self.counters.heard.max(clock);
    }

    /// The latest time in messages of servers.
    pub const fn heard(&self) -> Time {
        self.counters.heard
    }

    /// The session's hybrid clock, when the wall clock shows `wall`.
    pub fn clock(&mut self, wall: Time) -> Time {
        self.counters.clock.read(wall)
    }

    /// The numbers of the calls that have not been completed, in order.
    pub fn sequences(&self) -> impl Iterator<Item = u64> {
        self.calls.iter().map(|(&sequence, _)| sequence)
    }

    /// How many calls are not completed.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether all calls are completed.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The next action. The caller takes all of them after every input.
    pub fn next_output(&mut self) -> Option<CallOutput> {
        self.outputs.pop_front()
    }

    /// When [`Calls::tick`] is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.first_key_value().map(|(&(time, _), ())| time)
    }

    /// Starts a call. It completes with `Busy` at once if too many are queued for the server.
    pub fn start(
        &mut self,
        sequence: u64,
        server: ServerId,
        request: Request,
        payload: Payload,
        now: impl Into<Moment>,
    ) {
        let now = now.into();
        let express = is_express(&request);
        let link = self.link(server);
        link.push(sequence, express);
        let queued = link.queue.len();
        let wake = now.steady + self.config.give_up;
        let call = Call {
            server,
            request,
            payload,
            started: now.steady,
            state: State::Queued,
            attempts: 0,
            busy: None,
            wake,
        };
        self.calls.insert(sequence, call);
        if !express && queued > self.config.queue_max {
            self.complete(sequence, Err(Failure::Busy), Payload::empty());
        }
        self.pump(server, now);
        // A call that was sent has its timer already.
        if let Some(call) = self.calls.get(&sequence)
            && call.state == State::Queued
        {
            self.timers.insert((call.wake, Timer::Call(sequence)), ());
        }
    }

    /// A reply has arrived. The reply to a completed call is a copy and is ignored.
    pub fn received(
        &mut self,
        from: ServerId,
        header: &Header,
        outcome: Outcome,
        payload: Payload,
        now: impl Into<Moment>,
    ) {
        let now = now.into();
        self.observe(header.clock);
        self.link(from).heard(now.steady);
        let sequence = header.sequence;
        let expected = self
            .calls
            .get(&sequence)
            .is_some_and(|call| call.server == from && header.session == self.session);
        if expected && outcome == Err(Failure::Busy) {
            self.pause(sequence, now);
        } else if expected {
            self.note_introduction(sequence);
            self.complete(sequence, outcome, payload);
        }
        self.pump(from, now);
    }

    /// The server of a call has answered it, so it knows the session from now on. The runtime of a
    /// server replies without a look at the session.
    fn note_introduction(&mut self, sequence: u64) {
        let call = self.calls.get(&sequence);
        if let Some(call) = call.filter(|call| !call.request.is_for_runtime()) {
            let server = call.server;
            self.link(server).is_introduced = true;
        }
    }

    /// Bytes have passed between the client and the server on a connection that loses none, though
    /// perhaps no whole message. Requests are not sent again meanwhile, and the server is not given
    /// up: on a slow or crowded link, copies of large messages would delay all others.
    pub fn progressed(&mut self, server: ServerId, now: impl Into<Moment>) {
        self.link(server).progress = now.into().steady;
    }

    /// The server has granted this many requests under way.
    pub fn credits(&mut self, server: ServerId, window: u32, now: impl Into<Moment>) {
        let now = now.into();
        let window = window.clamp(1, self.config.window_max);
        self.link(server).window = window;
        self.pump(server, now);
    }

    /// The client has connected to the server.
    pub fn connected(&mut self, server: ServerId, now: impl Into<Moment>) {
        let now = now.into();
        self.link(server).connection = Connection::Up;
        self.pump(server, now);
    }

    /// The connection to the server broke or failed. Calls under way are queued again, or fail if
    /// the server has been given up before.
    pub fn disconnected(&mut self, server: ServerId, now: impl Into<Moment>) {
        let now = now.into();
        let config = self.config;
        let link = self.link(server);
        link.broke(&config, now.steady);
        if link.dead {
            self.give_up(server);
        } else {
            for sequence in self.sequences_to(server) {
                self.requeue(sequence);
            }
        }
        self.pump(server, now);
    }

    /// Fails all calls to a server.
    fn give_up(&mut self, server: ServerId) {
        for sequence in self.sequences_to(server) {
            self.complete(sequence, Err(Errno::EIO.into()), Payload::empty());
        }
    }

    /// The session is about to end: from now on, calls to a server without a connection fail
    /// instead of waiting for one.
    pub fn leave(&mut self, now: impl Into<Moment>) {
        let now = now.into();
        self.counters.leaving = true;
        let servers: Vec<ServerId> = self.links.iter().map(|(&server, _)| server).collect();
        for server in servers {
            self.pump(server, now);
        }
    }

    /// The server has refused the connection for good, for instance because of another key. Its
    /// calls fail now.
    pub fn refused(&mut self, server: ServerId, now: impl Into<Moment>) {
        let now = now.into();
        self.link(server).dead = true;
        self.disconnected(server, now);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: impl Into<Moment>) {
        let now = now.into();
        while let Some((&(time, timer), ())) = self.timers.first_key_value()
            && time <= now.steady
        {
            self.timers.pop_first();
            match timer {
                Timer::Connect(server) => self.pump(server, now),
                Timer::Call(sequence) => self.wake(sequence, now),
            }
        }
    }

    fn link(&mut self, server: ServerId) -> &mut Link {
        let window = self.config.window;
        self.links.get_or_insert_with(server, || Link::new(window))
    }

    /// The calls to a server, in the order of their numbers.
    fn sequences_to(&self, server: ServerId) -> Vec<u64> {
        let to_server = self.calls.iter().filter(|(_, call)| call.server == server);
        to_server.map(|(&sequence, _)| sequence).collect()
    }

    /// Sends the calls that may be sent to a server, or asks for a connection.
    fn pump(&mut self, server: ServerId, now: Moment) {
        while let Some(sequence) = self.link(server).next() {
            self.send(sequence, now);
        }
        let leaving = self.counters.leaving;
        let link = self.link(server);
        let Connection::Down(retry) = link.connection else {
            return;
        };
        if link.is_idle() {
            return;
        }
        // No call waits for a new connection to a server that has been given up.
        if leaving || (link.dead && now.steady < retry) {
            return self.give_up(server);
        }
        if now.steady < retry {
            self.timers.insert((retry, Timer::Connect(server)), ());
            return;
        }
        link.connection = Connection::Connecting;
        self.outputs.push_back(CallOutput::Connect(server));
    }

    /// The features of the client in the header of a call.
    fn features_towards(&self, sequence: u64) -> u32 {
        let call = self.calls.get(&sequence);
        let link = call.and_then(|call| self.links.get(&call.server));
        let introduces = !link.is_some_and(|link| link.is_introduced);
        u32::from(self.config.leases) * features::LEASES
            + u32::from(introduces) * features::INTRODUCES
    }

    /// Sends a call from the queue, or sends it again.
    fn send(&mut self, sequence: u64, now: Moment) {
        let acknowledged = self.acknowledged();
        let clock = self.counters.heard;
        let features = self.features_towards(sequence);
        let Some(call) = self.calls.get_mut(&sequence) else {
            return;
        };
        let wait = back_off(
            self.config.resend_min,
            self.config.resend_max,
            call.attempts,
        );
        let again = matches!(call.state, State::Sent(_));
        call.state = State::Sent(now.steady + wait);
        call.attempts += 1;
        let header = Header {
            server: call.server,
            session: self.session,
            map_epoch: self.map_epoch,
            sequence,
            acknowledged,
            clock,
            features,
            ..Header::new(MessageKind::Request)
        };
        let frame = Frame {
            header,
            body: Body::Request(call.request.clone()),
            payload: call.payload.clone(),
        };
        let (to, express) = (call.server, is_express(&call.request));
        if !again && !express {
            self.link(to).under_way += 1;
        }
        self.outputs.push_back(CallOutput::Send { to, frame });
        self.set_timer(sequence);
    }

    /// Queues a call again.
    fn requeue(&mut self, sequence: u64) {
        let Some(call) = self.calls.get_mut(&sequence) else {
            return;
        };
        call.state = State::Queued;
        let (server, express) = (call.server, is_express(&call.request));
        self.link(server).push(sequence, express);
        self.set_timer(sequence);
    }

    /// The server is busy: the call is sent again later, and has no place in the window until then.
    fn pause(&mut self, sequence: u64, now: Moment) {
        let Some(call) = self.calls.get_mut(&sequence) else {
            return;
        };
        let State::Sent(_) = call.state else {
            return;
        };
        let (since, count) = call.busy.unwrap_or((now.steady, 0));
        call.busy = Some((since, count + 1));
        let wait = back_off(self.config.busy_min, self.config.busy_max, count);
        call.state = State::Paused(now.steady + wait);
        let (server, express) = (call.server, is_express(&call.request));
        if !express {
            self.link(server).under_way -= 1;
        }
        self.set_timer(sequence);
    }

    /// The timer of a call has expired.
    fn wake(&mut self, sequence: u64, now: Moment) {
        let Some(call) = self.calls.get(&sequence) else {
            return;
        };
        let (server, state) = (call.server, call.state);
        if self.gives_up_at(call) <= now.steady {
            let link = self.link(server);
            let heard = link.contact.max(link.progress);
            let silent = heard + self.config.give_up <= now.steady;
            self.link(server).dead |= silent;
            self.complete(sequence, Err(Errno::EIO.into()), Payload::empty());
            self.pump(server, now);
            return;
        }
        match state {
            State::Sent(due) if due <= now.steady => self.send_again(sequence, now),
            State::Paused(due) if due <= now.steady => {
                self.requeue(sequence);
                self.pump(server, now);
            }
            _ => self.set_timer(sequence),
        }
    }

    /// Sends a call again, unless its connection is busy with the messages before it.
    fn send_again(&mut self, sequence: u64, now: Moment) {
        let (least, most) = (self.config.resend_min, self.config.resend_max);
        let progress = |call: &Call| {
            self.links
                .get(&call.server)
                .map_or(Time(0), |it| it.progress)
        };
        let wait = |call: &Call| back_off(least, most, call.attempts.saturating_sub(1));
        let due = self
            .calls
            .get(&sequence)
            .map(|call| progress(call) + wait(call));
        match due.filter(|due| now.steady < *due) {
            Some(due) => {
                if let Some(call) = self.calls.get_mut(&sequence) {
                    call.state = State::Sent(due);
                }
                self.set_timer(sequence);
            }
            None => self.send(sequence, now),
        }
    }

    /// When a call fails because its server has been silent or busy for too long.
    fn gives_up_at(&self, call: &Call) -> Time {
        let link = self.links.get(&call.server);
        let heard = link.map_or(Time(0), |link| link.contact.max(link.progress));
        let silent = call.started.max(heard) + self.config.give_up;
        match call.busy {
            Some((since, _)) => silent.min(since + self.config.busy_give_up),
            None => silent,
        }
    }

    /// Updates the timer of a call.
    fn set_timer(&mut self, sequence: u64) {
        let Some(call) = self.calls.get(&sequence) else {
            return;
        };
        let give_up = self.gives_up_at(call);
        let wake = match call.state {
            State::Queued => give_up,
            State::Sent(due) | State::Paused(due) => due.min(give_up),
        };
        if let Some(call) = self.calls.get_mut(&sequence) {
            self.timers.remove(&(call.wake, Timer::Call(sequence)));
            call.wake = wake;
            self.timers.insert((wake, Timer::Call(sequence)), ());
        }
    }

    fn complete(&mut self, sequence: u64, outcome: Outcome, payload: Payload) {
        let Some(call) = self.calls.remove(&sequence) else {
            return;
        };
        self.timers.remove(&(call.wake, Timer::Call(sequence)));
        let express = is_express(&call.request);
        let link = self.link(call.server);
        match call.state {
            State::Queued => link.forget(sequence),
            State::Sent(_) if !express => link.under_way = link.under_way.saturating_sub(1),
            State::Sent(_) | State::Paused(_) => {}
        }
        self.outputs.push_back(CallOutput::Completed {
            sequence,
            outcome,
            payload,
        });
    }
}
