//! Waiting for several futures, in a fixed order.

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use core::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
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
            pending |= !slot.poll(task);
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

/// A future that moves data.
pub struct Transfer<F> {
    /// The amount of data, in bytes.
    pub bytes: usize,
    pub future: F,
}

/// Runs transfers concurrently, as many as move at most `most_bytes` together, but at least one.
///
/// They start in order, and `take` gets their results in order, as early as possible. A transfer
/// counts until its result is taken. After an error of `take` none starts any more; the error is
/// returned when those under way have ended.
pub async fn transfer_all<F: Future, E>(
    most_bytes: usize,
    transfers: impl IntoIterator<Item = Transfer<F>>,
    mut take: impl FnMut(F::Output) -> Result<(), E>,
) -> Result<(), E> {
    let mut window = Window::new(most_bytes, transfers);
    let mut result = Ok(());
    poll_fn(|task| {
        while let Some(output) = window.next(result.is_ok(), task) {
            if result.is_ok() {
                result = take(output);
            }
        }
        if window.running.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    result
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

/// Transfers in order, of which the first ones are under way.
struct Window<F: Future> {
    most_bytes: usize,
    /// The amount of data under way.
    bytes: usize,
    running: VecDeque<Transfer<Slot<F>>>,
    waiting: VecDeque<Transfer<Slot<F>>>,
}

impl<F: Future> Window<F> {
    fn new(most_bytes: usize, transfers: impl IntoIterator<Item = Transfer<F>>) -> Self {
        let boxed = |Transfer { bytes, future }| Transfer {
            bytes,
            future: Slot::Running(Box::pin(future)),
        };
        Self {
            most_bytes,
            bytes: 0,
            running: VecDeque::new(),
            waiting: transfers.into_iter().map(boxed).collect(),
        }
    }

    /// The result of the first transfer, if it has ended. Before, it starts others if they may
    /// start and there is room for them.
    fn next(&mut self, may_start: bool, task: &mut Context<'_>) -> Option<F::Output> {
        while may_start && let Some(next) = self.next_with_room() {
            self.bytes += next.bytes;
            self.running.push_back(next);
        }
        for transfer in &mut self.running {
            transfer.future.poll(task);
        }
        let first = self.running.pop_front_if(|it| it.future.has_ended())?;
        self.bytes -= first.bytes;
        first.future.output()
    }

    fn next_with_room(&mut self) -> Option<Transfer<Slot<F>>> {
        let room = self.most_bytes.saturating_sub(self.bytes);
        let is_alone = self.running.is_empty();
        self.waiting
            .pop_front_if(|next| is_alone || next.bytes <= room)
    }
}

enum Slot<F: Future> {
    Running(Pin<Box<F>>),
    Finished(F::Output),
}

impl<F: Future> Slot<F> {
    /// Polls the future unless it has ended. Returns whether it has.
    fn poll(&mut self, task: &mut Context<'_>) -> bool {
        if let Self::Running(future) = self
            && let Poll::Ready(output) = future.as_mut().poll(task)
        {
            *self = Self::Finished(output);
        }
        self.has_ended()
    }

    const fn has_ended(&self) -> bool {
        matches!(self, Self::Finished(_))
    }

    fn output(self) -> Option<F::Output> {
        match self {
            Self::Finished(output) => Some(output),
            Self::Running(_) => None,
        }
    }
}

// The future of a slot is boxed, so that a slot can move.
impl<F: Future> Unpin for Slot<F> {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::{cell::RefCell, pin::pin, task::Waker};

    /// Polls once.
    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Transfers that note their start and end when their number is in `ended`.
    struct World {
        started: RefCell<Vec<usize>>,
        ended: RefCell<Vec<usize>>,
    }

    impl World {
        const fn new() -> Self {
            Self {
                started: RefCell::new(Vec::new()),
                ended: RefCell::new(Vec::new()),
            }
        }

        fn transfers(&self, bytes: &[usize]) -> Vec<Transfer<impl Future<Output = usize>>> {
            let number = |(number, &bytes)| Transfer {
                bytes,
                future: async move {
                    self.started.borrow_mut().push(number);
                    poll_fn(|_| match self.ended.borrow().contains(&number) {
                        true => Poll::Ready(number),
                        false => Poll::Pending,
                    })
                    .await
                },
            };
            bytes.iter().enumerate().map(number).collect()
        }

        fn end(&self, number: usize) {
            self.ended.borrow_mut().push(number);
        }
    }

    #[test]
    fn transfers_start_when_there_is_room_and_end_in_order() {
        let world = World::new();
        let taken = RefCell::new(Vec::new());
        let take = |number| {
            taken.borrow_mut().push(number);
            Ok::<_, ()>(())
        };
        let mut all = pin!(transfer_all(10, world.transfers(&[4, 6, 1, 20, 1]), take));
        assert!(poll(all.as_mut()).is_pending());
        assert_eq!(*world.started.borrow(), [0, 1]);
        world.end(1);
        assert!(poll(all.as_mut()).is_pending());
        assert_eq!(*world.started.borrow(), [0, 1], "its result is not taken");
        world.end(0);
        assert!(poll(all.as_mut()).is_pending());
        assert_eq!(*taken.borrow(), [0, 1]);
        assert_eq!(*world.started.borrow(), [0, 1, 2], "the next is too large");
        world.end(2);
        assert!(poll(all.as_mut()).is_pending());
        assert_eq!(*world.started.borrow(), [0, 1, 2, 3], "alone it may be");
        world.end(3);
        world.end(4);
        assert_eq!(poll(all.as_mut()), Poll::Ready(Ok(())));
        assert_eq!(*taken.borrow(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn after_an_error_nothing_starts() {
        let world = World::new();
        let take = |number| Err::<(), _>(number);
        let mut all = pin!(transfer_all(2, world.transfers(&[1, 1, 1]), take));
        world.end(0);
        assert!(poll(all.as_mut()).is_pending(), "the second is under way");
        world.end(1);
        assert_eq!(poll(all.as_mut()), Poll::Ready(Err(0)));
        assert_eq!(*world.started.borrow(), vec![0, 1]);
    }
}
