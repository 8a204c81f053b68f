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
            is_blocked: AtomicBool::new(false),
        })
    }

    /// Wakes the thread if it is blocked, or about to block.
    pub fn notify(&self) {
        if self.is_blocked.swap(false, Ordering::SeqCst) {
            // It fails only if the counter is full, and then the thread is awake.
            let _ = write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Blocks this thread until it is notified or a socket has bytes, unless `is_woken`. Whoever
    /// changes what `is_woken` tells must notify afterwards.
    pub fn wait(&self, sockets: &[Arc<Receiver>], is_woken: impl Fn() -> bool) {
        self.is_blocked.store(true, Ordering::SeqCst);
        if !is_woken() {
            let sockets = sockets.iter().filter_map(|receiver| receiver.socket());
            let mut watched: Vec<PollFd<'_>> = sockets
                .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN))
                .chain([PollFd::new(&self.event, PollFlags::IN)])
                .collect();
            // After an error the caller checks and waits again.
            let _ = poll(&mut watched, None);
        }
        self.is_blocked.store(false, Ordering::SeqCst);
        let _ = read(&self.event, &mut [0; size_of::<u64>()]);
    }
}
