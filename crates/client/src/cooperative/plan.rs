//! The clients that are asked for the pieces of a file.

use crate::{
    Config,
    cache::{Cache, CacheUndo},
};
use alloc::{sync::Arc, vec::Vec};
use core::ops::Range;
use futago_base::{SessionId, Time};
use futago_wire::{CopySource, Holder, SharingCounters, cache::PIECE_BYTES};
use serde::Serialize;

/// The pieces that the first request for a file plans: a client counts as a holder of what it has
/// planned, and a program may read parts in any order.
const PIECES_MIN: u64 = 1;
/// While a program reads on, each request plans so many times as many.
const GROWTH: u64 = 16;
/// The most pieces that one request plans.
const PIECES_MAX: u64 = 64;
/// A reader that skips no more pieces goes on: pieces that are read ahead arrive in any order.
const SKIPPED_MAX: u64 = 4;
/// The most clients that a plan remembers as failed.
const FAILED_MAX: usize = 64;
/// The most clients that are remembered as silent.
const SILENT_MAX: usize = 1024;

/// The client to ask for a piece, and how many caches the piece passes through up to there.
pub type Assigned = (Arc<Holder>, u8);

/// The clients to ask for consecutive pieces of a file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    /// The data version of the file that it was made for.
    version: u64,
    /// The number of the first planned piece.
    first: u64,
    /// For each piece the client to ask; `None` for the servers.
    sources: Vec<Option<Assigned>>,
    /// The end of what was read, or is being read, in bytes.
    position: u64,
    /// How many pieces the next request plans.
    next: u64,
    /// The clients that have not answered, or more than once had nothing.
    failed: Vec<SessionId>,
    /// The clients that once had nothing.
    missed: Vec<SessionId>,
}

impl Plan {
    /// Nothing is planned yet of this version.
    pub const fn new(version: u64) -> Self {
        Self {
            version,
            first: 0,
            sources: Vec::new(),
            position: 0,
            next: PIECES_MIN,
            failed: Vec::new(),
            missed: Vec::new(),
        }
    }

    /// Whether it was made for this version of the data.
    pub const fn is_of(&self, version: u64) -> bool {
        self.version == version
    }

    /// The planned pieces.
    pub const fn pieces(&self) -> Range<u64> {
        self.first..self.first + self.sources.len() as u64
    }

    /// The client reads up to an offset now.
    pub const fn read_up_to(&mut self, offset: u64) {
        self.position = offset;
    }

    /// Whether the client has planned to read from an offset on, and has not got there yet.
    pub fn is_ahead(&self, offset: u64) -> bool {
        offset >= self.position && self.pieces().contains(&(offset / PIECE_BYTES))
    }

    /// The client to ask for a piece, or the servers; `None` if that is not planned.
    pub fn source(&self, piece: u64) -> Option<Option<&Assigned>> {
        let at = piece.checked_sub(self.first)?;
        self.sources.get(at as usize).map(Option::as_ref)
    }

    /// The pieces to plan next, for a reader of `wanted`, of a file with so many pieces.
    pub fn missing(&self, wanted: &Range<u64>, pieces: u64) -> Option<Range<u64>> {
        let planned = self.pieces();
        let is_near = (planned.start..=planned.end + SKIPPED_MAX).contains(&wanted.start);
        let goes_on = is_near && planned.end > 0;
        let from = if goes_on { planned.end } else { wanted.start };
        let next = if goes_on { self.next } else { PIECES_MIN };
        let to = (from + next).max(wanted.end).min(pieces);
        (from < wanted.end && from < to).then_some(from..to)
    }

    /// The clients that failed.
    pub fn failed(&self) -> &[SessionId] {
        &self.failed
    }

    /// Takes in the reply about the pieces from `first` on; no sources mean the servers.
    pub fn extend(
        &mut self,
        asked: &Range<u64>,
        holders: Vec<Holder>,
        sources: &[Option<CopySource>],
    ) {
        if self.pieces().end != asked.start {
            (self.first, self.next) = (asked.start, PIECES_MIN);
            self.sources.clear();
            // Elsewhere they may have pieces.
            self.failed.clear();
            self.missed.clear();
        }
        let holders: Vec<Arc<Holder>> = holders.into_iter().map(Arc::new).collect();
        let assigned = |source: &CopySource| {
            let holder = holders.get(usize::from(source.holder))?;
            Some((Arc::clone(holder), source.depth))
        };
        let of = |at: u64| sources.get(at as usize)?.as_ref().and_then(assigned);
        self.sources.extend((0..asked.end - asked.start).map(of));
        self.next = (self.next * GROWTH).min(PIECES_MAX);
    }

    /// Forgets the planned pieces before the one that is read now.
    pub fn forget_before(&mut self, piece: u64) {
        let passed = piece.clamp(self.first, self.pieces().end) - self.first;
        self.sources.drain(..passed as usize);
        self.first += passed;
    }

    /// A client has nothing of a piece. It may have others, but is not asked in vain for all.
    pub fn miss(&mut self, session: SessionId, piece: u64) {
        if self.missed.contains(&session) {
            self.fail(session, piece);
        } else if self.missed.len() < FAILED_MAX {
            self.missed.push(session);
        }
    }

    /// A client has failed: the pieces from `piece` on are planned anew, without it.
    pub fn fail(&mut self, session: SessionId, piece: u64) {
        let left = piece.saturating_sub(self.first);
        self.sources.truncate(left as usize);
        if self.failed.len() < FAILED_MAX && !self.failed.contains(&session) {
            self.failed.push(session);
        }
    }
}

