//! Looking at the streams of a thread instead of sleeping on them.

use super::stream::Shared;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};
use tokio::{sync::Notify, task};

/// Who gets the processor back so late has given it to a process that does not yield, not to one of
/// those that it waits for: these answer or yield much sooner.
const OVERRUN: Duration = Duration::from_millis(1);
/// For how long a thread sleeps at once after that: who sleeps is served first when it is woken, who
/// yields last.
const CROWDED: Duration = Duration::from_millis(50);

thread_local! {
    static WATCH: Watch = Watch::default();
}

#[derive(Default)]
struct Watch {
    /// Streams that somebody waits for and does not sleep on yet; none if nobody keeps watch.
    streams: RefCell<Option<Vec<Rc<Shared>>>>,
    /// Told when there is something to look at.
    begun: Rc<Notify>,
    /// Until then, to yield costs too much.
    crowded_until: Cell<Option<Instant>>,
}

/// Takes care that the waits of this thread's streams do not sleep at once, for as long as it is
/// polled. It yields the processor between two looks, to tasks of this thread and to other processes: a
/// client and its server often share one.
pub async fn keep_watch() {
    let _end = Watching::begin();
    let begun = WATCH.with(|watch| Rc::clone(&watch.begun));
    loop {
        if look() {
            let before = Instant::now();
            thread::yield_now();
            if before.elapsed() > OVERRUN {
                leave_the_crowd();
            }
            task::yield_now().await;
        } else {
            begun.notified().await;
        }
    }
}

/// Has a stream looked at until nobody is left to be woken by it; without a thread that keeps watch, once.
pub(super) fn add(stream: &Rc<Shared>) {
    if stream.watched.get() {
        return;
    }
    WATCH.with(|watch| match watch.streams.borrow_mut().as_mut() {
        Some(streams) => {
            stream.watched.set(true);
            streams.push(Rc::clone(stream));
            watch.begun.notify_one();
        }
        None => stream.sleep(),
    });
}

fn leave_the_crowd() {
    WATCH.with(|watch| watch.crowded_until.set(Some(Instant::now() + CROWDED)));
}

/// Looks at each stream once; whether any is left to be looked at.
fn look() -> bool {
    let now = Instant::now();
    WATCH.with(|watch| {
        let crowded = watch.crowded_until.get().is_some_and(|until| now < until);
        let now = (!crowded).then_some(now);
        let mut streams = watch.streams.borrow_mut();
        streams.as_mut().is_some_and(|streams| {
            streams.retain(|stream| {
                let again = stream.look(now);
                stream.watched.set(again);
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
            stream.watched.set(false);
            stream.sleep();
        }
    }
}
