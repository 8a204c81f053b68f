//! Queues of operations that do not block.

mod completion;
mod notice;

pub use completion::Completion;

use completion::Submitted;
use futago_posix::outcome::error;
use futago_transport::inheritance::generation;
use notice::Notice;
use std::{
    collections::VecDeque,
    ffi::c_int,
    io,
    os::fd::AsRawFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The operations that a program has submitted.
///
/// It belongs to the process that has made it: in a child, another thread of the parent may have
/// held its lock.
pub struct Queue {
    made_in: u64,
    state: Mutex<State>,
    changed: Condvar,
    notice: Notice,
}

#[derive(Default)]
struct State {
    /// The number of operations under way.
    under_way: usize,
    completed: VecDeque<Completion>,
}

impl Queue {
    /// # Errors
    /// `EMFILE`.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            made_in: generation(),
            state: Mutex::default(),
            changed: Condvar::new(),
            notice: Notice::new()?,
        })
    }

    /// # Errors
    /// `EINVAL` in a child of the process that has made the queue.
    pub fn check_process(&self) -> io::Result<()> {
        match self.made_in == generation() {
            true => Ok(()),
            false => Err(error(libc::EINVAL)),
        }
    }

    /// Notes that an operation begins. Dropping the result ends it.
    pub fn begin(self: &Arc<Self>, data: usize) -> Submitted {
        self.state().under_way += 1;
        Submitted::new(Arc::clone(self), data)
    }

    fn complete(&self, completion: Completion) {
        let mut state = self.state();
        state.under_way -= 1;
        state.completed.push_back(completion);
        self.notice.show();
        self.changed.notify_all();
    }

    /// Takes up to `count` completions, and waits until there is one, nothing is under way, or the
    /// time is over. `None` waits without end.
    pub fn wait(&self, count: usize, time: Option<Duration>) -> Vec<Completion> {
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let mut state = self.state();
        while state.completed.is_empty() && state.under_way > 0 {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            state = self.wait_for_change(state, left);
        }
        let taken = count.min(state.completed.len());
        let taken = state.completed.drain(..taken).collect();
        if state.completed.is_empty() {
            self.notice.hide();
        }
        taken
    }

    fn wait_for_change<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match time {
            Some(time) => {
                let waited = self.changed.wait_timeout(state, time);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait(state);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// Waits until nothing is under way.
    pub fn drain(&self) {
        let mut state = self.state();
        while state.under_way > 0 {
            state = self.wait_for_change(state, None);
        }
    }

    /// The descriptor that is readable while completions wait.
    pub fn descriptor(&self) -> c_int {
        self.notice.as_raw_fd()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between the two changes of `complete`.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(queue: &Queue) -> bool {
        let mut watched = [PollFd::new(&queue.notice, PollFlags::IN)];
        poll(&mut watched, Some(&Timespec::default())).is_ok_and(|count| count == 1)
    }

    #[test]
    fn completions_are_taken_once_and_the_descriptor_shows_them() {
        let queue = Arc::new(Queue::new().expect("a queue"));
        let now = Some(Duration::ZERO);
        assert!(queue.wait(9, None).is_empty(), "nothing is under way");
        let (one, other) = (queue.begin(1), queue.begin(2));
        assert!(queue.wait(9, now).is_empty() && !is_readable(&queue));
        other.end(Ok(7));
        one.end(Err(error(libc::EIO)));
        assert!(is_readable(&queue));
        let first = queue.wait(1, None);
        assert_eq!((first[0].result, first[0].error), (7, 0));
        assert!(is_readable(&queue));
        let second = queue.wait(9, None);
        assert_eq!((second[0].result, second[0].error), (-1, libc::EIO));
        assert!(!is_readable(&queue) && queue.wait(9, None).is_empty());
    }

    #[test]
    fn a_dropped_operation_completes_with_an_error() {
        let queue = Arc::new(Queue::new().expect("a queue"));
        drop(queue.begin(1));
        queue.drain();
        assert_eq!(queue.wait(9, None)[0].error, libc::EIO);
    }
}
