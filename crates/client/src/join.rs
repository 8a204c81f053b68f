//! Waiting for several things at once, in a fixed order.

use alloc::{boxed::Box, vec::Vec};
use core::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Runs futures side by side and returns their results in the order in which they were given.
///
/// They are polled in that order whenever the task is woken, so that a simulation does the same
/// thing every time.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut slots: Vec<Slot<F>> = futures
        .into_iter()
        .map(|future| Slot::Running(Box::pin(future)))
        .collect();
    poll_fn(|task| {
        let mut pending = false;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(task) {
                    Poll::Ready(output) => *slot = Slot::Finished(output),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    slots.into_iter().filter_map(Slot::output).collect()
}

enum Slot<F: Future> {
    Running(Pin<Box<F>>),
    Finished(F::Output),
}

impl<F: Future> Slot<F> {
    fn output(self) -> Option<F::Output> {
        match self {
            Self::Finished(output) => Some(output),
            Self::Running(_) => None,
        }
    }
}

// A slot never moves its future: it is boxed.
impl<F: Future> Unpin for Slot<F> {}
