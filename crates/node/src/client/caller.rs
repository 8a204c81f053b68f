//! A thread that calls and waits: it does the work of the client itself meanwhile.

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

/// Runs an operation on this thread. Of several threads that do so, one looks for the answers of all; the
/// client's thread does it when that one has its own, and while all sleep.
pub fn run<T>(context: &NodeContext, mut operation: Pin<&mut impl Future<Output = T>>) -> T {
    let caller = Arc::new(Caller {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(Arc::clone(&caller));
    let mut lead = None;
    busy::begin(now());
    loop {
        let polled = context.in_caller_s_turn(|| {
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
                if !caller.look(leading) {
                    lead = None;
                }
            }
            (Poll::Pending, None) => {
                busy::end(now());
                caller.sleep();
                busy::begin(now());
            }
        }
    }
}

impl Caller {
    /// Looks for answers until this caller's has come, or for too long; then sleeps until it comes.
    /// Returns whether it still leads.
    fn look(&self, lead: &Lead<'_>) -> bool {
        let look = || {
            lead.look();
            self.was_woken().then_some(true)
        };
        wait(look, || {
            lead.end();
            self.sleep();
            false
        })
    }

    fn sleep(&self) {
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
