//! The tasks that wait for the two directions of a stream.

use crate::{
    polling,
    waiter::{PollResult, Polled, Waiting},
};
use futago_base::Time;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A stream that a thread polls for its waiting tasks.
pub(crate) trait PolledStream: Send + Sync + 'static {
    fn waiters(&self) -> &Waiters;

    /// Whether there is something to read, or the other end is gone.
    fn has_bytes(&self) -> io::Result<bool>;

    /// Whether there is room to write, or the other end is gone.
    fn has_room(&self) -> io::Result<bool>;

    /// Sees to it that bytes wake this end. Returns false if it must not block.
    fn prepare_for_bytes(&self) -> io::Result<bool>;

    /// Sees to it that room wakes this end. Returns false if it must not block.
    fn prepare_for_room(&self) -> io::Result<bool>;
}

/// The waiting tasks of a stream.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    for_bytes: Waiting,
    for_room: Waiting,
    /// Whether the stream is in the list of polled streams.
    is_listed: AtomicBool,
    /// Whether a thread reads and writes continuously, so that waiting tasks need not poll.
    is_polled: AtomicBool,
}

impl Waiters {
    pub fn start_polling(&self) {
        self.is_polled.store(true, Ordering::Relaxed);
    }

    pub fn is_polled(&self) -> bool {
        self.is_polled.load(Ordering::Relaxed)
    }
}

/// Leaves available and future bytes to waiting tasks. With `is_needed`, the task that waits for
/// bytes continues at once.
pub(crate) fn stop_polling(stream: &impl PolledStream, is_needed: bool) {
    stream.waiters().is_polled.store(false, Ordering::Relaxed);
    stream.sleep();
    if is_needed {
        stream.waiters().for_bytes.ready.notify_one();
    }
}

/// Waits until there is something to read, or the other end is gone. `signalled` waits for a signal
/// of the other end, and takes it.
pub(crate) async fn wait_for_bytes<S: PolledStream>(
    stream: &Arc<S>,
    signalled: impl AsyncFn() -> io::Result<()>,
) -> io::Result<()> {
    let waiting = &stream.waiters().for_bytes;
    wait(stream, waiting, || stream.has_bytes(), signalled).await
}

/// Waits until there is room to write, or the other end is gone.
pub(crate) async fn wait_for_room<S: PolledStream>(
    stream: &Arc<S>,
    signalled: impl AsyncFn() -> io::Result<()>,
) -> io::Result<()> {
    let waiting = &stream.waiters().for_room;
    wait(stream, waiting, || stream.has_room(), signalled).await
}

async fn wait<S: PolledStream>(
    stream: &Arc<S>,
    waiting: &Waiting,
    is_ready: impl Fn() -> io::Result<bool>,
    signalled: impl AsyncFn() -> io::Result<()>,
) -> io::Result<()> {
    if is_ready()? {
        return Ok(());
    }
    let since = waiting.begin();
    while !is_ready()? {
        polling::add(Arc::clone(stream) as Arc<dyn Polled>);
        tokio::select! {
            () = waiting.ready.notified() => break,
            taken = signalled() => taken?,
        }
    }
    waiting.end(since);
    Ok(())
}

impl<S: PolledStream> Polled for S {
    fn poll(&self, now: Option<Time>) -> PollResult {
        let waiters = self.waiters();
        if waiters.is_polled() {
            return PollResult::default();
        }
        let (has_bytes, has_room) = (|| self.has_bytes(), || self.has_room());
        let bytes = waiters
            .for_bytes
            .poll(now, has_bytes, || self.prepare_for_bytes());
        let room = waiters
            .for_room
            .poll(now, has_room, || self.prepare_for_room());
        bytes.and(room)
    }

    fn is_listed(&self) -> &AtomicBool {
        &self.waiters().is_listed
    }
}
