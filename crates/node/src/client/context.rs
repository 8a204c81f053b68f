//! The environment of a client's operations: real time, real randomness, requests over connections.

use super::runtime::Setup;
use super::{connection, invalidation, link::Link, sharing::holders::Holders, wakeup::Wakeup};
use crate::{Clock, clock::AwakeTime};
use atomic_refcell::AtomicRefCell;
use futago_base::{
    Duration, Errno, FileId, Moment, Payload, ServerId, SessionId, Time, record::Door,
};
use futago_client::Context;
use futago_driver::{CallOutput, Calls};
use futago_transport::{Receiver, Sender};
use futago_wire::{
    Body, CacheReply, CacheRequest, Failure, Frame, Holder, LeaseRecall, Outcome, Push, Reply,
    Request,
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::{self, ThreadId},
};
use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
    task::{spawn_local, yield_now},
};

/// The most sockets that a calling thread receives from. The client's thread receives from others.
const LED_SOCKETS_MAX: usize = 8;

/// The real [`Context`]. Clones share the state.
///
/// A lock serializes the threads of a client ([`NodeContext::with_lock`]), because the core assumes
/// that no other thread runs between two awaits. Only the holder of the lock accesses operations,
/// connections and the state here.
#[derive(Clone)]
pub struct NodeContext(Arc<Shared>);

struct Shared {
    setup: Arc<Setup>,
    /// The runtime of the client's thread.
    runtime: Handle,
    /// The client's thread, once it runs.
    thread: OnceLock<ThreadId>,
    lock: Mutex<()>,
    state: AtomicRefCell<State>,
    /// Notified when the next deadline is earlier than the timer.
    deadline_changed: Notify,
    /// Notified when servers must be connected.
    wanted: Notify,
    /// Notified when servers have recalled leases.
    has_recalls: Notify,
    /// Where other clients reach this one.
    door: OnceLock<Door>,
    /// The connections to other clients.
    holders: Holders,
    /// Notified when messages are queued, unless a calling thread sends them itself.
    queued: Notify,
}

struct State {
    calls: Calls,
    awake: AwakeTime,
    /// The receivers of replies, by request.
    waiting: BTreeMap<u64, oneshot::Sender<(Outcome, Payload)>>,
    links: BTreeMap<ServerId, Link>,
    /// The servers to connect.
    wanted: Vec<ServerId>,
    /// Recalls of leases, with the servers that sent them.
    recalled: Vec<(ServerId, Vec<LeaseRecall>)>,
    /// Connections with queued messages.
    queued_senders: Vec<Arc<Sender>>,
    /// A calling thread holds the lock.
    is_called: bool,
    /// The connections that a calling thread can poll: those through shared memory, and some
    /// sockets.
    nearby: Vec<Nearby>,
    /// A thread polls those connections.
    is_led: bool,
    /// Wakes that thread while it waits for sockets.
    leader: Option<Arc<Wakeup>>,
    /// When the timer expires.
    armed: Option<Time>,
    /// The client's thread has ended.
    stopped: bool,
}

struct Nearby {
    receiver: Arc<Receiver>,
    sender: Arc<Sender>,
}

impl State {
    /// The current time for requests, which do not time out while this process is stopped.
    fn read_clocks(&mut self, clock: &Clock) -> Moment {
        let due = self.calls.next_deadline();
        Moment {
            steady: self.awake.at(clock.steady(), due),
            stamp: clock.wall(),
        }
    }

    /// Whether a leading thread can poll one more connection. To begin and to end takes a system
    /// call for each socket.
    fn has_room_for(&self, receiver: &Receiver) -> bool {
        let sockets = self
            .nearby
            .iter()
            .filter(|at| at.receiver.socket().is_some());
        receiver.socket().is_none() || sockets.count() < LED_SOCKETS_MAX
    }

    /// Whether there is a connection to a server.
    fn is_reached(&self, server: ServerId) -> bool {
        let link = self.links.get(&server);
        link.is_some_and(|link| link.sender.is_some())
    }
}

fn random(clock: &Clock) -> u64 {
    getrandom::u64().unwrap_or_else(|_| clock.wall().0)
}

fn new_calls(setup: &Setup) -> Calls {
    Calls::new(
        SessionId(random(&setup.options.clock)),
        setup.cluster.epoch,
        setup.options.calls,
    )
}

