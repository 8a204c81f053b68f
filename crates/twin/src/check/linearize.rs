//! Is there an order of the operations that explains what all clients saw?
//!
//! The search of Wing and Gong (J. Parallel Distrib. Comput. 17, 1993) with the memoization of Lowe
//! (Concurrency Computat. Pract. Exper. 29, 2017): an operation may come next if no other one that
//! is still to come had returned before it was called.

use super::slices::{Part, is_partial, is_reading, is_watch, parts};
use super::watch::Watch;
use super::{History, Record, snapshot::difference};
use crate::model::{Call, Observed, Operation, Tree, attempt};
use futago_base::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};

/// The result of the search.
#[derive(Debug)]
pub enum Verdict {
    /// An order explains everything.
    Explained,
    /// None does; the text says how far the best one came.
    Unexplained(String),
    /// The search took too long.
    Undecided,
}

/// After so many states the search gives up.
const STATES_MAX: usize = 400_000;
/// The most parts that a history may have.
const PARTS_MAX: usize = 1024;

/// The circumstances of a history.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Bytes a chunk.
    pub chunk_bytes: u64,
    /// Whether servers may be full.
    pub limited: bool,
    /// How many clients, the first ones, send requests through a kernel, which checks names before
    /// it passes operations on.
    pub kernels: usize,
    /// How long an operation waits for servers that cannot be reached.
    pub grace: Duration,
}

/// Searches an order of `history` that leads from `before` to `after`, or to any state if the final
/// state of the servers is unknown.
pub fn linearize(
    history: &History,
    before: &Tree,
    after: Option<&Tree>,
    setting: Setting,
) -> Verdict {
    let mut search = Search {
        history,
        parts: parts(history, setting),
        alone: alone(history),
        after,
        setting,
        visited: BTreeSet::new(),
        best: (0, String::new()),
    };
    if search.parts.len() > PARTS_MAX {
        return Verdict::Undecided;
    }
    let start = State {
        done: Done::default(),
        watched: BTreeSet::new(),
        watches: BTreeMap::new(),
        tree: before.clone(),
    };
    if search.explore(start) {
        Verdict::Explained
    } else if search.visited.len() >= STATES_MAX {
        Verdict::Undecided
    } else {
        Verdict::Unexplained(search.best.1)
    }
}

/// The result of an operation that was done as a whole, or not at all.
fn observed(record: &Record) -> Option<&Observed> {
    let (_, observed) = record.returned.as_ref()?;
    (!is_partial(record)).then_some(observed)
}

/// Which operations no other one overlaps.
fn alone(history: &History) -> Vec<bool> {
    let overlapped = |index: usize| {
        let others = history.iter().enumerate();
        let mut others = others.filter(|&(other, _)| other != index);
        others.any(|(_, other)| other.overlaps(&history[index]))
    };
    (0..history.len()).map(|index| !overlapped(index)).collect()
}

/// The parts that have taken effect, as bits.
#[derive(Clone, Copy, Default, Hash)]
struct Done([u64; PARTS_MAX / 64]);

impl Done {
    const fn contains(&self, part: usize) -> bool {
        self.0[part / 64] & (1 << (part % 64)) != 0
    }

    const fn with(mut self, part: usize) -> Self {
        self.0[part / 64] |= 1 << (part % 64);
        self
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|bits| bits.count_ones()).sum()
    }
}

/// How far an order has come.
#[derive(Clone, Hash)]
struct State {
    done: Done,
    /// The watches that are over.
    watched: BTreeSet<usize>,
    /// The watches that are under way.
    watches: BTreeMap<usize, Watch>,
    tree: Tree,
}

struct Search<'a> {
    history: &'a History,
    parts: Vec<Part>,
    alone: Vec<bool>,
    after: Option<&'a Tree>,
    setting: Setting,
    visited: BTreeSet<u64>,
    best: (u32, String),
}

