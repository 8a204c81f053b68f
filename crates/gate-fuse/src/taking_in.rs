//! Answers that the kernel may not have taken in yet.
//!
//! A thread that looks up a name takes the answer in when it runs next. If it knows the name
//! already, it holds no lock meanwhile (`fuse_dentry_revalidate` in fs/fuse/dir.c), so a message to
//! expire the name may come before the answer and be lost to it. A thread has taken its answer in
//! when it sends another request, sleeps, has run since, or is gone. Threads of other pid
//! namespaces cannot be distinguished, so they get no names to cache.

use crate::callers;
use crate::interruption::locked;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// For how long a thread of which nothing is known is believed to be about to take an answer in.
const TAKE_IN_MAX: Duration = Duration::from_secs(1);
/// The pause before the kernel is examined again that is about to take a reply in. It does not
/// notify of that.
pub const TAKE_IN_POLL: Duration = Duration::from_millis(1);
/// Answers are looked through for old ones when there are more than this.
const ANSWERS_MAX: usize = 256;

/// The last answer to each thread that named something.
#[derive(Debug, Default)]
pub struct TakingIn(Mutex<HashMap<u32, Answer>>);

#[derive(Debug)]
struct Answer {
    /// The directory of the name.
    node: u64,
    sent_at: Instant,
    is_sent: bool,
    /// The scheduler's statistics of the thread when it was first examined.
    run: Option<String>,
}

impl Answer {
    fn is_old(&self) -> bool {
        self.sent_at.elapsed() >= TAKE_IN_MAX
    }

    /// Whether the thread may still have to take it in.
    fn is_awaited(&mut self, thread: u32) -> bool {
        if self.is_old() {
            return false;
        }
        match Progress::of(thread) {
            Progress::Gone => false,
            Progress::Unknown => true,
            // It waits for the answer, or has taken it in.
            Progress::Sleeps => !self.is_sent,
            Progress::Runs(run) => {
                !self.is_sent || *self.run.get_or_insert_with(|| run.clone()) == run
            }
        }
    }
}

impl TakingIn {
    /// Whether the mount can know that a thread has taken an answer in.
    pub const fn knows(thread: u32) -> bool {
        thread != 0
    }

    /// A thread is about to be sent a name in a directory.
    pub fn tell(&self, thread: u32, node: u64) {
        let mut answers = locked(&self.0);
        if answers.len() > ANSWERS_MAX {
            answers.retain(|_, answer| !answer.is_old());
        }
        let answer = Answer {
            node,
            sent_at: Instant::now(),
            is_sent: false,
            run: None,
        };
        answers.insert(thread, answer);
    }

    /// A thread was answered.
    pub fn sent(&self, thread: u32) {
        if let Some(answer) = locked(&self.0).get_mut(&thread) {
            answer.is_sent = true;
        }
    }

    /// A thread sends another request.
    pub fn heard(&self, thread: u32) {
        locked(&self.0).remove(&thread);
    }

    /// Whether an answer that tells of a name in a directory may still have to be taken in.
    pub fn is_awaited(&self, node: u64) -> bool {
        let mut answers = locked(&self.0);
        let mut answers = answers.iter_mut().filter(|(_, answer)| answer.node == node);
        answers.any(|(&thread, answer)| answer.is_awaited(thread))
    }
}

/// How far a thread has come.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// It runs, or is about to, with these statistics of the scheduler.
    Runs(String),
    Sleeps,
    Gone,
    /// Its files are closed to this process, or hidden.
    Unknown,
}

impl Progress {
    fn of(thread: u32) -> Self {
        Self::read(thread).unwrap_or_else(|| match callers::exists(thread) {
            true => Self::Unknown,
            false => Self::Gone,
        })
    }

    fn read(thread: u32) -> Option<Self> {
        let status = callers::read(thread, "stat").ok()?;
        let (_, fields) = status.rsplit_once(") ")?;
        if !fields.starts_with('R') {
            return Some(Self::Sleeps);
        }
        callers::read(thread, "schedstat").ok().map(Self::Runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: u64 = 7;

    fn this_thread() -> u32 {
        // SAFETY: gettid has no preconditions.
        unsafe { libc::gettid() as u32 }
    }

    #[test]
    fn an_answer_is_awaited_until_its_thread_is_heard() {
        let answers = TakingIn::default();
        answers.tell(this_thread(), NODE);
        assert!(answers.is_awaited(NODE));
        assert!(!answers.is_awaited(NODE + 1));
        answers.heard(this_thread());
        assert!(!answers.is_awaited(NODE));
    }

    #[test]
    fn a_thread_that_has_run_has_taken_its_answer_in() {
        let answers = TakingIn::default();
        answers.tell(this_thread(), NODE);
        answers.sent(this_thread());
        while answers.is_awaited(NODE) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_thread_that_sleeps_awaits_an_answer_that_was_not_sent() {
        let answers = TakingIn::default();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let (sender, receiver) = std::sync::mpsc::channel();
        let worker = std::thread::spawn(move || {
            sender.send(this_thread()).expect("heard");
            wait.recv().ok();
        });
        let thread = receiver.recv().expect("a thread");
        while Progress::of(thread) != Progress::Sleeps {
            std::thread::yield_now();
        }
        answers.tell(thread, NODE);
        assert!(answers.is_awaited(NODE));
        answers.sent(thread);
        assert!(!answers.is_awaited(NODE));
        drop(end);
        worker.join().expect("joined");
    }

    /// All threads of other pid namespaces have one number, so what one of them sends says nothing
    /// of the others.
    #[test]
    fn threads_of_other_pid_namespaces_are_unknown() {
        assert!(!TakingIn::knows(0) && TakingIn::knows(this_thread()));
    }

    #[test]
    fn a_thread_that_is_gone_awaits_nothing() {
        let answers = TakingIn::default();
        answers.tell(u32::MAX, NODE);
        assert!(!answers.is_awaited(NODE));
    }
}
