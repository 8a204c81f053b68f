//! A simulated client's way to the world: its calls are the real ones, its time is virtual.

use super::{Defect, clock::WallClock, sharing::Sharing};
use crate::random::Random;
use bytes::Bytes;
use futago_base::{Duration, Errno, Moment, Payload, ServerId, SessionId, Time, record::Door};
use futago_client::Context;
use futago_driver::{CallOutput, Calls, CallsConfig};
use futago_wire::{
    Body, CacheReply, CacheRequest, Failure, Frame, Holder, Outcome, Reply, Request,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Quicker than real clients are, so that a scenario with losses takes less virtual time.
pub(super) const CALLS: CallsConfig = CallsConfig {
    window: 64,
    window_max: 1024,
    queue_max: 16_384,
    resend_min: Duration::from_millis(200),
    resend_max: Duration::from_secs(1),
    busy_min: Duration::from_millis(1),
    busy_max: Duration::from_millis(100),
    busy_give_up: Duration::from_secs(60),
    connect_min: Duration::from_millis(10),
    connect_max: Duration::from_secs(1),
    give_up: Duration::from_secs(60),
    leases: false,
};

/// Clients are on so many hosts.
const HOSTS: u64 = 3;

/// The state of a call for the task that waits for it.
enum Wait {
    For(Option<Waker>),
    Over(Box<(Outcome, Payload)>),
}

/// State that a client's operations share.
pub(super) struct Shared {
    /// The time of the world.
    pub now: Time,
    pub wall: WallClock,
    pub defect: Option<Defect>,
    calls: Calls,
    /// Messages to send.
    sent: Vec<(ServerId, Frame)>,
    /// The messages between clients.
    pub sharing: Sharing,
    random: Random,
    waiting: BTreeMap<u64, Wait>,
    due: Vec<(Time, Waker)>,
}

impl Shared {
    /// Does what the calls say. A connection comes about at once: what the network does to messages
    /// is up to the network.
    fn perform(&mut self) {
        while let Some(output) = self.calls.next_output() {
            match output {
                CallOutput::Connect(server) => self.calls.connected(server, self.moment()),
                CallOutput::Send { to, frame } => self.sent.push((to, frame)),
                CallOutput::Completed {
                    sequence,
                    outcome,
                    payload,
                } => self.complete(sequence, outcome, payload),
            }
        }
    }

    fn moment(&self) -> Moment {
        self.wall.moment(self.now)
    }

    fn complete(&mut self, sequence: u64, outcome: Outcome, payload: Payload) {
        let over = Wait::Over(Box::new((outcome, payload)));
        if let Some(wait) = self.waiting.get_mut(&sequence)
            && let Wait::For(Some(waker)) = std::mem::replace(wait, over)
        {
            waker.wake();
        }
    }

    fn poll_call(
        &mut self,
        sequence: u64,
        waker: &Waker,
    ) -> Poll<Result<(Reply, Payload), Failure>> {
        match self.waiting.remove(&sequence) {
            Some(Wait::Over(answer)) => {
                let (outcome, payload) = *answer;
                Poll::Ready(outcome.map(|reply| (reply, payload)))
            }
            Some(Wait::For(_)) => {
                let wait = Wait::For(Some(waker.clone()));
                self.waiting.insert(sequence, wait);
                Poll::Pending
            }
            None => Poll::Ready(Err(Errno::EIO.into())),
        }
    }
}

/// The context of a simulated client.
#[derive(Clone)]
pub struct SimulatedContext(pub(super) Rc<RefCell<Shared>>);

impl SimulatedContext {
    pub(super) fn new(
        session: SessionId,
        map_epoch: u32,
        calls: CallsConfig,
        seed: u64,
        now: Time,
        defect: Option<Defect>,
    ) -> Self {
        Self(Rc::new(RefCell::new(Shared {
            now,
            wall: WallClock::default(),
            defect,
            calls: Calls::new(session, map_epoch, calls),
            sent: Vec::new(),
            sharing: Sharing::default(),
            random: Random::new(seed, session.0 + 1000),
            waiting: BTreeMap::new(),
            due: Vec::new(),
        })))
    }

    /// The time of the world, which never steps.
    pub fn true_time(&self) -> Time {
        self.0.borrow().now
    }

    /// The numbers of the requests that have no reply.
    pub(super) fn unanswered(&self) -> Vec<u64> {
        self.0.borrow().calls.sequences().collect()
    }

    /// An answer has come.
    pub(super) fn receive(&self, from: ServerId, frame: Frame) {
        let Body::Outcome(outcome) = frame.body else {
            return;
        };
        self.change(|calls, now| calls.received(from, &frame.header, outcome, frame.payload, now));
    }

    /// Wakes everybody whose time has come, and gives the calls theirs.
    pub(super) fn wake_due(&self) {
        let mut shared = self.0.borrow_mut();
        let now = shared.now;
        shared.due.retain(|(at, waker)| {
            if *at <= now {
                waker.wake_by_ref();
            }
            *at > now
        });
        drop(shared);
        self.change(Calls::tick);
    }

    /// The next time at which a task is to be woken.
    pub(super) fn next_due(&self) -> Option<Time> {
        let shared = self.0.borrow();
        let sleepers = shared.due.iter().map(|(at, _)| *at);
        sleepers.chain(shared.calls.next_deadline()).min()
    }

    /// The messages to send since the last call.
    pub(super) fn take_sent(&self) -> Vec<(ServerId, Frame)> {
        std::mem::take(&mut self.0.borrow_mut().sent)
    }

    fn change(&self, change: impl FnOnce(&mut Calls, Moment)) {
        let mut shared = self.0.borrow_mut();
        let now = shared.moment();
        change(&mut shared.calls, now);
        shared.perform();
    }
}

impl Context for SimulatedContext {
    fn now(&self) -> Time {
        let shared = self.0.borrow();
        let Moment { steady, stamp } = shared.moment();
        if shared.defect == Some(Defect::ClientsMeasureByWallClock) {
            stamp
        } else {
            steady
        }
    }

    fn stamp(&self) -> Time {
        let mut shared = self.0.borrow_mut();
        let wall = shared.moment().stamp;
        shared.calls.clock(wall)
    }

    fn random(&self) -> u64 {
        self.0.borrow_mut().random.next()
    }

    fn session(&self) -> SessionId {
        self.0.borrow().calls.session()
    }

    fn next_sequence(&self) -> u64 {
        self.0.borrow_mut().calls.next_sequence()
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        let defect = self.0.borrow().defect;
        let misread = defect.map(|defect| (defect, request.clone()));
        let presumed = defect.and_then(|defect| defect.presumed(&request));
        if presumed.is_none() {
            let wait = Wait::For(None);
            self.0.borrow_mut().waiting.insert(sequence, wait);
        }
        self.change(|calls, now| calls.start(sequence, to, request, payload, now));
        if let Some(presumed) = presumed {
            return Ok((presumed, Payload::empty()));
        }
        let called = poll_fn(|task| self.0.borrow_mut().poll_call(sequence, task.waker())).await;
        match misread {
            Some((defect, request)) => defect.misread(&request, called),
            None => called,
        }
    }

    fn door(&self) -> Option<Door> {
        let shared = self.0.borrow();
        shared.sharing.is_on.then(|| Door {
            host: shared.calls.session().0 % HOSTS,
            address: Bytes::new(),
        })
    }

    fn heard_of_client(&self, session: SessionId) -> u64 {
        self.0.borrow().sharing.heard_of(session)
    }

    async fn ask_client(
        &self,
        holder: Arc<Holder>,
        request: CacheRequest,
    ) -> Option<(CacheReply, Payload)> {
        let number = {
            let shared = &mut *self.0.borrow_mut();
            let (session, defect) = (shared.calls.session(), shared.defect);
            shared.sharing.ask(session, holder.session, request, defect)
        };
        let answer = poll_fn(|task| {
            let mut shared = self.0.borrow_mut();
            shared.sharing.poll_answer(number, task.waker())
        });
        Some(answer.await)
    }

    async fn sleep(&self, span: Duration) {
        let until = self.0.borrow().now + span;
        let mut is_set = false;
        poll_fn(|task| {
            let mut shared = self.0.borrow_mut();
            if shared.now >= until {
                return Poll::Ready(());
            }
            if !is_set {
                is_set = true;
                shared.due.push((until, task.waker().clone()));
            }
            Poll::Pending
        })
        .await;
    }
}
