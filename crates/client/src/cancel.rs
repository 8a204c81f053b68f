//! Cancellation of an operation that waits.

use alloc::sync::Arc;
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    task::{Poll, Waker},
};

/// A cancellation flag, set once. Clones share the flag. Like the whole client, it may be used by
/// one thread at a time.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicRefCell<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: bool,
    /// The task that waits for the flag; one operation has one.
    waiter: Option<Waker>,
}

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag and wakes the waiting operation.
    pub fn cancel(&self) {
        let mut switch = self.0.borrow_mut();
        switch.cancelled = true;
        if let Some(waiter) = switch.waiter.take() {
            waiter.wake();
        }
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.borrow().cancelled
    }

    /// Waits until the flag is set.
    pub(crate) async fn cancelled(&self) {
        poll_fn(|task| {
            if self.is_cancelled() {
                return Poll::Ready(());
            }
            self.0.borrow_mut().waiter = Some(task.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
