//! The data that a client is just fetching into its cache, for tasks that wait for it.

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
    under_way: Vec<(FileId, Range<u64>)>,
    /// How many fetches have ended.
    ended: u64,
    waiting: Vec<Waker>,
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
    pub fn begin(&self, file: FileId, range: Range<u64>) -> Fetch<'_> {
        self.0.borrow_mut().under_way.push((file, range.clone()));
        Fetch {
            fetches: self,
            file,
            range,
        }
    }

    /// Whether something of a range is being fetched.
    pub fn are_under_way(&self, file: FileId, range: &Range<u64>) -> bool {
        let state = self.0.borrow();
        let mut under_way = state.under_way.iter();
        under_way.any(|(of, it)| *of == file && it.start < range.end && range.start < it.end)
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

/// A range that is being fetched.
#[derive(Debug)]
pub struct Fetch<'a> {
    fetches: &'a Fetches,
    file: FileId,
    range: Range<u64>,
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        let mut state = self.fetches.0.borrow_mut();
        let is_this =
            |(file, range): &(FileId, Range<u64>)| *file == self.file && *range == self.range;
        if let Some(at) = state.under_way.iter().position(is_this) {
            state.under_way.swap_remove(at);
        }
        state.ended += 1;
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}
