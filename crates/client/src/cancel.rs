//! A caller's wish that an operation which waits should stop waiting.

use alloc::rc::Rc;
use core::{
    cell::{Cell, RefCell},
    future::poll_fn,
    task::{Poll, Waker},
};

/// A switch that is turned once. Clones are the same switch.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: Cell<bool>,
    /// The task that waits for the switch; one operation has one.
    waiter: RefCell<Option<Waker>>,
}

impl Cancel {
    /// A switch that has not been turned.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns the switch and wakes the operation that waits.
    pub fn cancel(&self) {
        self.0.cancelled.set(true);
        if let Some(waiter) = self.0.waiter.take() {
            waiter.wake();
        }
    }

    /// Whether the switch has been turned.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.get()
    }

    /// Waits until the switch is turned.
    pub(crate) async fn cancelled(&self) {
        poll_fn(|task| {
            if self.is_cancelled() {
                return Poll::Ready(());
            }
            self.0.waiter.replace(Some(task.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}