/// A client's knowledge of other clients' caches.
#[derive(Debug, Serialize)]
pub struct Sharing {
    /// The plans of files.
    pub plans: Cache<Plan>,
    /// Until when clients are not asked that have not answered.
    pub silent: Cache<Time, SessionId>,
    /// The counters of data that was read and sent.
    pub counters: SharingCounters,
    #[serde(skip)]
    counters_before: Option<SharingCounters>,
}

/// The changes of [`Sharing`] to undo.
#[derive(Debug)]
pub struct SharingUndo {
    plans: CacheUndo<Plan>,
    silent: CacheUndo<Time, SessionId>,
    counters: SharingCounters,
}

impl Sharing {
    /// Nothing is known.
    pub fn new(config: &Config) -> Self {
        Self {
            plans: Cache::new(config.files_max),
            silent: Cache::new(SILENT_MAX),
            counters: SharingCounters::default(),
            counters_before: None,
        }
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.plans.record_changes();
        self.silent.record_changes();
        self.counters_before = Some(self.counters);
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> SharingUndo {
        let now = self.counters_before.map(|_| self.counters);
        SharingUndo {
            plans: self.plans.take_changes(),
            silent: self.silent.take_changes(),
            counters: core::mem::replace(&mut self.counters_before, now).unwrap_or(self.counters),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: SharingUndo) {
        self.plans.take_back(undo.plans);
        self.silent.take_back(undo.silent);
        self.counters = undo.counters;
        self.counters_before = self.counters_before.map(|_| undo.counters);
    }

    /// Whether a client has not answered a while ago.
    pub fn is_silent(&self, session: SessionId, now: Time) -> bool {
        self.silent.get(session).is_some_and(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use bytes::Bytes;
    use futago_base::record::Door;

    fn holder(session: u64) -> Holder {
        Holder {
            session: SessionId(session),
            door: Door {
                host: 0,
                address: Bytes::new(),
            },
        }
    }

    const fn source(holder: u16) -> Option<CopySource> {
        Some(CopySource { holder, depth: 1 })
    }

    fn asked(plan: &Plan, piece: u64) -> Option<Option<SessionId>> {
        let source = plan.source(piece)?;
        Some(source.map(|(holder, _)| holder.session))
    }

    #[test]
    fn the_more_is_planned_the_longer_a_file_is_read_in_order() {
        let mut plan = Plan::new(1);
        assert_eq!(plan.missing(&(0..1), 1000), Some(0..1));
        assert_eq!(plan.missing(&(0..4), 1000), Some(0..4));
        plan.extend(&(0..4), vec![holder(7)], &[None, source(0)]);
        assert_eq!(asked(&plan, 0), Some(None));
        assert_eq!(asked(&plan, 1), Some(Some(SessionId(7))));
        assert_eq!(asked(&plan, 3), Some(None), "the reply was short");
        assert_eq!(plan.missing(&(3..4), 1000), None);
        assert_eq!(plan.missing(&(3..5), 1000), Some(4..20));
        plan.extend(&(4..20), vec![holder(7), holder(8)], &[source(1)]);
        assert_eq!(asked(&plan, 4), Some(Some(SessionId(8))));
        assert_eq!(plan.missing(&(20..21), 1000), Some(20..84));
        assert_eq!(plan.missing(&(20..21), 30), Some(20..30), "the file ends");
        assert_eq!(
            plan.missing(&(22..23), 1000),
            Some(20..84),
            "20 and 21 come"
        );
        assert_eq!(plan.missing(&(500..501), 1000), Some(500..501));
    }

    #[test]
    fn what_was_read_is_forgotten_and_a_read_elsewhere_begins_anew() {
        let mut plan = Plan::new(1);
        plan.extend(&(0..4), Vec::new(), &[]);
        plan.forget_before(3);
        assert_eq!(plan.pieces(), 3..4);
        plan.extend(&(100..104), Vec::new(), &[]);
        assert_eq!(plan.pieces(), 100..104);
        plan.forget_before(2);
        assert_eq!(plan.pieces(), 100..104);
    }

    #[test]
    fn what_was_passed_over_does_not_come() {
        let mut plan = Plan::new(1);
        plan.extend(&(0..4), Vec::new(), &[]);
        plan.read_up_to(PIECE_BYTES / 2);
        assert!(!plan.is_ahead(0));
        assert!(plan.is_ahead(PIECE_BYTES / 2));
        assert!(plan.is_ahead(3 * PIECE_BYTES));
        assert!(!plan.is_ahead(4 * PIECE_BYTES), "it is not planned");
    }

    #[test]
    fn a_client_that_has_nothing_of_one_piece_is_asked_for_others() {
        let mut plan = Plan::new(1);
        plan.extend(&(0..4), vec![holder(7)], &[source(0); 4]);
        plan.miss(SessionId(7), 1);
        assert_eq!(asked(&plan, 2), Some(Some(SessionId(7))));
        plan.miss(SessionId(7), 2);
        assert_eq!(plan.failed(), [SessionId(7)]);
        assert_eq!(plan.pieces(), 0..2);
    }

    #[test]
    fn pieces_from_a_failure_on_are_planned_anew_without_the_client() {
        let mut plan = Plan::new(1);
        plan.extend(&(0..4), vec![holder(7)], &[source(0); 4]);
        plan.fail(SessionId(7), 1);
        assert_eq!(plan.failed(), [SessionId(7)]);
        assert_eq!(plan.missing(&(1..2), 1000), Some(1..17));
        plan.extend(&(500..504), Vec::new(), &[]);
        assert_eq!(plan.failed(), [], "elsewhere it may have pieces");
    }
}
