//! The world as a client's operations see it: real time, real randomness, calls over connections.

use super::connection;
use super::runtime::Setup;
use futago_base::{Duration, Errno, Payload, ServerId, SessionId, Time};
use futago_client::Context;
use futago_driver::{CallOutput, Calls};
use futago_transport::Sender;
use futago_wire::{Body, Failure, Frame, Outcome, Reply, Request};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::Future,
    rc::Rc,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::{Notify, oneshot},
    task::{AbortHandle, spawn_local},
};

/// The real [`Context`]. Clones are the same.
#[derive(Clone)]
pub struct NodeContext(Rc<Shared>);

struct Shared {
    setup: Arc<Setup>,
    state: RefCell<State>,
    /// Told when the next deadline is earlier than the timer.
    deadline_changed: Notify,
    /// Told whenever there is something to send.
    queued: Notify,
}

struct State {
    calls: Calls,
    /// Who waits for which call.
    waiting: BTreeMap<u64, oneshot::Sender<(Outcome, Payload)>>,
    links: BTreeMap<ServerId, Link>,
    /// When the timer wakes up.
    armed: Option<Time>,
}

struct Link {
    sender: Option<Rc<Sender>>,
    task: AbortHandle,
}

pub(super) fn wall_clock() -> Time {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Time(since_1970.as_nanos().min(u128::from(u64::MAX)) as u64)
}

fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| wall_clock().0)
}

fn new_calls(setup: &Setup) -> Calls {
    Calls::new(
        SessionId(random()),
        setup.cluster.epoch,
        setup.options.calls,
    )
}

impl NodeContext {
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        let calls = new_calls(&setup);
        let state = State {
            calls,
            waiting: BTreeMap::new(),
            links: BTreeMap::new(),
            armed: None,
        };
        Self(Rc::new(Shared {
            setup,
            state: RefCell::new(state),
            deadline_changed: Notify::new(),
            queued: Notify::new(),
        }))
    }

    /// Gives the calls their time, for as long as the client lives.
    pub(super) async fn keep_time(self) {
        loop {
            let deadline = self.0.state.borrow().calls.next_deadline();
            self.0.state.borrow_mut().armed = deadline;
            let changed = self.0.deadline_changed.notified();
            match deadline {
                None => changed.await,
                Some(at) => tokio::select! {
                    () = sleep_for(at.since(wall_clock())) => {
                        self.change(|calls, now| calls.tick(now));
                    }
                    () = changed => {}
                },
            }
        }
    }

    /// Sends what operations have queued since the last time: it runs after all of them that were
    /// ready, so that requests of one wake-up leave together.
    pub(super) async fn keep_sending(self) {
        loop {
            self.0.queued.notified().await;
            for link in self.0.state.borrow().links.values() {
                if let Some(sender) = &link.sender
                    && sender.queued_bytes() > 0
                {
                    sender.flush();
                }
            }
        }
    }

    /// A connection to a server has been made.
    pub(super) fn connected(&self, server: ServerId, sender: Rc<Sender>) {
        if let Some(link) = self.0.state.borrow_mut().links.get_mut(&server) {
            link.sender = Some(sender);
        }
        self.change(|calls, now| calls.connected(server, now));
    }

    /// A connection broke or did not come about.
    pub(super) fn disconnected(&self, server: ServerId) {
        if let Some(link) = self.0.state.borrow_mut().links.get_mut(&server) {
            link.sender = None;
        }
        self.change(|calls, now| calls.disconnected(server, now));
    }

    /// The server is not one that this client can ever talk to.
    pub(super) fn refused(&self, server: ServerId) {
        self.change(|calls, now| calls.refused(server, now));
    }

    /// The session is about to end.
    pub(super) fn leave(&self) {
        self.change(Calls::leave);
    }

    /// A message has arrived.
    pub(super) fn received(&self, from: ServerId, frame: Frame) {
        let Frame {
            header,
            body,
            payload,
        } = frame;
        match body {
            Body::Outcome(Err(Failure::SessionExpired)) => self.start_anew(header.session),
            Body::Outcome(outcome) => self.change(|calls, now| {
                calls.received(from, &header, outcome, payload, now);
            }),
            Body::Push(futago_wire::Push::Credits(credits)) => {
                self.change(|calls, now| calls.credits(from, credits, now));
            }
            Body::Request(_) | Body::Peer(_) | Body::PeerAnswer(_) => {}
        }
    }

    /// A server has given up on the session: all that is under way fails, and what comes next
    /// belongs to a new session.
    fn start_anew(&self, expired: SessionId) {
        let mut state = self.0.state.borrow_mut();
        if state.calls.session() != expired {
            return;
        }
        tracing::warn!("the session has expired: open files and locks are lost");
        state.calls = new_calls(&self.0.setup);
        for link in std::mem::take(&mut state.links).into_values() {
            link.task.abort();
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for done in waiting.into_values() {
            // Whoever waited may have gone.
            let _ = done.send((Err(Failure::SessionExpired), Payload::empty()));
        }
        self.0.deadline_changed.notify_one();
    }

    /// Changes the calls and does what comes of it.
    fn change(&self, change: impl FnOnce(&mut Calls, Time)) {
        let mut state = self.0.state.borrow_mut();
        let (clock, now) = (&self.0.setup.clock, wall_clock());
        clock.teach(&mut state.calls, now);
        change(&mut state.calls, now);
        clock.learn(&mut state.calls, now);
        while let Some(output) = state.calls.next_output() {
            self.perform(&mut state, output);
        }
        let next = state.calls.next_deadline();
        // A timer that wakes up too early costs less than one that is set anew with every call.
        if next.is_some_and(|next| state.armed.is_none_or(|armed| next < armed)) {
            self.0.deadline_changed.notify_one();
        }
    }

    fn perform(&self, state: &mut State, output: CallOutput) {
        match output {
            CallOutput::Connect(server) => {
                let task = spawn_local(connection::run(self.clone(), server)).abort_handle();
                state.links.insert(server, Link { sender: None, task });
            }
            CallOutput::Send { to, frame } => {
                if let Some(sender) = state.links.get(&to).and_then(|link| link.sender.as_ref()) {
                    sender.queue(&frame);
                    self.0.queued.notify_one();
                }
            }
            CallOutput::Completed {
                sequence,
                outcome,
                payload,
            } => {
                if let Some(done) = state.waiting.remove(&sequence) {
                    // Whoever waited may have gone.
                    let _ = done.send((outcome, payload));
                }
            }
        }
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.0.setup
    }
}

async fn sleep_for(span: Duration) {
    tokio::time::sleep(std::time::Duration::from_nanos(span.0)).await;
}

impl Context for NodeContext {
    fn now(&self) -> Time {
        self.0.state.borrow_mut().calls.clock(wall_clock())
    }

    fn random(&self) -> u64 {
        random()
    }

    fn session(&self) -> SessionId {
        self.0.state.borrow().calls.session()
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
        self.0.state.borrow_mut().waiting.insert(sequence, done);
        self.change(|calls, now| calls.start(sequence, to, request, payload, now));
        match outcome.await {
            Ok((Ok(reply), payload)) => Ok((reply, payload)),
            Ok((Err(failure), _)) => Err(failure),
            Err(_) => Err(Errno::EIO.into()),
        }
    }

    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        sleep_for(span)
    }
}
