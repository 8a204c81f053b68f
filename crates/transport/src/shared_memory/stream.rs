//! A connection through shared memory, with the interface of a socket.

use super::{
    memory::Words,
    region::{Direction, Directions},
    ring::{Reader, Violation, Writer},
    waiting::Patience,
    watch,
};
use bytes::BufMut;
use rustix::net::{SendFlags, send};
use std::{
    cell::{Cell, RefCell},
    io::{self, IoSlice},
    rc::Rc,
    time::Instant,
};
use tokio::{net::UnixStream, sync::Notify};

/// How much is copied at once into memory that grows, in bytes: it stays in the nearest cache.
const COPY_BYTES: usize = 4 << 10;
/// How many of the peer's bytes that woke this end are taken at once.
const BELLS: usize = 64;

/// A connection through shared memory.
#[derive(Debug)]
pub struct MemoryStream(Rc<Shared>);

/// What the stream and those who look at it share.
#[derive(Debug)]
pub(super) struct Shared {
    outgoing: RefCell<Writer<Words<Direction>>>,
    incoming: RefCell<Reader<Words<Direction>>>,
    /// Carries a byte to whoever sleeps, and ends with the other end.
    socket: UnixStream,
    /// The other end is gone.
    closed: Cell<bool>,
    for_bytes: Waiting,
    for_room: Waiting,
    /// Somebody looks at it.
    pub(super) watched: Cell<bool>,
}

/// One who waits for the other end.
#[derive(Debug, Default)]
struct Waiting {
    since: Cell<Option<Instant>>,
    patience: Cell<Patience>,
    /// Told when there is what it waits for.
    ready: Notify,
}

impl MemoryStream {
    pub(super) fn new(directions: Directions, socket: UnixStream) -> Self {
        Self(Rc::new(Shared {
            outgoing: RefCell::new(Writer::new(directions.outgoing)),
            incoming: RefCell::new(Reader::new(directions.incoming)),
            socket,
            closed: Cell::new(false),
            for_bytes: Waiting::default(),
            for_room: Waiting::default(),
            watched: Cell::new(false),
        }))
    }

    /// Waits until there is something to read, or the other end is gone.
    pub async fn readable(&self) -> io::Result<()> {
        let shared = &self.0;
        shared.wait(&shared.for_bytes, || shared.has_bytes()).await
    }

    /// Waits until there is room to write, or the other end is gone.
    pub async fn writable(&self) -> io::Result<()> {
        let shared = &self.0;
        shared.wait(&shared.for_room, || shared.has_room()).await
    }

    /// Reads what is there; nothing when the other end is gone.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut incoming = self.0.incoming.borrow_mut();
        let count = incoming.read(into).map_err(broken)?;
        if count > 0 {
            if incoming.must_wake() {
                self.0.wake_peer();
            }
        } else if !self.0.closed.get() && !into.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }

    /// Reads what is there into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        let mut chunk = [0; COPY_BYTES];
        let mut total = 0;
        while into.has_remaining_mut() {
            let room = into.remaining_mut().min(COPY_BYTES);
            match self.try_read(&mut chunk[..room]) {
                Ok(0) => break,
                Ok(count) => {
                    into.put_slice(&chunk[..count]);
                    total += count;
                }
                // An error comes again when nothing is left before it.
                Err(_) if total > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.0.closed.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut outgoing = self.0.outgoing.borrow_mut();
        let count = outgoing.write(from.iter().map(|piece| &piece[..]));
        let count = count.map_err(broken)?;
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if outgoing.must_wake() {
            self.0.wake_peer();
        }
        Ok(count)
    }
}

impl Shared {
    fn has_bytes(&self) -> io::Result<bool> {
        let available = self.incoming.borrow().available().map_err(broken)?;
        Ok(available > 0 || self.closed.get())
    }

    fn has_room(&self) -> io::Result<bool> {
        let room = self.outgoing.borrow().room().map_err(broken)?;
        Ok(room > 0 || self.closed.get())
    }

    async fn wait(
        self: &Rc<Self>,
        waiting: &Waiting,
        is_ready: impl Fn() -> io::Result<bool>,
    ) -> io::Result<()> {
        if is_ready()? {
            return Ok(());
        }
        let since = Instant::now();
        waiting.since.set(Some(since));
        while !is_ready()? {
            watch::add(self);
            tokio::select! {
                () = waiting.ready.notified() => {}
                bell = self.socket.readable() => {
                    bell?;
                    self.take_bells()?;
                }
            }
        }
        waiting.since.set(None);
        let mut patience = waiting.patience.get();
        patience.learn(since.elapsed());
        waiting.patience.set(patience);
        Ok(())
    }

    /// Wakes those who wait for what is there now, and has the peer wake those who have waited for too
    /// long; without a time, all. Whether to look again.
    pub(super) fn look(&self, now: Option<Instant>) -> bool {
        let bytes = self.for_bytes.look(
            now,
            || self.has_bytes(),
            || self.incoming.borrow().may_sleep(),
        );
        let room = self.for_room.look(
            now,
            || self.has_room(),
            || self.outgoing.borrow().may_sleep(),
        );
        bytes || room
    }

    /// Has the peer wake all who wait for it.
    pub(super) fn sleep(&self) {
        self.look(None);
    }

    /// Tells the other end, which sleeps, that there is something for it. That it has left other
    /// such bytes untouched or is gone does not matter.
    fn wake_peer(&self) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = send(&self.socket, &[0], flags);
    }

    fn take_bells(&self) -> io::Result<()> {
        match self.socket.try_read(&mut [0; BELLS]) {
            Ok(0) => self.closed.set(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.closed.set(true),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(())
    }
}

impl Waiting {
    /// Looks for one who waits; whether to look again.
    fn look(
        &self,
        now: Option<Instant>,
        is_ready: impl FnOnce() -> io::Result<bool>,
        may_sleep: impl FnOnce() -> Result<bool, Violation>,
    ) -> bool {
        let Some(since) = self.since.get() else {
            return false;
        };
        // Who is woken meets an error too.
        let ready = is_ready().unwrap_or(true);
        let span = self.patience.get().span();
        let patient = now.is_some_and(|now| now.saturating_duration_since(since) < span);
        if ready || !patient && !may_sleep().unwrap_or(false) {
            self.ready.notify_one();
            return false;
        }
        patient
    }
}

fn broken(violation: Violation) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, violation)
}
