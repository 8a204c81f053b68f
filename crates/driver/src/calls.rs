//! A client's requests on their way.

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

/// What is to be done for a client's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "outputs are taken and performed one at a time"
)]
pub enum CallOutput {
    /// Connect to the server, and report [`Calls::connected`] or [`Calls::disconnected`].
    Connect(ServerId),
    /// Send this on the connection.
    Send {
        /// The server.
        to: ServerId,
        /// A request.
        frame: Frame,
    },
    /// Give this to whoever waits for the call; it happens exactly once for every call.
    Completed {
        /// The call.
        sequence: u64,
        /// What the server answered, or `EIO` if it did not.
        outcome: Outcome,
        /// The data of the answer.
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
    /// How often it has been sent.
    attempts: u32,
    /// Since when, and how often, the server has said that it is busy.
    busy: Option<(Time, u32)>,
    /// When it is looked at again; what its timer says.
    wake: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum State {
    /// It waits for its turn or for the connection.
    Queued,
    /// It is under way, and will be sent again at this time.
    Sent(Time),
    /// The server was busy; it will be sent at this time.
    Paused(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Timer {
    Call(u64),
    Connect(ServerId),
}

/// The requests of one session: numbered, sent within each server's window, sent again with the same
/// number until they are answered, given up when the server stays away.
///
/// The caller performs what [`Calls::next_output`] says and reports what happens. The order of
/// outputs depends on the order of inputs alone.
#[derive(Debug, Serialize)]
pub struct Calls {
    session: SessionId,
    #[serde(skip)]
    map_epoch: u32,
    #[serde(skip)]
    config: CallsConfig,
    counters: Counters,
    /// The counters when changes were last taken, if they are kept.
    #[serde(skip)]
    kept: Option<Counters>,
    calls: ReversibleMap<u64, Call>,
    links: ReversibleMap<ServerId, Link>,
    timers: ReversibleMap<(Time, Timer), ()>,
    #[serde(skip)]
    outputs: VecDeque<CallOutput>,
}

/// What is small enough to be copied as a whole.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counters {
    clock: HybridClock,
    /// The latest time that servers have shown. It is what requests tell other servers: the own
    /// wall clock may be wrong, and a server does not believe one that is far ahead.
    heard: Time,
    /// The last sequence number that was drawn.
    drawn: u64,
    /// Whether nothing is worth a new connection any more.
    leaving: bool,
}

/// What it takes to bring [`Calls`] back to where they were.
#[derive(Debug)]
pub struct CallsUndo {
    counters: Counters,
    calls: Changes<u64, Call>,
    links: Changes<ServerId, Link>,
    timers: Changes<(Time, Timer), ()>,
}

impl Calls {
    /// A session without calls. `session` must be drawn at random and be new.
    pub fn new(session: SessionId, map_epoch: u32, config: CallsConfig) -> Self {
        Self {
            session,
            map_epoch,
            config,
            counters: Counters::default(),
            kept: None,
            calls: ReversibleMap::new(),
            links: ReversibleMap::new(),
            timers: ReversibleMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// From now on, remembers how changes are taken back.
    pub fn keep_changes(&mut self) {
        self.kept.get_or_insert(self.counters);
        self.calls.keep_changes();
        self.links.keep_changes();
        self.timers.keep_changes();
    }

    /// What takes back the changes since the last time, if they are kept. All outputs must have
    /// been taken.
    pub fn take_changes(&mut self) -> CallsUndo {
        CallsUndo {
            counters: self.kept.map_or(self.counters, |kept| {
                self.kept = Some(self.counters);
                kept
            }),
            calls: self.calls.take_changes(),
            links: self.links.take_changes(),
            timers: self.timers.take_changes(),
        }
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: CallsUndo) {
        self.counters = undo.counters;
        self.kept = self.kept.map(|_| undo.counters);
        self.calls.take_back(undo.calls);
        self.links.take_back(undo.links);
        self.timers.take_back(undo.timers);
    }

    /// The session.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Draws a number for a request or a transaction. Requests must be started in the order in which
    /// their numbers were drawn: a number that has been drawn and is not under way when a later
    /// request starts counts as done with.
    pub const fn next_sequence(&mut self) -> u64 {
        self.counters.drawn += 1;
        self.counters.drawn
    }

    /// The largest number up to which everything is done with.
    pub fn acknowledged(&self) -> u64 {
        self.calls
            .first_key_value()
            .map_or(self.counters.drawn, |(&oldest, _)| oldest.saturating_sub(1))
    }

    /// Learns the time that the session before has seen: what is done now must not seem to be earlier.
    pub fn observe(&mut self, clock: Time) {
        self.counters.clock.follow(clock);
        self.counters.heard = self.counters.heard.max(clock);
    }

    /// The latest time that servers have shown.
    pub const fn heard(&self) -> Time {
        self.counters.heard
    }

    /// The session's hybrid clock, when the wall clock says `wall`.
    pub fn clock(&mut self, wall: Time) -> Time {
        self.counters.clock.read(wall)
    }

    /// The numbers of the calls that have not been completed, in order.
    pub fn sequences(&self) -> impl Iterator<Item = u64> {
        self.calls.iter().map(|(&sequence, _)| sequence)
    }

    /// How many calls have not been completed.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether all calls have been completed.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// What is to be done next. To be called until there is nothing, after every input.
    pub fn next_output(&mut self) -> Option<CallOutput> {
        self.outputs.pop_front()
    }

    /// When [`Calls::tick`] is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.first_key_value().map(|(&(time, _), ())| time)
    }

    /// Starts a call. With too many waiting for the server it completes with `Busy` at once.
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
        // What was sent has its timer.
        if let Some(call) = self.calls.get(&sequence)
            && call.state == State::Queued
        {
            self.timers.insert((call.wake, Timer::Call(sequence)), ());
        }
    }

    /// An answer has arrived. One that nobody waits for is ignored: it is a copy.
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

    /// The server of a call has answered it, and knows the session from now on, unless it answers
    /// such requests without looking at whose they are.
    fn note_introduction(&mut self, sequence: u64) {
        let call = self.calls.get(&sequence);
        if let Some(call) = call.filter(|call| call.request != Request::GetStatus) {
            let server = call.server;
            self.link(server).is_introduced = true;
        }
    }

    /// The server said how many requests may be under way.
    pub fn credits(&mut self, server: ServerId, window: u32, now: impl Into<Moment>) {
        let now = now.into();
        let window = window.clamp(1, self.config.window_max);
        self.link(server).window = window;
        self.pump(server, now);
    }

    /// A connection to the server has been made.
    pub fn connected(&mut self, server: ServerId, now: impl Into<Moment>) {
        let now = now.into();
        self.link(server).connection = Connection::Up;
        self.pump(server, now);
    }

    /// The connection to the server broke, or did not come about. What was under way will be sent
    /// again; if the server has been given up before, it fails now.
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

    /// Fails everything that waits for a server.
    fn give_up(&mut self, server: ServerId) {
        for sequence in self.sequences_to(server) {
            self.complete(sequence, Err(Errno::EIO.into()), Payload::empty());
        }
    }

    /// The session is about to end: from now on nothing waits for a server to which there is no
    /// connection, or whose connection breaks.
    pub fn leave(&mut self, now: impl Into<Moment>) {
        let now = now.into();
        self.counters.leaving = true;
        let servers: Vec<ServerId> = self.links.iter().map(|(&server, _)| server).collect();
        for server in servers {
            self.pump(server, now);
        }
    }

    /// The server turned the connection away for a reason that no waiting mends, such as another key:
    /// what was under way fails now.
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

    /// Sends what may be sent to a server, or gets it connected.
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
        // Of a server that was given up, nobody waits for the next connection.
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

    /// What the server of a call is told of the client.
    fn features_towards(&self, sequence: u64) -> u32 {
        let call = self.calls.get(&sequence);
        let link = call.and_then(|call| self.links.get(&call.server));
        let introduces = !link.is_some_and(|link| link.is_introduced);
        u32::from(self.config.leases) * features::LEASES
            + u32::from(introduces) * features::INTRODUCES
    }

    /// Sends a call that waited, or sends it again.
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

    /// Puts a call into its queue.
    fn requeue(&mut self, sequence: u64) {
        let Some(call) = self.calls.get_mut(&sequence) else {
            return;
        };
        call.state = State::Queued;
        let (server, express) = (call.server, is_express(&call.request));
        self.link(server).push(sequence, express);
        self.set_timer(sequence);
    }

    /// The server is busy: sends the call again later. Until then it takes no place in the window.
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

    /// The timer of a call has run out.
    fn wake(&mut self, sequence: u64, now: Moment) {
        let Some(call) = self.calls.get(&sequence) else {
            return;
        };
        let (server, state) = (call.server, call.state);
        if self.gives_up_at(call) <= now.steady {
            let silent = self.link(server).contact + self.config.give_up <= now.steady;
            self.link(server).dead |= silent;
            self.complete(sequence, Err(Errno::EIO.into()), Payload::empty());
            self.pump(server, now);
            return;
        }
        match state {
            State::Sent(due) if due <= now.steady => self.send(sequence, now),
            State::Paused(due) if due <= now.steady => {
                self.requeue(sequence);
                self.pump(server, now);
            }
            _ => self.set_timer(sequence),
        }
    }

    /// When a call fails: its server has not been heard of, or has been busy, for too long.
    fn gives_up_at(&self, call: &Call) -> Time {
        let heard = self.links.get(&call.server).map_or(Time(0), |l| l.contact);
        let silent = call.started.max(heard) + self.config.give_up;
        match call.busy {
            Some((since, _)) => silent.min(since + self.config.busy_give_up),
            None => silent,
        }
    }

    /// Sets the timer of a call anew.
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
