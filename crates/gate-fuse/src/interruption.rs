//! Signals to processes whose requests are under way.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A mutex's content, also after a thread has panicked with it: every change here is one step.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the caller of one request got a signal.
#[derive(Debug, Default)]
pub struct Interruption {
    raised: AtomicBool,
    /// The task that serves the request.
    waiter: Mutex<Option<Waker>>,
}

impl Interruption {
    /// Says that a signal came.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if let Some(waiter) = locked(&self.waiter).take() {
            waiter.wake();
        }
    }

    /// Ready once a signal has come. Only one task may wait.
    pub fn poll_raised(&self, task: &mut Context<'_>) -> Poll<()> {
        locked(&self.waiter).replace(task.waker().clone());
        if self.raised.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Waits for a signal.
    pub async fn raised(&self) {
        poll_fn(|task| self.poll_raised(task)).await;
    }
}

/// The interruptions of all requests under way.
#[derive(Debug, Default)]
pub struct Interruptions(Mutex<HashMap<u64, Arc<Interruption>>>);

impl Interruptions {
    /// Notes that a request is under way.
    pub fn begin(&self, unique: u64) -> Arc<Interruption> {
        Arc::clone(locked(&self.0).entry(unique).or_default())
    }

    /// Forgets a request.
    pub fn end(&self, unique: u64) {
        locked(&self.0).remove(&unique);
    }

    /// A signal came to the caller of one request.
    pub fn raise(&self, unique: u64) {
        if let Some(interruption) = locked(&self.0).get(&unique) {
            interruption.raise();
        }
    }

    /// The mount is gone, and with it all callers that wait for a lock.
    pub fn raise_all(&self) {
        for interruption in locked(&self.0).values() {
            interruption.raise();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_signal_wakes_the_task_of_its_request_alone() {
        let all = Interruptions::default();
        let (meant, other) = (all.begin(7), all.begin(8));
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut task = Context::from_waker(&waker);
        assert!(meant.poll_raised(&mut task).is_pending());
        all.raise(7);
        assert!(woken.0.load(Ordering::SeqCst));
        assert!(meant.poll_raised(&mut task).is_ready());
        assert!(other.poll_raised(&mut task).is_pending());
    }

    #[test]
    fn a_request_that_has_ended_is_not_known_any_more() {
        let all = Interruptions::default();
        let ended = all.begin(7);
        all.end(7);
        all.raise(7);
        let mut task = Context::from_waker(Waker::noop());
        assert!(ended.poll_raised(&mut task).is_pending());
    }
}