impl NodeContext {
    pub(super) fn new(setup: Arc<Setup>, runtime: Handle) -> Self {
        let calls = new_calls(&setup);
        let state = State {
            calls,
            awake: AwakeTime::default(),
            waiting: BTreeMap::new(),
            links: BTreeMap::new(),
            wanted: Vec::new(),
            recalled: Vec::new(),
            queued_senders: Vec::new(),
            is_called: false,
            nearby: Vec::new(),
            is_led: false,
            leader: None,
            armed: None,
            stopped: false,
        };
        Self(Arc::new(Shared {
            setup,
            runtime,
            thread: OnceLock::new(),
            lock: Mutex::new(()),
            state: AtomicRefCell::new(state),
            deadline_changed: Notify::new(),
            wanted: Notify::new(),
            has_recalls: Notify::new(),
            door: OnceLock::new(),
            holders: Holders::new(),
            queued: Notify::new(),
        }))
    }

    /// Marks the calling thread as the client's.
    pub(super) fn begin_thread(&self) {
        // The cell is empty, because this is called once.
        let _ = self.0.thread.set(thread::current().id());
    }

    /// Whether the calling thread is the client's.
    pub(super) fn is_own_thread(&self) -> bool {
        self.0.thread.get() == Some(&thread::current().id())
    }

    /// Polls an operation with the lock whenever it is ready, on any thread. A holder of the lock
    /// must not await it, because it would deadlock.
    pub async fn poll_with_lock<T>(&self, mut operation: Pin<&mut impl Future<Output = T>>) -> T {
        poll_fn(|task| {
            let work = || operation.as_mut().poll(task);
            if self.is_own_thread() {
                self.with_lock(work)
            } else {
                let _of_client = self.0.runtime.enter();
                self.with_lock_of_caller(work)
            }
        })
        .await
    }

