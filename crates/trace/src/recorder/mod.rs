//! Records the operations of a program while it runs.
//!
//! The caller reports the begin of an operation, and the operation itself when it has ended.
//! Operations are sorted by the times at which they began ([`order`]). A thread of the recorder
//! finds out which files existed before ([`story`]) and writes ([`writer`]). No operation ever
//! waits for it: if it falls too far behind, or the file cannot be written, the recording ends
//! there.

mod event;
mod order;
mod story;
#[cfg(test)]
mod tests;
mod writer;

pub use event::Met;

use crate::Operation;
use event::Event;
use futago_base::Errno;
use order::{Key, Order};
use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Instant,
};
use writer::{Message, Writer};

/// The most operations that may wait to be written before the recording ends early.
const WAITING_MAX: usize = 1 << 16;

/// Writes a trace. Clones write the same trace, which ends with the last of them, or with
/// [`Recorder::end`].
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    order: Order,
    /// `None` once the recording has ended.
    queue: Option<SyncSender<Message>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Recorder {
    /// Starts a recording to a file, which is created or overwritten.
    ///
    /// # Errors
    ///
    /// The file cannot be created or written, or the thread cannot be started.
    pub fn create(path: &Path) -> io::Result<Self> {
        let with_path = |error: io::Error| {
            let text = format!("cannot record to {}: {error}", path.display());
            io::Error::new(error.kind(), text)
        };
        let file = File::create(path).map_err(with_path)?;
        Self::to(file, path.display().to_string()).map_err(with_path)
    }

    /// Starts a recording to any writer; `name` identifies it in the log.
    fn to(file: impl io::Write + Send + 'static, name: String) -> io::Result<Self> {
        let writer = Writer::begin(file, name)?;
        let (queue, messages) = sync_channel(WAITING_MAX);
        let thread = thread::Builder::new().name("futago-recorder".into());
        let thread = thread.spawn(move || writer.run(&messages))?;
        let state = State {
            order: Order::default(),
            queue: Some(queue),
            writer: Some(thread),
        };
        Ok(Self(Arc::new(Shared {
            began: Instant::now(),
            state: Mutex::new(state),
        })))
    }

    /// Begins an operation; `process` is the requesting thread, if it is known. `None` if the
    /// recording has ended.
    pub fn begin(&self, process: Option<u64>) -> Option<Begun<'_>> {
        let mut state = self.0.state();
        state.queue.as_ref()?;
        let now_ns = self.0.now_ns();
        Some(Begun {
            shared: &self.0,
            key: state.order.begin(now_ns),
            process,
            at_ns: now_ns,
            events: Vec::new(),
        })
    }

    /// Ends the recording and waits until it is written.
    ///
    /// # Errors
    ///
    /// The reason why the recording ended early.
    pub fn end(&self) -> io::Result<()> {
        self.0.end()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn end(&self) -> io::Result<()> {
        let mut state = self.state();
        let rest = state.order.end_all();
        let (queue, writer) = (state.queue.take(), state.writer.take());
        // The lock is released, so that only this thread waits for the disk.
        drop(state);
        if let Some(queue) = queue {
            let rest = rest.into_iter().map(Message::Event);
            for message in rest.chain([Message::End]) {
                // A writer that has ended reports the reason below.
                let _ = queue.send(message);
            }
        }
        let panicked = |_| Err(io::Error::other("the recorder has panicked"));
        writer.map_or(Ok(()), |writer| writer.join().unwrap_or_else(panicked))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The writer has logged the reason if the recording ended early.
        self.end().ok();
    }
}

impl State {
    /// Queues events for the writer.
    fn write(&mut self, events: Vec<Event>) {
        for event in events {
            let Some(queue) = &self.queue else { return };
            if queue.try_send(Message::Event(event)).is_err() {
                // The writer is too far behind, or cannot write. It logs the reason itself.
                self.queue = None;
            }
        }
    }
}

/// An operation in progress. The reported operations are recorded when this is dropped.
#[derive(Debug)]
pub struct Begun<'a> {
    shared: &'a Shared,
    key: Key,
    process: Option<u64>,
    /// The time at which the next reported operation began.
    at_ns: u64,
    events: Vec<Event>,
}

impl Begun<'_> {
    /// Reports an operation that has just ended. It began with this value, or at the end of the
    /// operation reported before. It found the files in `met`.
    pub fn tell(&mut self, operation: Operation, error: Option<Errno>, met: Vec<Met>) {
        let end_ns = self.shared.now_ns();
        let begin_ns = std::mem::replace(&mut self.at_ns, end_ns);
        self.events.push(Event {
            process: self.process,
            begin_ns,
            end_ns,
            operation,
            error,
            met,
        });
    }

    /// Extends the last operation to now, and adds a file that it found.
    pub fn add(&mut self, met: Met) {
        self.at_ns = self.shared.now_ns();
        if let Some(last) = self.events.last_mut() {
            last.end_ns = self.at_ns;
            last.met.push(met);
        }
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let events = std::mem::take(&mut self.events);
        let ready = state.order.end(self.key, events);
        state.write(ready);
    }
}
