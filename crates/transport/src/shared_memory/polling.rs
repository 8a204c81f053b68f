//! Looking at the streams of a thread instead of sleeping on them.

use super::{
    stream::{Looked, Shared},
    waiting::{is_contended, yield_processor},
};
use crate::busy::{self, now};
use futago_base::Time;
use futago_driver::BUSY_MAX;
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};
use tokio::{sync::Notify, task};

thread_local! {
    static WATCH: Watch = Watch::default();
}

#[derive(Default)]
struct Watch {
    /// Streams that somebody waits for and does not sleep on yet; none if nobody keeps watch.
    streams: RefCell<Option<Vec<Arc<Shared>>>>,
    /// Told when there is something to look at.
    begun: Rc<Notify>,
}

/// Takes care that the waits of this thread's streams do not sleep at once, for as long as it is
/// polled. If other threads use the streams, too, `in_turn` does what it is given while none of them does.
/// After a look in vain it yields the processor to other processes: a client and its server
/// often share one. After [`BUSY_MAX`] of work it does so, too. The thread is [busy] between a look that finds something and one that does not.
pub async fn keep_watch(in_turn: impl Fn(&mut dyn FnMut())) {
    let _end = Watching::begin();
    let begun = WATCH.with(|watch| Rc::clone(&watch.begun));
    let mut yielded = now();
    loop {
        let at = now();
        let mut looked = Looked::default();
        in_turn(&mut || looked = look(at));
        let works_since = busy::since().map_or(at, |since| since.max(yielded));
        if looked.is_in_vain() || at.since(works_since) >= BUSY_MAX {
            yielded = yield_processor(at);
        }
        if !looked.again {
            begun.notified().await;
            continue;
        }
        // Other tasks may wait for what reaches them through the kernel, as those of a mount do.
        task::yield_now().await;
    }
}

/// Has a stream looked at until nobody is left to be woken by it; without a thread that keeps watch, once.
pub(super) fn add(stream: &Arc<Shared>) {
    if stream.watched.load(Ordering::Relaxed) {
        return;
    }
    WATCH.with(|watch| match watch.streams.borrow_mut().as_mut() {
        Some(streams) => {
            stream.watched.store(true, Ordering::Relaxed);
            streams.push(Arc::clone(stream));
            watch.begun.notify_one();
        }
        None => stream.sleep(),
    });
}

/// Looks at each stream once.
fn look(now: Time) -> Looked {
    let patient_at = (!is_contended(now)).then_some(now);
    let mut all = Looked::default();
    WATCH.with(|watch| {
        if let Some(streams) = watch.streams.borrow_mut().as_mut() {
            streams.retain(|stream| {
                let looked = stream.look(patient_at);
                all = all.and(looked);
                stream.watched.store(looked.again, Ordering::Relaxed);
                looked.again
            });
        }
    });
    match all.found {
        true => busy::begin(now),
        false if all.is_in_vain() => busy::end(now),
        false => {}
    }
    all
}

/// A thread that keeps watch.
struct Watching;

impl Watching {
    fn begin() -> Self {
        WATCH.with(|watch| *watch.streams.borrow_mut() = Some(Vec::new()));
        Self
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // Where the thread itself ends, they are gone already.
        let left = WATCH.try_with(|watch| watch.streams.borrow_mut().take());
        for stream in left.ok().flatten().unwrap_or_default() {
            stream.watched.store(false, Ordering::Relaxed);
            stream.sleep();
        }
    }
}
