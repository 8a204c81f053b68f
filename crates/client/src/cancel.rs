//! A caller's wish that an operation which waits should stop waiting.

use alloc::sync::Arc;
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    task::{Poll, Waker},
};

/// A switch that is turned once. Clones are the same switch. As all of a client it belongs to the thread whose turn it is.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicRefCell<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: bool,
    /// The task that waits for the switch; one operation has one.
    waiter: Option<Waker>,
}

impl Cancel {
    /// A switch that has not been turned.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns the switch and wakes the operation that waits.
    pub fn cancel(&self) {
        let mut switch = self.0.borrow_mut();
        switch.cancelled = true;
        if let Some(waiter) = switch.waiter.take() {
            waiter.wake();
        }
    }

    /// Whether the switch has been turned.
    pub fn is_cancelled(&self) -> bool {
        self.0.borrow().cancelled
    }

    /// Waits until the switch is turned.
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