    /// Runs `work` in a critical section of the client.
    pub(super) fn with_lock<T>(&self, work: impl FnOnce() -> T) -> T {
        // The lock outlives a panic: only the operation that panicked has failed.
        let _guard = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// Runs `work` in a critical section on a calling thread, which then sends the queued messages
    /// itself.
    pub(super) fn with_lock_of_caller<T>(&self, work: impl FnOnce() -> T) -> T {
        self.with_lock(|| {
            let _sending = SendingItself::begin(self);
            work()
        })
    }

    fn flush_queued(&self) {
        for sender in self.0.state.borrow_mut().queued_senders.drain(..) {
            sender.flush();
        }
    }

    /// Drives the timers of requests for as long as the client lives.
    pub(super) async fn keep_time(self) {
        loop {
            let deadline = self.0.state.borrow().calls.next_deadline();
            self.0.state.borrow_mut().armed = deadline;
            let changed = self.0.deadline_changed.notified();
            match deadline {
                None => changed.await,
                Some(at) => tokio::select! {
                    () = self.sleep(at.since(self.read_clocks().steady)) => {
                        self.take_in_all().await;
                        self.note_progress();
                        self.change(|calls, now| calls.tick(now));
                    }
                    () = changed => {}
                },
            }
        }
    }

    fn read_clocks(&self) -> Moment {
        let mut state = self.0.state.borrow_mut();
        state.read_clocks(&self.0.setup.options.clock)
    }

    /// Notes on which connections bytes have passed, so that requests do not time out on slow ones.
    fn note_progress(&self) {
        let mut progressed = Vec::new();
        for (&server, link) in &mut self.0.state.borrow_mut().links {
            if link.has_progressed() {
                progressed.push(server);
            }
        }
        self.change(|calls, now| {
            for server in progressed {
                calls.progressed(server, now);
            }
        });
    }

    /// Receives all messages that have arrived already, so that their requests do not time out.
    async fn take_in_all(&self) {
        // Tasks read the sockets, and are ready now.
        yield_now().await;
        self.take_in();
    }

    /// Sends the messages that operations on the client's thread have queued. It runs after all
    /// ready operations, so that requests of one wake-up leave together.
    pub(super) async fn keep_sending(self) {
        loop {
            self.0.queued.notified().await;
            self.flush_queued();
        }
    }

    /// Connects servers on demand, for as long as the client lives.
    pub(super) async fn keep_connecting(self) {
        loop {
            self.0.wanted.notified().await;
            let wanted = std::mem::take(&mut self.0.state.borrow_mut().wanted);
            for server in wanted {
                let context = self.clone();
                let connection = async move {
                    let connection = pin!(connection::run(context.clone(), server));
                    context.poll_with_lock(connection).await;
                };
                let task = spawn_local(connection).abort_handle();
                let mut state = self.0.state.borrow_mut();
                state.links.entry(server).or_default().task = Some(task);
            }
        }
    }

    /// Waits until servers recall leases.
    pub(super) async fn recalled(&self) -> Vec<(ServerId, Vec<LeaseRecall>)> {
        self.0.has_recalls.notified().await;
        std::mem::take(&mut self.0.state.borrow_mut().recalled)
    }

    /// Registers a connection to a server that also reaches the servers in `here`. Returns whether
    /// it is used, which it is not if the server has been reached over another connection
    /// meanwhile.
    pub(super) fn connected(
        &self,
        server: ServerId,
        here: &[ServerId],
        receiver: &Arc<Receiver>,
        sender: &Arc<Sender>,
    ) -> bool {
        let mut state = self.0.state.borrow_mut();
        if state.is_reached(server) {
            return false;
        }
        let mut reached = vec![server];
        reached.extend(
            here.iter()
                .filter(|&&at| at != server && !state.is_reached(at)),
        );
        for &at in &reached {
            let link = state.links.entry(at).or_default();
            link.sender = Some(Arc::clone(sender));
            link.receiver = Some(Arc::clone(receiver));
            if at != server
                && let Some(connecting) = link.task.take()
            {
                connecting.abort();
            }
        }
        if receiver.can_be_polled() && state.has_room_for(receiver) {
            if state.is_led {
                receiver.start_polling();
            }
            if let Some(leader) = &state.leader {
                leader.notify();
            }
            state.nearby.push(Nearby {
                receiver: Arc::clone(receiver),
                sender: Arc::clone(sender),
            });
        }
        drop(state);
        for at in reached {
            self.change(|calls, now| calls.connected(at, now));
        }
        true
    }

    /// A server with a connection.
    pub(super) fn reached_server(&self) -> Option<ServerId> {
        let state = self.0.state.borrow();
        let mut links = state.links.iter();
        let (&server, _) = links.find(|(_, link)| link.sender.is_some())?;
        Some(server)
    }

    /// A connection attempt failed.
    pub(super) fn not_connected(&self, server: ServerId) {
        self.change(|calls, now| calls.disconnected(server, now));
    }

    /// A connection broke.
    pub(super) fn lost(&self, sender: &Arc<Sender>) {
        let mut state = self.0.state.borrow_mut();
        let mut lost = Vec::new();
        for (&server, link) in &mut state.links {
            if link.sender.take_if(|it| Arc::ptr_eq(it, sender)).is_some() {
                link.receiver = None;
                lost.push(server);
            }
        }
        state
            .nearby
            .retain(|nearby| !Arc::ptr_eq(&nearby.sender, sender));
        drop(state);
        for server in lost {
            self.change(|calls, now| calls.disconnected(server, now));
        }
    }

    /// Lets the calling thread, which waits, poll servers: those that share memory with this
    /// process, and some sockets.
    /// `None` if another thread does.
    pub(super) fn lead(&self) -> Option<Lead<'_>> {
        let mut state = self.0.state.borrow_mut();
        if state.is_led || state.nearby.is_empty() {
            return None;
        }
        state.is_led = true;
        state
            .nearby
            .iter()
            .for_each(|at| at.receiver.start_polling());
        Some(Lead {
            context: self,
            ended: Cell::new(false),
        })
    }

    fn end_lead(&self) {
        let mut state = self.0.state.borrow_mut();
        state.is_led = false;
        state.leader = None;
        for nearby in &state.nearby {
            nearby.receiver.stop_polling();
            nearby.sender.flush();
        }
    }

    /// Receives the messages that have arrived, and sends the rest of queued ones.
    fn take_in(&self) -> Arrived {
        let mut frames = Vec::new();
        let mut arrived = Arrived::Nothing;
        for nearby in &self.0.state.borrow().nearby {
            nearby.sender.flush();
            if let Err(error) = nearby.receiver.try_receive(&mut frames) {
                tracing::debug!(%error, "connection lost");
                nearby.sender.close();
                arrived = Arrived::Blocked;
            } else if nearby.receiver.waits_for_memory() {
                arrived = Arrived::Blocked;
            } else if nearby.receiver.has_taken() {
                arrived = Arrived::Messages;
            }
        }
        if !frames.is_empty() {
            arrived = Arrived::Messages;
        }
        for frame in frames {
            self.received(frame);
        }
        arrived
    }

