//! Tasks that wait for the other end of a connection that a thread polls.

use crate::busy::now;
use atomic_refcell::AtomicRefCell;
use futago_base::Time;
use futago_driver::SpinLimit;
use std::{io, sync::atomic::AtomicBool};
use tokio::sync::Notify;

/// A connection that a thread polls for its waiting tasks.
pub(crate) trait Polled {
    /// Notifies the tasks that can continue, and requests a wake-up for tasks that have exceeded
    /// their spin limit; without a time, for all.
    fn poll(&self, now: Option<Time>) -> PollResult;

    /// Whether the connection is in the list of those that are polled.
    fn is_listed(&self) -> &AtomicBool;

    /// Requests a wake-up for all waiting tasks.
    fn sleep(&self) {
        self.poll(None);
    }
}

/// A task that waits for the other end.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    since: AtomicRefCell<Option<Time>>,
    spin_limit: AtomicRefCell<SpinLimit>,
    /// Notified when the task can continue.
    pub ready: Notify,
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollResult {
    /// A task can continue now.
    pub found: bool,
    /// A task still waits and is not blocked.
    pub again: bool,
}

impl PollResult {
    /// Whether to poll again soon, after yielding the CPU.
    pub const fn is_idle(self) -> bool {
        self.again && !self.found
    }

    /// The combined result of two polls.
    pub const fn and(self, other: Self) -> Self {
        Self {
            found: self.found || other.found,
            again: self.again || other.again,
        }
    }
}

impl Waiting {
    /// The task begins to wait. Returns the time.
    pub fn begin(&self) -> Time {
        let since = now();
        *self.since.borrow_mut() = Some(since);
        since
    }

    /// The task continues.
    pub fn end(&self, since: Time) {
        *self.since.borrow_mut() = None;
        self.spin_limit.borrow_mut().learn(now().since(since));
    }

    /// Polls for the waiting task.
    pub fn poll(
        &self,
        now: Option<Time>,
        is_ready: impl FnOnce() -> io::Result<bool>,
        prepare_to_block: impl FnOnce() -> io::Result<bool>,
    ) -> PollResult {
        let Some(since) = *self.since.borrow() else {
            return PollResult::default();
        };
        // A notified task encounters the error, too.
        let ready = is_ready().unwrap_or(true);
        let span = self.spin_limit.borrow().span();
        let within_limit = now.is_some_and(|now| now.since(since) < span);
        let found = ready || !within_limit && !prepare_to_block().unwrap_or(false);
        if found {
            self.ready.notify_one();
        }
        PollResult {
            found,
            again: within_limit && !found,
        }
    }
}
