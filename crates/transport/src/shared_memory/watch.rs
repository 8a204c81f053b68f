//! Looking at the streams of a thread instead of sleeping on them.

use super::{
    stream::Shared,
    waiting::{is_crowded, yield_processor},
};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Instant,
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
/// polled. It yields the processor between two looks, to tasks of this thread and to other processes: a
/// client and its server often share one.
pub async fn keep_watch() {
    let _end = Watching::begin();
    let begun = WATCH.with(|watch| Rc::clone(&watch.begun));
    loop {
        if look() {
            yield_processor();
            task::yield_now().await;
        } else {
            begun.notified().await;
        }
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

/// Looks at each stream once; whether any is left to be looked at.
fn look() -> bool {
    let now = Instant::now();
    WATCH.with(|watch| {
        let now = (!is_crowded(now)).then_some(now);
        let mut streams = watch.streams.borrow_mut();
        streams.as_mut().is_some_and(|streams| {
            streams.retain(|stream| {
                let again = stream.look(now);
                stream.watched.store(again, Ordering::Relaxed);
                again
            });
            !streams.is_empty()
        })
    })
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
