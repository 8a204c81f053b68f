//! A thread that blocks in a call and does the work of the client meanwhile.

use super::{NodeContext, context::Lead};
use futago_transport::{
    busy::{self, now},
    shared_memory::waiting::wait,
};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

struct Caller {
    thread: Thread,
    woken: AtomicBool,
}

/// Runs an operation on this thread. Of several such threads, one polls for the replies of all. The
/// client's thread takes over when that thread has its own reply, and while all are blocked.
pub fn run<T>(context: &NodeContext, mut operation: Pin<&mut impl Future<Output = T>>) -> T {
    let caller = Arc::new(Caller {
        thread: thread::current(),
        woken: AtomicBool::new(false),
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
        let poll = || {
            lead.poll();
            self.was_woken().then_some(true)
        };
        wait(poll, || {
            lead.end();
            self.block();
            false
        })
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
    }
}
