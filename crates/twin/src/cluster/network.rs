//! A network that loses, doubles, delays and reorders messages, and falls apart for a while.

use super::{Consequences, Coverage, Event, Mark};
use crate::random::Random;
use bytes::Bytes;
use futago_base::{Duration, Payload, ServerId, Time};
use futago_wire::{Body, Frame};
use std::collections::BTreeMap;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A server.
    Server(ServerId),
    /// A client, by its number.
    Client(usize),
}

/// Two parties that cannot reach each other for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// One of them.
    pub one: Party,
    /// The other.
    pub other: Party,
    /// From when, since the faults began.
    pub from: Duration,
    /// Until when.
    pub to: Duration,
}

/// A client that does nothing for a while, as if its process were stopped: what arrives waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The client, by its number.
    pub client: usize,
    /// From when, since the faults began.
    pub from: Duration,
    /// Until when.
    pub to: Duration,
}

/// Faults of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// So many of 1,000 messages are lost.
    pub lost_permille: u32,
    /// So many of 1,000 messages arrive twice.
    pub doubled_permille: u32,
    /// So many of 1,000 copies are late.
    pub late_permille: u32,
    /// How late, at most.
    pub late: Duration,
    /// Pairs of parties that cannot reach each other.
    pub partitions: Vec<Partition>,
    /// Parties that stop for a while.
    pub pauses: Vec<Pause>,
}

impl Faults {
    /// The longest time for which a client stops or cannot reach some server.
    pub fn longest_absence(&self) -> Duration {
        let is_client = |party: &Party| matches!(party, Party::Client(_));
        let cuts = self.partitions.iter();
        let cuts = cuts.filter(|cut| is_client(&cut.one) || is_client(&cut.other));
        let cuts = cuts.map(|cut| cut.to.0.saturating_sub(cut.from.0));
        let pauses = self.pauses.iter();
        let pauses = pauses.map(|pause| pause.to.0.saturating_sub(pause.from.0));
        Duration(cuts.chain(pauses).max().unwrap_or_default())
    }
}

/// The network.
pub struct Network {
    random: Random,
    faults: Faults,
    began: Time,
    /// When the latest message of each pair of parties arrives.
    arrivals: BTreeMap<(Party, Party), Time>,
    /// The kinds of faults that there were.
    pub(super) passed: Coverage,
}

/// The time of a message without faults: drawn between the two, so that messages overtake.
const LATENCY_MIN: Duration = Duration::from_micros(20);
const LATENCY_SPREAD: Duration = Duration::from_micros(80);
/// So many of 1,000 copies that clients send each other are damaged while there are faults.
const DAMAGED_PERMILLE: u32 = 50;

impl Network {
    /// A network without faults.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed, 1),
            faults: Faults::default(),
            began: Time(0),
            arrivals: BTreeMap::new(),
            passed: Coverage::default(),
        }
    }

    /// From now on, these faults happen.
    pub fn set_faults(&mut self, faults: Faults, now: Time) {
        self.faults = faults;
        self.began = now;
    }

    /// Whether messages get lost, arrive twice or late, or parties cannot reach each other.
    pub fn has_faults(&self) -> bool {
        self.faults != Faults::default()
    }

    /// For how long a client is still paused.
    pub fn paused(&self, client: usize, now: Time) -> Option<Duration> {
        let since = now.since(self.began);
        let mut pauses = self.faults.pauses.iter();
        let pause = pauses
            .find(|pause| pause.client == client && (pause.from..pause.to).contains(&since))?;
        Some(Duration(pause.to.0 - since.0))
    }

    /// Sends a message: it arrives once, twice or never.
    pub fn send(
        &mut self,
        now: Time,
        from: Party,
        to: Party,
        event: &Event,
        out: &mut Consequences,
    ) {
        let lost = self.random.chance(self.faults.lost_permille);
        let doubled = self.random.chance(self.faults.doubled_permille);
        let apart = self.is_apart(now, from, to);
        self.passed.add_if(lost, Mark::MessageLost);
        self.passed.add_if(apart, apart_mark(from, to));
        if lost || apart {
            return;
        }
        self.passed.add_if(doubled, Mark::MessageDoubled);
        for _ in 0..=u32::from(doubled) {
            let latency = self.latency();
            self.note_arrival(from, to, now + latency);
            out.push((latency, event.clone()));
        }
    }

    /// The memory of a client that sends a copy is damaged now and then, while there are faults.
    pub(super) fn damage_copy(&mut self, frame: &mut Frame) {
        let is_copy = matches!(frame.body, Body::CacheReply(_)) && !frame.payload.is_empty();
        if is_copy && self.has_faults() && self.random.chance(DAMAGED_PERMILLE) {
            let mut bytes = frame.payload.bytes().to_vec();
            let at = self.random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1;
            frame.payload = Payload::from(Bytes::from(bytes));
        }
    }

    fn note_arrival(&mut self, from: Party, to: Party, at: Time) {
        let latest = self.arrivals.entry((from, to)).or_insert(at);
        self.passed.add_if(at < *latest, Mark::MessageOvertaken);
        *latest = at.max(*latest);
    }

    fn latency(&mut self) -> Duration {
        let latency = LATENCY_MIN.0 + self.random.below(LATENCY_SPREAD.0);
        if self.random.chance(self.faults.late_permille) {
            self.passed.add(Mark::MessageLate);
            return Duration(latency + self.random.below(self.faults.late.0.max(1)));
        }
        Duration(latency)
    }

    fn is_apart(&self, now: Time, from: Party, to: Party) -> bool {
        let since = now.since(self.began);
        self.faults.partitions.iter().any(|partition| {
            let ends = (partition.one, partition.other);
            (ends == (from, to) || ends == (to, from))
                && (partition.from..partition.to).contains(&since)
        })
    }
}

const fn apart_mark(from: Party, to: Party) -> Mark {
    match (from, to) {
        (Party::Server(_), Party::Server(_)) => Mark::ServersApart,
        _ => Mark::ClientApart,
    }
}