    /// Whether there may be a session to end.
    pub(super) fn is_used(&self) -> bool {
        !self.0.state.borrow().links.is_empty()
    }

    /// The client's thread has ended: all pending and future requests fail.
    pub(super) fn stop(&self) {
        self.with_lock(|| {
            let mut state = self.0.state.borrow_mut();
            state.stopped = true;
            state.waiting.clear();
        });
    }

    /// The server can never be reached by this client.
    pub(super) fn refused(&self, server: ServerId) {
        self.change(|calls, now| calls.refused(server, now));
    }

    /// The session is about to end.
    pub(super) fn leave(&self) {
        self.change(|calls, now| calls.leave(now));
    }

    /// A message has arrived.
    pub(super) fn received(&self, frame: Frame) {
        let Frame {
            header,
            body,
            payload,
        } = frame;
        let from = header.server;
        match body {
            Body::Outcome(Err(Failure::SessionExpired)) => self.start_anew(header.session),
            Body::Outcome(outcome) => self.change(|calls, now| {
                calls.received(from, &header, outcome, payload, now);
            }),
            Body::Push(Push::Credits(credits)) => {
                self.change(|calls, now| calls.credits(from, credits, now));
            }
            Body::Push(Push::Recall(recalls)) => {
                self.0.state.borrow_mut().recalled.push((from, recalls));
                self.0.has_recalls.notify_one();
            }
            Body::Request(_)
            | Body::Peer(_)
            | Body::PeerAnswer(_)
            | Body::CacheRequest(_)
            | Body::CacheReply(_) => {}
        }
    }

    /// A server has given up the session: all pending requests fail, and later ones belong to a new
    /// session.
    fn start_anew(&self, expired: SessionId) {
        let mut state = self.0.state.borrow_mut();
        if state.calls.session() != expired {
            return;
        }
        tracing::warn!("the session has expired: open files and locks are lost");
        let heard = state.calls.heard();
        state.calls = new_calls(&self.0.setup);
        state.calls.observe(heard);
        state.nearby.clear();
        state.wanted.clear();
        // Pending recalls are void; the leases of the next session have new numbers.
        state.recalled.clear();
        for link in std::mem::take(&mut state.links).into_values() {
            if let Some(task) = link.task {
                task.abort();
            }
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for done in waiting.into_values() {
            // The waiting operation may have been dropped.
            let _ = done.send((Err(Failure::SessionExpired), Payload::empty()));
        }
        self.0.deadline_changed.notify_one();
    }

    /// Changes the requests and performs the resulting actions.
    fn change(&self, change: impl FnOnce(&mut Calls, Moment)) {
        let mut state = self.0.state.borrow_mut();
        let now = state.read_clocks(&self.0.setup.options.clock);
        change(&mut state.calls, now);
        while let Some(output) = state.calls.next_output() {
            self.perform(&mut state, output);
        }
        let next = state.calls.next_deadline();
        // A timer that expires too early costs less than resetting it with every request.
        if next.is_some_and(|next| state.armed.is_none_or(|armed| next < armed)) {
            self.0.deadline_changed.notify_one();
        }
    }

    fn perform(&self, state: &mut State, output: CallOutput) {
        match output {
            CallOutput::Connect(server) => {
                state.links.insert(server, Link::default());
                state.wanted.push(server);
                self.0.wanted.notify_one();
            }
            CallOutput::Send { to, frame } => {
                if let Some(sender) = state.links.get(&to).and_then(|link| link.sender.as_ref()) {
                    let sender = Arc::clone(sender);
                    self.post_with(state, &sender, &frame);
                }
            }
            CallOutput::Completed {
                sequence,
                outcome,
                payload,
            } => {
                if let Some(done) = state.waiting.remove(&sequence) {
                    // The waiting operation may have been dropped.
                    let _ = done.send((outcome, payload));
                }
            }
        }
    }

    /// Sends a message, at the latest at the end of the critical section.
    pub(super) fn post(&self, sender: &Arc<Sender>, frame: &Frame) {
        self.post_with(&mut self.0.state.borrow_mut(), sender, frame);
    }

    fn post_with(&self, state: &mut State, sender: &Arc<Sender>, frame: &Frame) {
        let is_first = sender.queued_bytes() == 0;
        if sender.post(frame) && is_first {
            state.queued_senders.push(Arc::clone(sender));
            if !state.is_called {
                self.0.queued.notify_one();
            }
        }
    }

    /// The present session.
    pub(super) fn session_now(&self) -> SessionId {
        self.0.state.borrow().calls.session()
    }

    /// Other clients reach this one there from now on.
    pub(super) fn open_door(&self, door: Door) {
        // The cell is empty, because this is called once.
        let _ = self.0.door.set(door);
    }

    pub(super) fn holders(&self) -> &Holders {
        &self.0.holders
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.0.setup
    }
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// Messages, or a part of one: there may be more.
    Messages,
    Nothing,
    /// A connection has ended, or a message waits for memory: the client's thread must continue.
    Blocked,
}

/// The critical section of a calling thread.
struct SendingItself<'a>(&'a NodeContext);

