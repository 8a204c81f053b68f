//! A thread that blocks in a call and does the work of the client meanwhile.

use super::{
    NodeContext,
    context::{Arrived, Lead},
    wakeup::Wakeup,
};
use crate::time_slices;
use futago_transport::{
    busy::{self, now},
    waiting::wait,
};
use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering, fence},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

struct Caller {
    thread: Thread,
    woken: AtomicBool,
    /// Wakes this caller while it waits for sockets.
    wakeup: OnceLock<Arc<Wakeup>>,
}

/// Runs an operation on this thread. Of several such threads, one polls for the replies of all. The
/// client's thread takes over when that thread has its own reply, and while all are blocked.
pub fn run<T>(context: &NodeContext, mut operation: Pin<&mut impl Future<Output = T>>) -> T {
    let caller = Arc::new(Caller {
        thread: thread::current(),
        woken: AtomicBool::new(false),
        wakeup: OnceLock::new(),
    });
    let waker = Waker::from(Arc::clone(&caller));
    let mut lead = None;
    busy::begin(now());
    loop {
        let polled = context.with_lock_of_caller(|| {
            let polled = operation.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_pending() && lead.is_none() {
                lead = context.lead();
            }
            polled
        });
        match (polled, &lead) {
            (Poll::Ready(value), _) => {
                busy::end(now());
                return value;
            }
            (Poll::Pending, Some(leading)) => {
                if !caller.poll(leading) {
                    lead = None;
                }
            }
            (Poll::Pending, None) => {
                busy::end(now());
                caller.block();
                busy::begin(now());
            }
        }
    }
}

impl Caller {
    /// Polls until this caller's reply has arrived or the spin limit is reached, then blocks until
    /// it arrives. Returns whether the caller still leads.
    fn poll(&self, lead: &Lead<'_>) -> bool {
        time_slices::shorten_once();
        let poll = || {
            lead.poll();
            self.was_woken().then_some(true)
        };
        wait(poll, || {
            let is_woken = self.wait_for_sockets(lead);
            if !is_woken {
                lead.end();
                self.block();
            }
            is_woken
        })
    }

    /// Receives from sockets until this caller's reply has arrived. Returns false if the client's
    /// thread must take over.
    fn wait_for_sockets(&self, lead: &Lead<'_>) -> bool {
        let Some(wakeup) = Wakeup::of_thread() else {
            return false;
        };
        let wakeup = self.wakeup.get_or_init(|| wakeup);
        // Either this thread sees that it was woken before, or its waker sees the wake-up.
        fence(Ordering::SeqCst);
        while let Some(sockets) = lead.sockets(wakeup) {
            if self.was_woken() {
                return true;
            }
            match lead.poll() {
                Arrived::Messages => {}
                Arrived::Nothing => {
                    wakeup.wait(&sockets);
                }
                Arrived::Blocked => return false,
            }
        }
        false
    }

    fn block(&self) {
        while !self.was_woken() {
            thread::park();
        }
    }

    fn was_woken(&self) -> bool {
        self.woken.swap(false, Ordering::Acquire)
    }
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
        fence(Ordering::SeqCst);
        if let Some(wakeup) = self.wakeup.get() {
            wakeup.notify();
        }
    }
}
