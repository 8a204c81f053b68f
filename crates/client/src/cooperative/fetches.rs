//! The data that a client is just fetching into its cache, for its own tasks and other clients that
//! wait for it.
//!
//! Clients that wait for one another must not do so in a circle. So each fetch from a cache has a
//! *depth*: one more than the fetch that filled that cache, of which the home of the file keeps
//! account. A fetch waits only for one of a smaller depth.

use alloc::vec::Vec;
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    ops::Range,
    task::{Poll, Waker},
};
use futago_base::FileId;

/// The ranges of files that are being fetched, and the tasks that wait for their ends.
#[derive(Debug)]
pub struct Fetches(AtomicRefCell<State>);

#[derive(Debug)]
struct State {
    under_way: Vec<Part>,
    /// How many fetches have ended.
    ended: u64,
    waiting: Vec<Waker>,
}

/// A range that is being fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    file: FileId,
    range: Range<u64>,
    /// How many caches the data passes through up to this client's, with it; `None` if that is not
    /// known yet.
    depth: Option<u8>,
}

impl Part {
    fn has(&self, file: FileId, offset: u64) -> bool {
        self.file == file && self.range.contains(&offset)
    }
}

/// How long data that is wanted by another client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outlook {
    /// It is not fetched, or perhaps from the client that wants it.
    Hopeless,
    /// It may come soon.
    Unknown,
    /// It comes, and does not depend on the client that wants it.
    Certain,
}

impl Fetches {
    /// Nothing is being fetched.
    pub const fn new() -> Self {
        Self(AtomicRefCell::new(State {
            under_way: Vec::new(),
            ended: 0,
            waiting: Vec::new(),
        }))
    }

    /// Notes that a range is being fetched, until the result is dropped.
    pub fn begin(&self, file: FileId, range: Range<u64>, depth: Option<u8>) -> Fetch<'_> {
        let part = Part { file, range, depth };
        self.0.borrow_mut().under_way.push(part.clone());
        Fetch {
            fetches: self,
            part,
        }
    }

    /// Whether a byte is being fetched.
    pub fn are_under_way(&self, file: FileId, offset: u64) -> bool {
        let state = self.0.borrow();
        state.under_way.iter().any(|part| part.has(file, offset))
    }

    /// Whether the home is being asked about a byte.
    pub fn are_planned(&self, file: FileId, offset: u64) -> bool {
        let state = self.0.borrow();
        let mut under_way = state.under_way.iter();
        under_way.any(|part| part.depth.is_none() && part.has(file, offset))
    }

    /// The outlook for a fetch of this depth that waits for the byte at an offset.
    pub fn outlook(&self, file: FileId, offset: u64, depth: u8) -> Outlook {
        let state = self.0.borrow();
        let parts = state.under_way.iter().filter(|it| it.has(file, offset));
        let outlooks = parts.map(|part| match part.depth {
            Some(below) if below < depth => Outlook::Certain,
            Some(_) => Outlook::Hopeless,
            None => Outlook::Unknown,
        });
        outlooks.max().unwrap_or(Outlook::Hopeless)
    }

    /// Waits until a fetch of any file ends.
    pub async fn one_ends(&self) {
        let before = self.0.borrow().ended;
        poll_fn(|task| {
            let mut state = self.0.borrow_mut();
            if state.ended != before {
                return Poll::Ready(());
            }
            state.waiting.push(task.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A fetch that is under way.
#[derive(Debug)]
pub struct Fetch<'a> {
    fetches: &'a Fetches,
    part: Part,
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        let mut state = self.fetches.0.borrow_mut();
        if let Some(at) = state.under_way.iter().position(|it| *it == self.part) {
            state.under_way.swap_remove(at);
        }
        state.ended += 1;
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}