impl<'a> SendingItself<'a> {
    fn begin(context: &'a NodeContext) -> Self {
        context.0.state.borrow_mut().is_called = true;
        Self(context)
    }
}

impl Drop for SendingItself<'_> {
    fn drop(&mut self) {
        self.0.flush_queued();
        self.0.0.state.borrow_mut().is_called = false;
    }
}

/// The right to poll, until it is dropped or ended.
pub(super) struct Lead<'a> {
    context: &'a NodeContext,
    ended: Cell<bool>,
}

impl Lead<'_> {
    /// Polls once.
    pub fn poll(&self) -> Arrived {
        self.context.with_lock_of_caller(|| self.context.take_in())
    }

    /// The connections to wait for, if all of them are sockets. `leader` is notified when there is
    /// another one.
    pub fn sockets(&self, leader: &Arc<Wakeup>) -> Option<Vec<Arc<Receiver>>> {
        self.context.with_lock(|| {
            let mut state = self.context.0.state.borrow_mut();
            state.leader = Some(Arc::clone(leader));
            let receivers = state.nearby.iter().map(|at| &at.receiver);
            let sockets = receivers.map(|it| it.socket().map(|_| Arc::clone(it)));
            sockets.collect()
        })
    }

    /// Leaves polling to the client's thread.
    pub fn end(&self) {
        if !self.ended.replace(true) {
            self.context.with_lock(|| self.context.end_lead());
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl Context for NodeContext {
    /// This clock continues while this process is stopped, as leases do.
    fn now(&self) -> Time {
        self.0.setup.options.clock.steady()
    }

    fn stamp(&self) -> Time {
        let wall = self.0.setup.options.clock.wall();
        self.0.state.borrow_mut().calls.clock(wall)
    }

    async fn forget(&self, node: FileId, server: Option<ServerId>) {
        if let Some(queue) = &self.0.setup.options.invalidations {
            // Boxed, because it is large and rare.
            Box::pin(invalidation::invalidate(queue, node, server)).await;
        }
    }

    fn random(&self) -> u64 {
        random(&self.0.setup.options.clock)
    }

    fn session(&self) -> SessionId {
        self.session_now()
    }

    fn door(&self) -> Option<Door> {
        self.0.door.get().cloned()
    }

    fn heard_of_client(&self, session: SessionId) -> u64 {
        self.0.holders.heard_of(session)
    }

    async fn ask_client(
        &self,
        holder: Arc<Holder>,
        request: CacheRequest,
    ) -> Option<(CacheReply, Payload)> {
        self.ask_holder(holder, request).await.ok()
    }

    fn next_sequence(&self) -> u64 {
        self.0.state.borrow_mut().calls.next_sequence()
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        let (done, outcome) = oneshot::channel();
        {
            let mut state = self.0.state.borrow_mut();
            if state.stopped {
                return Err(Errno::EIO.into());
            }
            state.waiting.insert(sequence, done);
        }
        self.change(|calls, now| calls.start(sequence, to, request, payload, now));
        match outcome.await {
            Ok((Ok(reply), payload)) => Ok((reply, payload)),
            Ok((Err(failure), _)) => Err(failure),
            Err(_) => Err(Errno::EIO.into()),
        }
    }

    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        let _of_client = self.0.runtime.enter();
        tokio::time::sleep(std::time::Duration::from_nanos(span.0))
    }
}
