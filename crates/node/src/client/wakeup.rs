//! The wake-up of a thread that waits for sockets.

use futago_transport::Receiver;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    io::{read, write},
};
use std::{
    cell::OnceCell,
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

thread_local! {
    static OF_THREAD: OnceCell<Option<Arc<Wakeup>>> = const { OnceCell::new() };
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
    /// The wake-up of the calling thread; `None` if the process has too many descriptors.
    pub fn of_thread() -> Option<Arc<Self>> {
        OF_THREAD.with(|of_thread| {
            let new = || Self::new().ok().map(Arc::new);
            of_thread.get_or_init(new).clone()
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
