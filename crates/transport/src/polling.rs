//! Polls the streams and sockets of a thread, so that it need not block on them.

use crate::{
    busy::{self, now},
    waiter::{PollResult, Polled},
    waiting::{is_contended, yield_cpu},
};
use futago_base::Time;
use futago_driver::BUSY_MAX;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};
use tokio::{sync::Notify, task};

thread_local! {
    static POLLED: PolledStreams = PolledStreams::default();
}

#[derive(Default)]
struct PolledStreams {
    /// Streams with waiting tasks that are not blocked yet; `None` if the thread does not poll.
    streams: RefCell<Option<Vec<Arc<dyn Polled>>>>,
    /// Until when the thread polls in any case, because the peer of a socket may answer soon.
    awake_until: Cell<Time>,
    /// Notified when there is a stream to poll.
    begun: Rc<Notify>,
}

/// Polls this thread's streams for as long as it is polled itself, so that waits do not block at
/// once.
///
/// `exclusively` runs its argument while no other thread uses the streams. After a poll that finds
/// nothing it yields the CPU, because a client and its server often share a core. After
/// [`BUSY_MAX`] of work it yields, too, because the kernel would preempt a busy thread only at a
/// tick. While other processes need the CPU it does not, because they would keep it until the tick.
/// The thread is [busy] between a poll that finds something and one that does not.
pub async fn poll_streams(exclusively: impl Fn(&mut dyn FnMut())) {
    let _end = Polling::begin();
    let begun = POLLED.with(|polled| Rc::clone(&polled.begun));
    let mut yielded = now();
    loop {
        let at = now();
        let mut result = PollResult::default();
        exclusively(&mut || result = poll(at));
        let works_since = busy::since().map_or(at, |since| since.max(yielded));
        let works_long = at.since(works_since) >= BUSY_MAX;
        if result.is_idle() || works_long && !is_contended(at) {
            yielded = yield_cpu(at);
        }
        if !result.again {
            begun.notified().await;
            continue;
        }
        // Other tasks may wait for the kernel, as those of a mount do.
        task::yield_now().await;
    }
}

/// Polls a stream until it has no waiting task. A thread that does not poll requests a wake-up
/// instead.
pub(crate) fn add(stream: Arc<dyn Polled>) {
    if stream.is_listed().load(Ordering::Relaxed) {
        return;
    }
    POLLED.with(|polled| match polled.streams.borrow_mut().as_mut() {
        Some(streams) => {
            stream.is_listed().store(true, Ordering::Relaxed);
            streams.push(stream);
            polled.begun.notify_one();
        }
        None => stream.sleep(),
    });
}

/// Polls at least until this time, unless the CPU is contended. The runtime asks the kernel for
/// sockets between two polls.
pub(crate) fn stay_awake(until: Time) {
    POLLED.with(|polled| {
        if until > polled.awake_until.get() {
            polled.awake_until.set(until);
            polled.begun.notify_one();
        }
    });
}

/// Polls each stream once.
fn poll(now: Time) -> PollResult {
    let now_if_polling = (!is_contended(now)).then_some(now);
    let mut all = PollResult::default();
    POLLED.with(|polled| {
        all.again = now_if_polling.is_some_and(|now| now < polled.awake_until.get());
        if let Some(streams) = polled.streams.borrow_mut().as_mut() {
            streams.retain(|stream| {
                let result = stream.poll(now_if_polling);
                all = all.and(result);
                stream.is_listed().store(result.again, Ordering::Relaxed);
                result.again
            });
        }
    });
    match all.found {
        true => busy::begin(now),
        false if all.is_idle() => busy::end(now),
        false => {}
    }
    all
}

/// Marks a thread as polling until it is dropped.
struct Polling;

impl Polling {
    fn begin() -> Self {
        POLLED.with(|polled| *polled.streams.borrow_mut() = Some(Vec::new()));
        Self
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        // The streams are already gone if the thread itself ends.
        let left = POLLED.try_with(|polled| polled.streams.borrow_mut().take());
        for stream in left.ok().flatten().unwrap_or_default() {
            stream.is_listed().store(false, Ordering::Relaxed);
            stream.sleep();
        }
    }
}
