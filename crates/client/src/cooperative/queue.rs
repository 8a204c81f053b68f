//! Work of a client beside its operations. The runtime takes it up, if there is one that does.

use alloc::collections::VecDeque;
use atomic_refcell::AtomicRefCell;
use core::{
    future::poll_fn,
    task::{Poll, Waker},
};

/// The most tasks that wait. It is no loss if others are not noted.
const WAITING_MAX: usize = 16;

/// Tasks that wait until the runtime takes them up.
#[derive(Debug)]
pub struct Queue<T>(AtomicRefCell<State<T>>);

#[derive(Debug)]
struct State<T> {
    tasks: VecDeque<T>,
    taker: Option<Waker>,
}

impl<T: PartialEq> Queue<T> {
    /// Nothing is to be done.
    pub const fn new() -> Self {
        Self(AtomicRefCell::new(State {
            tasks: VecDeque::new(),
            taker: None,
        }))
    }

    /// Notes a task, unless it is noted, or too many are.
    pub fn put(&self, task: T) {
        let mut state = self.0.borrow_mut();
        if state.tasks.len() < WAITING_MAX && !state.tasks.contains(&task) {
            state.tasks.push_back(task);
            state.taker.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Waits for a task. One caller waits at a time.
    pub async fn take(&self) -> T {
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            state.tasks.pop_front().map_or_else(
                || {
                    state.taker = Some(context.waker().clone());
                    Poll::Pending
                },
                Poll::Ready,
            )
        })
        .await
    }
}
