//! The wake-up of a thread that waits for sockets.

use futago_transport::{Receiver, inheritance::generation};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    io::{read, write},
};
use std::{
    cell::RefCell,
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

thread_local! {
    /// The generation of the process that made it, and the thread's wake-up.
    static OF_THREAD: RefCell<Option<(u64, Arc<Wakeup>)>> = const { RefCell::new(None) };
}

/// Wakes one thread.
#[derive(Debug)]
pub struct Wakeup {
    event: OwnedFd,
    /// Notified since the thread last waited.
    is_notified: AtomicBool,
    is_blocked: AtomicBool,
}

impl Wakeup {
    /// The wake-up of the calling thread; `None` if the process has too many descriptors. A child
    /// has one of its own: from its parent's it would take notifications away.
    pub fn of_thread() -> Option<Arc<Self>> {
        OF_THREAD.with_borrow_mut(|of_thread| {
            if of_thread
                .as_ref()
                .is_none_or(|(made_in, _)| *made_in != generation())
            {
                *of_thread = Some((generation(), Arc::new(Self::new().ok()?)));
            }
            of_thread.as_ref().map(|(_, wakeup)| Arc::clone(wakeup))
        })
    }

    fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            event,
            is_notified: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
        })
    }

    /// Ends the thread's current wait, or else its next one.
    pub fn notify(&self) {
        self.is_notified.store(true, Ordering::SeqCst);
        if self.is_blocked.swap(false, Ordering::SeqCst) {
            // It fails only if the counter is full, and then the thread is awake.
            let _ = write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Blocks this thread until it is notified or a socket has bytes.
    pub fn wait(&self, sockets: &[Arc<Receiver>]) {
        self.is_blocked.store(true, Ordering::SeqCst);
        if !self.is_notified.swap(false, Ordering::SeqCst) {
            let sockets = sockets.iter().filter_map(|receiver| receiver.socket());
            let mut watched: Vec<PollFd<'_>> = sockets
                .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN))
                .chain([PollFd::new(&self.event, PollFlags::IN)])
                .collect();
            // After an error the caller checks and waits again.
            let _ = poll(&mut watched, None);
            self.is_notified.swap(false, Ordering::SeqCst);
        }
        self.is_blocked.store(false, Ordering::SeqCst);
        let _ = read(&self.event, &mut [0; size_of::<u64>()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_ends_the_next_wait() {
        let Some(wakeup) = Wakeup::of_thread() else {
            panic!("no descriptors are left");
        };
        wakeup.notify();
        wakeup.wait(&[]);
        let other = Arc::clone(&wakeup);
        let notifying = std::thread::spawn(move || other.notify());
        wakeup.wait(&[]);
        assert!(notifying.join().is_ok());
    }
}
