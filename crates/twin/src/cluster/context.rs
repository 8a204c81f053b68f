//! A simulated client's way to the world.

use super::Sent;
use crate::random::Random;
use futago_base::{Duration, Errno, Payload, ServerId, SessionId, Time};
use futago_client::Context;
use futago_wire::{Failure, Outcome, Reply, Request};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// How long to wait for an answer before a request is sent again, at first and at most.
const RESEND_MIN: Duration = Duration::from_millis(200);
const RESEND_MAX: Duration = Duration::from_secs(1);
/// The first and the longest pause after a server said that it is busy.
const BUSY_MIN: Duration = Duration::from_millis(1);
const BUSY_MAX: Duration = Duration::from_millis(100);
/// A server that has not answered for this long is given up.
const GIVE_UP: Duration = Duration::from_secs(60);

/// What a client's operations share.
pub(super) struct Shared {
    pub now: Time,
    pub session: SessionId,
    pub sent: Vec<Sent>,
    random: Random,
    drawn: u64,
    under_way: BTreeSet<u64>,
    answers: BTreeMap<u64, (Outcome, Payload)>,
    waiting: BTreeMap<u64, Waker>,
    due: Vec<(Time, Waker)>,
}

/// The context of a simulated client.
#[derive(Clone)]
pub struct SimulatedContext(pub(super) Rc<RefCell<Shared>>);

impl SimulatedContext {
    pub(super) fn new(session: SessionId, seed: u64, now: Time) -> Self {
        Self(Rc::new(RefCell::new(Shared {
            now,
            session,
            sent: Vec::new(),
            random: Random::new(seed, session.0 + 1000),
            drawn: 0,
            under_way: BTreeSet::new(),
            answers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            due: Vec::new(),
        })))
    }

    /// An answer has come; a second copy is ignored.
    pub(super) fn receive(&self, sequence: u64, answer: (Outcome, Payload)) {
        let mut shared = self.0.borrow_mut();
        if let Some(waker) = shared.waiting.remove(&sequence) {
            shared.answers.insert(sequence, answer);
            waker.wake();
        }
    }

    /// Wakes everybody whose time has come.
    pub(super) fn wake_due(&self) {
        let mut shared = self.0.borrow_mut();
        let now = shared.now;
        shared.due.retain(|(at, waker)| {
            if *at <= now {
                waker.wake_by_ref();
            }
            *at > now
        });
    }

    /// The next time at which somebody wants to be woken.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.0.borrow().due.iter().map(|(at, _)| *at).min()
    }

    fn send(&self, to: ServerId, sequence: u64, request: &Request, payload: &Payload) {
        let mut shared = self.0.borrow_mut();
        let first = shared.under_way.first().copied();
        let sent = Sent {
            to,
            sequence,
            acknowledged: first.map_or(shared.drawn, |first| first - 1),
            request: request.clone(),
            payload: payload.clone(),
        };
        shared.sent.push(sent);
    }

    /// The answer, or nothing if none has come until `deadline`.
    async fn answer(&self, sequence: u64, deadline: Time) -> Option<(Outcome, Payload)> {
        let mut is_set = false;
        poll_fn(|task| {
            let mut shared = self.0.borrow_mut();
            if let Some(answer) = shared.answers.remove(&sequence) {
                return Poll::Ready(Some(answer));
            }
            if shared.now >= deadline {
                shared.waiting.remove(&sequence);
                return Poll::Ready(None);
            }
            if !is_set {
                is_set = true;
                shared.due.push((deadline, task.waker().clone()));
            }
            shared.waiting.insert(sequence, task.waker().clone());
            Poll::Pending
        })
        .await
    }

    async fn exchange(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        let (mut resend, mut pause) = (RESEND_MIN, BUSY_MIN);
        let mut heard = self.now();
        loop {
            self.send(to, sequence, &request, &payload);
            match self.answer(sequence, self.now() + resend).await {
                None if self.now().since(heard) > GIVE_UP => return Err(Errno::EIO.into()),
                None => resend = Duration(resend.times(2).0.min(RESEND_MAX.0)),
                Some((Err(Failure::Busy), _)) => {
                    heard = self.now();
                    self.sleep(pause).await;
                    pause = Duration(pause.times(2).0.min(BUSY_MAX.0));
                }
                Some((outcome, payload)) => return outcome.map(|reply| (reply, payload)),
            }
        }
    }
}

impl Context for SimulatedContext {
    fn now(&self) -> Time {
        self.0.borrow().now
    }

    fn random(&self) -> u64 {
        self.0.borrow_mut().random.next()
    }

    fn session(&self) -> SessionId {
        self.0.borrow().session
    }

    fn next_sequence(&self) -> u64 {
        let mut shared = self.0.borrow_mut();
        shared.drawn += 1;
        shared.drawn
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        self.0.borrow_mut().under_way.insert(sequence);
        let outcome = self.exchange(to, sequence, request, payload).await;
        self.0.borrow_mut().under_way.remove(&sequence);
        outcome
    }

    async fn sleep(&self, span: Duration) {
        let until = self.now() + span;
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
