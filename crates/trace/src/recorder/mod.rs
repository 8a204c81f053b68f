//! Records what a program does while it runs.
//!
//! Whoever performs operations says when one begins and what it was when it has ended. Operations are put
//! in the order in which they began ([`order`]); a thread of the recorder's own finds out what was there before
//! ([`story`]) and writes ([`writer`]). Nobody ever waits for it: if it falls behind too far, or the file cannot
//! be written, the recording is cut there.

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

/// How many operations may wait to be written, before the recording is cut.
const WAITING_MAX: usize = 1 << 16;

/// Writes a trace. Clones write the same one; it ends with the last of them, or with [`Recorder::end`].
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
    /// Gone when the recording has ended or has been cut.
    queue: Option<SyncSender<Message>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Recorder {
    /// Begins to record to a file, which is made or overwritten.
    ///
    /// # Errors
    ///
    /// The file cannot be made or written, or the thread cannot be started.
    pub fn create(path: &Path) -> io::Result<Self> {
        let told = |error: io::Error| {
            let text = format!("cannot record to {}: {error}", path.display());
            io::Error::new(error.kind(), text)
        };
        let file = File::create(path).map_err(told)?;
        Self::to(file, path.display().to_string()).map_err(told)
    }

    /// The same to anything that can be written; `name` stands for it in the log.
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

    /// An operation begins; `process` is the thread that asked for it, if that is known. `None` if nothing
    /// is recorded any more.
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
    /// The recording has been cut: why.
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
        // Nobody else waits for the disk.
        drop(state);
        if let Some(queue) = queue {
            let rest = rest.into_iter().map(Message::Event);
            for message in rest.chain([Message::End]) {
                // A writer that has gone tells why below.
                let _ = queue.send(message);
            }
        }
        let panicked = |_| Err(io::Error::other("the recorder has panicked"));
        writer.map_or(Ok(()), |writer| writer.join().unwrap_or_else(panicked))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The writer has told the log if the recording was cut.
        self.end().ok();
    }
}

impl State {
    /// Hands on what can be written.
    fn write(&mut self, events: Vec<Event>) {
        for event in events {
            let Some(queue) = &self.queue else { return };
            if queue.try_send(Message::Event(event)).is_err() {
                // It is too far behind, or cannot write. It tells the log itself.
                self.queue = None;
            }
        }
    }
}

/// Something under way that is recorded. What has been told of it is recorded when this is dropped.
#[derive(Debug)]
pub struct Begun<'a> {
    shared: &'a Shared,
    key: Key,
    process: Option<u64>,
    /// When what is told next began.
    at_ns: u64,
    events: Vec<Event>,
}

impl Begun<'_> {
    /// An operation has just ended, which began with this or at the end of the one before; it met files
    /// that were there already.
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

    /// What was told last has only now ended, and this is what is known of the file that it met.
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