impl Search<'_> {
    /// Whether an order that begins like `state` explains everything.
    fn explore(&mut self, mut state: State) -> bool {
        let frontier = self.frontier(&state);
        self.begin_watches(&mut state, frontier);
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        if self.visited.len() >= STATES_MAX || !self.visited.insert(hasher.finish()) {
            return false;
        }
        if self.is_over(&state) {
            return true;
        }
        if let Some(next) = self.advance_idle(&state, frontier) {
            return self.explore(next);
        }
        for index in 0..self.parts.len() {
            if let Some(next) = self.advance(&state, index, frontier)
                && self.explore(next)
            {
                return true;
            }
        }
        self.end_watch(&state, frontier)
            .is_some_and(|next| self.explore(next))
    }

    /// The state after a part that changes nothing in any place. If it may come now, doing so loses
    /// no order, because it never hinders a later part.
    fn advance_idle(&mut self, state: &State, frontier: Time) -> Option<State> {
        (0..self.parts.len()).find_map(|index| {
            let record = &self.history[self.parts[index].operation];
            let idle = is_reading(&record.operation) || matches!(observed(record), Some(Err(_)));
            let next = idle.then(|| self.advance(state, index, frontier))??;
            (next.tree == state.tree).then_some(next)
        })
    }

    /// The earliest return of what must still take effect: nothing called later may come first.
    fn frontier(&self, state: &State) -> Time {
        let parts = self.parts.iter().enumerate();
        let parts = parts.filter(|(index, part)| part.required && !state.done.contains(*index));
        let parts = parts.map(|(_, part)| self.history[part.operation].end());
        let watches = self.history.iter().enumerate();
        let watches = watches.filter(|(i, record)| is_watch(record) && !state.watched.contains(i));
        let watches = watches.map(|(_, record)| record.end());
        parts.chain(watches).min().unwrap_or(Time(u64::MAX))
    }

    /// A watch sees the more the earlier it begins.
    fn begin_watches(&self, state: &mut State, frontier: Time) {
        for (index, record) in self.history.iter().enumerate() {
            let new = !state.watches.contains_key(&index) && !state.watched.contains(&index);
            if is_watch(record) && new && record.called <= frontier {
                let mut watch = Watch::default();
                watch.look(&state.tree, &record.operation);
                state.watches.insert(index, watch);
            }
        }
    }

    /// A watch sees the more the later it ends: only the one that holds the others up does.
    fn end_watch(&self, state: &State, frontier: Time) -> Option<State> {
        let mut watches = state.watches.iter();
        let (&index, watch) = watches.find(|&(&i, _)| self.history[i].end() == frontier)?;
        let (_, observed) = self.history[index].returned.as_ref()?;
        if !watch.agrees(observed) {
            return None;
        }
        let mut next = state.clone();
        next.watches.remove(&index);
        next.watched.insert(index);
        Some(next)
    }

    /// The state after a part, if it may come now and what was seen agrees.
    fn advance(&mut self, state: &State, index: usize, frontier: Time) -> Option<State> {
        let part = self.parts[index];
        let record = &self.history[part.operation];
        let ready = part.after.is_none_or(|first| state.done.contains(first));
        let late = part.before.is_some_and(|last| state.done.contains(last));
        if state.done.contains(index) || !ready || late || record.called > frontier {
            return None;
        }
        let call = Call {
            operation: &record.operation,
            index: part.operation,
            client: record.client,
            observed: observed(record),
            limited: self.setting.limited,
            alone: self.alone[part.operation],
            chunk_bytes: self.setting.chunk_bytes,
        };
        let Some(tree) = attempt(&state.tree, &call, part.slice) else {
            self.note(
                state,
                &format!("cannot come next: {record:?} ({:?})", part.slice),
            );
            return None;
        };
        // An order without an end of a session that ends nothing is as good.
        if matches!(record.operation, Operation::ExpireAt(_)) && tree == state.tree {
            return None;
        }
        let mut next = State {
            done: state.done.with(index),
            tree,
            ..state.clone()
        };
        self.forget_finished(&mut next, part.operation);
        for (&index, watch) in &mut next.watches {
            watch.look(&next.tree, &self.history[index].operation);
        }
        Some(next)
    }

    /// Where an operation took place does not matter any more once all of it has.
    fn forget_finished(&self, state: &mut State, operation: usize) {
        let mut parts = self.parts.iter().enumerate();
        let waits = |(index, part): (usize, &Part)| {
            part.operation == operation && part.before.is_none() && !state.done.contains(index)
        };
        if !parts.any(waits) {
            state.tree.placed.remove(&operation);
        }
    }

    fn is_over(&mut self, state: &State) -> bool {
        let mut parts = self.parts.iter().enumerate();
        let over = parts.all(|(index, part)| !part.required || state.done.contains(index));
        let watching = self.history.iter().enumerate();
        let mut watching = watching.filter(|(i, r)| is_watch(r) && !state.watched.contains(i));
        if !over || watching.next().is_some() {
            return false;
        }
        match self.after.and_then(|after| difference(&state.tree, after)) {
            None => true,
            Some(text) => {
                self.note(state, &format!("the servers hold something else: {text}"));
                false
            }
        }
    }

    /// Remembers why the order that came furthest did not go on.
    fn note(&mut self, state: &State, text: &str) {
        let depth = state.done.count() + state.watched.len() as u32;
        if depth > self.best.0 {
            self.best = (depth, String::new());
        }
        if depth == self.best.0 && !self.best.1.contains(text) && self.best.1.len() < 8000 {
            self.best.1.push_str(text);
            self.best.1.push('\n');
        }
    }
}
