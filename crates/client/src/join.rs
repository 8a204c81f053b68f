//! Waiting for several futures, in a fixed order.

use alloc::{boxed::Box, vec::Vec};
use core::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Runs futures concurrently and returns their results in the order of the futures.
///
/// They are polled in that order whenever the task is woken, so that a simulation is reproducible.
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

/// Waits for the first of two futures; `None` if it is `other`. The caller can await `future`
/// again.
pub async fn first_of<F: Future>(
    mut future: Pin<&mut F>,
    mut other: Pin<&mut impl Future>,
) -> Option<F::Output> {
    poll_fn(|task| match future.as_mut().poll(task) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => other.as_mut().poll(task).map(|_| None),
    })
    .await
}

/// Waits for two futures.
pub async fn both<A: Future, B: Future>(
    mut first: Pin<&mut A>,
    mut second: Pin<&mut B>,
) -> (A::Output, B::Output) {
    let (mut first_output, mut second_output) = (None, None);
    poll_fn(|task| {
        if first_output.is_none()
            && let Poll::Ready(output) = first.as_mut().poll(task)
        {
            first_output = Some(output);
        }
        if second_output.is_none()
            && let Poll::Ready(output) = second.as_mut().poll(task)
        {
            second_output = Some(output);
        }
        match (first_output.take(), second_output.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (first, second) => {
                (first_output, second_output) = (first, second);
                Poll::Pending
            }
        }
    })
    .await
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

// The future of a slot is boxed, so that a slot can move.
impl<F: Future> Unpin for Slot<F> {}
