//! A process that looks for messages: what comes to it, and what it finds.

use crate::world::event::Event;
use crate::world::message::Party;
use futago_base::Duration;
use futago_driver::{Contention, SpinLimit};
use serde::Serialize;
use std::collections::VecDeque;

/// A process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Where it is, or has been last.
    pub core: usize,
    /// It is in the core's queue.
    pub is_awake: bool,
    /// It has been woken, and has not run since then.
    pub is_woken: bool,
    /// Until when it works, or has worked last.
    works_until_ns: u64,
    /// The same of what was whole.
    idle_since_ns: u64,
    /// Since when it waits for a message.
    pub waits_since_ns: Option<u64>,
    pub spin_limit: SpinLimit,
    pub contention: Contention,
    /// Messages that it has not found yet, or has found together with its present work.
    #[serde(skip)]
    inbox: VecDeque<Coming>,
    /// How much of it was found together.
    found: usize,
    /// The sender of its latest work.
    last_from: Option<Party>,
}

/// Something that a process has not found yet, or only in part.
#[derive(Clone, Debug)]
struct Coming {
    event: Event,
    /// How much of the message's data it has taken out.
    taken_bytes: usize,
}

/// The next work of a process.
#[derive(Debug)]
pub struct Found {
    pub event: Event,
    /// How much of the message's data it has taken out in earlier time slices.
    pub taken_bytes: usize,
    /// It takes out this many more bytes in this slice and leaves the rest to later ones, because
    /// that has not arrived.
    pub part_bytes: Option<usize>,
    /// It is the first of what it has found together from the same sender.
    pub is_first: bool,
    /// How long it had had nothing to do.
    pub idle_ns: u64,
    /// How many others its core had when its time slice began; none if it continues in the same
    /// slice.
    pub others_before: usize,
    /// It has been woken for this.
    pub is_woken: bool,
}

impl Coming {
    /// From when on there is something to find that has not been taken out.
    fn found_from_ns(&self) -> u64 {
        match &self.event {
            Event::Delivered(message) if self.taken_bytes > 0 => {
                message.published_beyond_ns(self.taken_bytes)
            }
            _ => 0,
        }
    }

    /// The bytes that are there and have not been taken out, if the rest of the message is still to
    /// come.
    fn part_bytes(&self, ns: u64) -> Option<usize> {
        let Event::Delivered(message) = &self.event else {
            return None;
        };
        let published_bytes = message.published_bytes(ns);
        (published_bytes < message.payload.len()).then_some(published_bytes - self.taken_bytes)
    }

    /// Takes so much out. Returns what it was before.
    fn take(&mut self, bytes: usize) -> Self {
        let before = self.clone();
        self.taken_bytes += bytes;
        before
    }
}

impl Process {
    /// One that is there when it begins.
    pub fn on_core(core: usize) -> Self {
        Self {
            core,
            ..Self::default()
        }
    }

    /// There is something for it to find.
    pub fn arrive(&mut self, event: Event) {
        let taken_bytes = 0;
        self.inbox.push_back(Coming { event, taken_bytes });
    }

    /// From when on there is something to find for it, and it is there to look.
    pub fn finds_from_ns(&self) -> Option<u64> {
        let from_ns = self.inbox.iter().map(Coming::found_from_ns).min();
        from_ns.map(|from_ns| from_ns.max(self.works_until_ns))
    }

    /// Its work now, after other processes had their slices. A process alone on its core takes out
    /// a whole message in one slice, as fast as it arrives.
    pub fn find(&mut self, ns: u64, is_alone: bool, others_before: usize) -> Option<Found> {
        let place = self.inbox.iter().position(|at| at.found_from_ns() <= ns)?;
        let part_bytes = self.inbox[place].part_bytes(ns).filter(|_| !is_alone);
        let is_first = part_bytes.is_none() && self.is_first(place, ns);
        let Coming { event, taken_bytes } = match part_bytes {
            Some(bytes) => self.inbox[place].take(bytes),
            None => self.inbox.remove(place)?,
        };
        if part_bytes.is_some() {
            self.found = 0;
        }
        Some(Found {
            event,
            taken_bytes,
            part_bytes,
            is_first,
            idle_ns: ns - self.idle_since_ns,
            others_before,
            is_woken: std::mem::take(&mut self.is_woken),
        })
    }

    /// Whether the message at this place is the first of those from the same sender that it finds
    /// together.
    fn is_first(&mut self, place: usize, ns: u64) -> bool {
        let finds_anew = self.found == 0;
        if finds_anew {
            let found = self.inbox.iter().filter(|at| at.found_from_ns() <= ns);
            self.found = found.count();
        }
        self.found -= 1;
        let from = match &self.inbox[place].event {
            Event::Delivered(message) => Some(message.from),
            _ => None,
        };
        let is_other = self.last_from != from;
        self.last_from = from;
        finds_anew || is_other
    }

    /// It works until then. A message that is taken out in part is no work yet.
    pub fn work_until(&mut self, ns: u64) {
        self.works_until_ns = ns;
        if self.inbox.iter().all(|coming| coming.taken_bytes == 0) {
            self.idle_since_ns = ns;
        }
    }

    /// It has found something.
    pub fn end_waiting(&mut self, ns: u64) {
        if let Some(since_ns) = self.waits_since_ns.take() {
            self.spin_limit.learn(Duration(ns - since_ns));
        }
    }

    /// Whether it has waited for longer than it has spin_limit.
    pub fn is_tired(&self, ns: u64) -> bool {
        let waited_ns = self
            .waits_since_ns
            .map(|since_ns| ns.saturating_sub(since_ns));
        self.has_found_all() && waited_ns.is_some_and(|ns| ns >= self.spin_limit.span().0)
    }

    /// Whether there is nothing for it, now or while more of it comes.
    pub fn has_found_all(&self) -> bool {
        self.inbox.is_empty()
    }
}
