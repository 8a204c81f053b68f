//! A simulated client's way to the world, for as long as one event lasts.

use bytes::Bytes;
use futago_base::{Duration, Payload, ServerId, SessionId, Time, record::Door};
use futago_client::Context;
use futago_driver::Calls;
use futago_wire::{
    CacheReply, CacheRequest, Failure, Holder, LeaseRecall, Outcome, Reply, Request,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// The address of every client that shares its cache. Messages find it by its session, so only the
/// length counts.
const ADDRESS: &[u8] = b"192.0.2.100:40000";

/// An answer to one of an operation's calls.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Answer {
    pub sequence: u64,
    pub outcome: Outcome,
    pub payload: Payload,
}

/// An answer of another client.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Copied {
    pub sequence: u64,
    pub reply: CacheReply,
    pub payload: Payload,
}

/// Leases that a server recalls.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Recalled {
    pub server: ServerId,
    pub recalls: Vec<LeaseRecall>,
}

/// A request to another client, to be sent.
#[derive(Debug)]
pub struct Asked {
    pub to: SessionId,
    pub sequence: u64,
    pub request: CacheRequest,
}

/// A moment in which an operation went on.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Step {
    pub now: Time,
    pub session: SessionId,
    pub answer: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied: Option<Box<Copied>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recalled: Option<Box<Recalled>>,
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
    copied: Option<Box<Copied>>,
    sharing: Sharing,
    wake: Option<Time>,
    pauses: u32,
}

/// The operation's dealings with other clients.
#[derive(Default)]
struct Sharing {
    /// The host of the client, if it shares its cache.
    host: Option<u32>,
    /// Requests to send.
    asked: Vec<Asked>,
    /// The clients that were asked, by the numbers of the requests.
    holders: BTreeMap<u64, SessionId>,
    /// How many messages of each client have arrived.
    heard: BTreeMap<SessionId, u64>,
    /// While other clients are answered: since when the answer waits for what is planned.
    waiting: Option<Option<Time>>,
}

impl<'a> Leaves<'a> {
    /// Those of an operation of a client, which shares its cache if its `host` is known.
    pub fn new(
        calls: &'a mut Calls,
        sequences: &'a mut Vec<u64>,
        random: u64,
        host: Option<u32>,
    ) -> Self {
        Self(RefCell::new(State {
            live: false,
            now: Time(0),
            session: SessionId(0),
            calls,
            sequences,
            redrawn: 0,
            random,
            answer: None,
            copied: None,
            sharing: Sharing {
                host,
                ..Sharing::default()
            },
            wake: None,
            pauses: 0,
        }))
    }

    /// Begins a step, perhaps with a reply. Calls of a live step are really made.
    pub fn begin(&self, step: &Step, live: bool) {
        let mut state = self.0.borrow_mut();
        state.now = step.now;
        state.session = step.session;
        state.answer = step.answer.clone();
        state.copied = step.copied.clone();
        state
            .copied
            .take_if(|copied| copied.reply == CacheReply::Coming);
        state.live = live;
        state.wake = None;
        state.sharing.hear(step.copied.as_deref());
    }

    /// Begins to answer another client, which may have been waiting since a time for what this one
    /// has planned to read.
    pub fn begin_answer(&self, now: Time, waits_since: Option<Time>) {
        let mut state = self.0.borrow_mut();
        state.now = now;
        state.live = false;
        state.wake = None;
        state.sharing.waiting = Some(waits_since);
    }

    /// Since when the answer has been waiting.
    pub fn waits_since(&self) -> Option<Time> {
        self.0.borrow().sharing.waiting.flatten()
    }

    /// The requests to other clients that are to be sent.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.0.borrow_mut().sharing.asked)
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

    fn door(&self) -> Option<Door> {
        let host = self.0.borrow().sharing.host?;
        Some(Door {
            host: host.into(),
            address: Bytes::from_static(ADDRESS),
        })
    }

    fn heard_of_client(&self, session: SessionId) -> u64 {
        let state = self.0.borrow();
        state.sharing.heard.get(&session).copied().unwrap_or(0)
    }

    async fn ask_client(
        &self,
        holder: Arc<Holder>,
        request: CacheRequest,
    ) -> Option<(CacheReply, Payload)> {
        let sequence = self.next_sequence();
        self.0.borrow_mut().ask(holder.session, sequence, request);
        let answer = poll_fn(|_| {
            let mut state = self.0.borrow_mut();
            let is_for = |copied: &mut Box<Copied>| copied.sequence == sequence;
            state
                .copied
                .take_if(is_for)
                .map_or(Poll::Pending, Poll::Ready)
        });
        let Copied { reply, payload, .. } = *answer.await;
        Some((reply, payload))
    }

    async fn sleep(&self, span: Duration) {
        let until = self.0.borrow_mut().sleeps_from() + span;
        poll_fn(|_| {
            let mut state = self.0.borrow_mut();
            if state.now >= until {
                return Poll::Ready(());
            }
            state.wake = Some(state.wake.map_or(until, |wake| wake.min(until)));
            Poll::Pending
        })
        .await;
        // A time limit that has not been reached is no pause.
        self.0.borrow_mut().pauses += 1;
    }
}

impl State<'_> {
    fn ask(&mut self, to: SessionId, sequence: u64, request: CacheRequest) {
        self.sharing.holders.insert(sequence, to);
        if self.live {
            self.sharing.asked.push(Asked {
                to,
                sequence,
                request,
            });
        }
    }

    /// Each event answers other clients anew, and their waiting goes on.
    fn sleeps_from(&mut self) -> Time {
        let now = self.now;
        match &mut self.sharing.waiting {
            Some(since) => *since.get_or_insert(now),
            None => now,
        }
    }
}

impl Sharing {
    /// Takes note of a message of another client.
    fn hear(&mut self, copied: Option<&Copied>) {
        let holder = copied.and_then(|copied| self.holders.get(&copied.sequence));
        if let Some(holder) = holder {
            *self.heard.entry(*holder).or_default() += 1;
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn scrambled(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
