//! A simulated client's way to the world, for as long as one event lasts.

use futago_base::{Duration, Payload, ServerId, SessionId, Time};
use futago_client::Context;
use futago_driver::Calls;
use futago_wire::{Failure, Outcome, Reply, Request};
use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

/// An answer to one of an operation's calls.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Answer {
    pub sequence: u64,
    pub outcome: Outcome,
    pub payload: Payload,
}

/// The leaves of one operation: what it calls, draws and reads, again and again as it is run from
/// its beginning.
///
/// Until it is live, the operation only repeats what it has done before: it gets the same numbers,
/// and what it sends has been sent.
pub struct Leaves<'a>(RefCell<State<'a>>);

struct State<'a> {
    live: bool,
    now: Time,
    session: SessionId,
    calls: &'a mut Calls,
    /// The sequence numbers that the operation has drawn, and how many of them it has drawn again.
    sequences: &'a mut Vec<u64>,
    redrawn: usize,
    random: u64,
    answer: Option<Answer>,
    wake: Option<Time>,
    pauses: u32,
}

impl<'a> Leaves<'a> {
    pub const fn new(calls: &'a mut Calls, sequences: &'a mut Vec<u64>, random: u64) -> Self {
        Self(RefCell::new(State {
            live: false,
            now: Time(0),
            session: SessionId(0),
            calls,
            sequences,
            redrawn: 0,
            random,
            answer: None,
            wake: None,
            pauses: 0,
        }))
    }

    /// Begins a step at this time, perhaps with a reply. Calls of a live step are really made.
    pub fn begin(&self, now: Time, session: SessionId, answer: Option<Answer>, live: bool) {
        let mut state = self.0.borrow_mut();
        state.now = now;
        state.session = session;
        state.answer = answer;
        state.live = live;
        state.wake = None;
    }

    /// When the operation wants to go on without an answer.
    pub fn wake(&self) -> Option<Time> {
        self.0.borrow().wake
    }

    /// How often the operation has paused: each time before it tries again.
    pub fn pauses(&self) -> u32 {
        self.0.borrow().pauses
    }
}

impl Context for &Leaves<'_> {
    fn now(&self) -> Time {
        self.0.borrow().now
    }

    fn random(&self) -> u64 {
        let mut state = self.0.borrow_mut();
        state.random = state.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scrambled(state.random)
    }

    fn session(&self) -> SessionId {
        self.0.borrow().session
    }

    fn next_sequence(&self) -> u64 {
        let state = &mut *self.0.borrow_mut();
        if state.redrawn == state.sequences.len() {
            state.sequences.push(state.calls.next_sequence());
        }
        state.redrawn += 1;
        state.sequences[state.redrawn - 1]
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        {
            let state = &mut *self.0.borrow_mut();
            if state.live {
                let now = state.now;
                state.calls.start(sequence, to, request, payload, now);
            }
        }
        let answer = poll_fn(|_| {
            let mut state = self.0.borrow_mut();
            match state.answer.take_if(|answer| answer.sequence == sequence) {
                Some(answer) => Poll::Ready(answer),
                None => Poll::Pending,
            }
        });
        let Answer {
            outcome, payload, ..
        } = answer.await;
        outcome.map(|reply| (reply, payload))
    }

    async fn sleep(&self, span: Duration) {
        let until = self.now() + span;
        self.0.borrow_mut().pauses += 1;
        poll_fn(|_| {
            let mut state = self.0.borrow_mut();
            if state.now >= until {
                return Poll::Ready(());
            }
            state.wake = Some(state.wake.map_or(until, |wake| wake.min(until)));
            Poll::Pending
        })
        .await;
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn scrambled(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
