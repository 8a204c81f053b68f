//! A connection through shared memory, with the interface of a socket.

use super::{
    memory::Words,
    region::{Direction, Directions},
    ring::{Reader, Violation, Writer},
    watch,
};
use crate::busy::{self, now};
use atomic_refcell::AtomicRefCell;
use bytes::{BufMut, buf::UninitSlice};
use futago_base::Time;
use futago_driver::SpinLimit;
use rustix::net::{SendFlags, send};
use std::{
    io::{self, IoSlice},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{net::UnixStream, sync::Notify};

/// How many of the peer's bytes that woke this end are taken at once.
const BELLS: usize = 64;

/// A connection through shared memory.
#[derive(Debug)]
pub struct MemoryStream(Arc<Shared>);

/// What the stream and those who look at it share.
#[derive(Debug)]
pub(super) struct Shared {
    outgoing: AtomicRefCell<Writer<Words<Direction>>>,
    incoming: AtomicRefCell<Reader<Words<Direction>>>,
    /// Carries a byte to whoever sleeps, and ends with the other end.
    socket: UnixStream,
    /// The other end is gone.
    closed: AtomicBool,
    for_bytes: Waiting,
    for_room: Waiting,
    /// Somebody looks at it.
    pub(super) watched: AtomicBool,
    /// Somebody reads and writes again and again, so that nobody need look at it.
    attended: AtomicBool,
}

/// One who waits for the other end.
#[derive(Debug, Default)]
struct Waiting {
    since: AtomicRefCell<Option<Time>>,
    spin_limit: AtomicRefCell<SpinLimit>,
    /// Told when there is what it waits for.
    ready: Notify,
}

impl MemoryStream {
    pub(super) fn new(directions: Directions, socket: UnixStream) -> Self {
        Self(Arc::new(Shared {
            outgoing: AtomicRefCell::new(Writer::new(directions.outgoing)),
            incoming: AtomicRefCell::new(Reader::new(directions.incoming)),
            socket,
            closed: AtomicBool::new(false),
            for_bytes: Waiting::default(),
            for_room: Waiting::default(),
            watched: AtomicBool::new(false),
            attended: AtomicBool::new(false),
        }))
    }

    /// Waits until there is something to read, or the other end is gone; perhaps in vain.
    pub async fn readable(&self) -> io::Result<()> {
        let shared = &self.0;
        shared.wait(&shared.for_bytes, || shared.has_bytes()).await
    }

    /// Waits until there is room to write, or the other end is gone; perhaps in vain.
    pub async fn writable(&self) -> io::Result<()> {
        let shared = &self.0;
        shared.wait(&shared.for_room, || shared.has_room()).await
    }

    /// From now until [`MemoryStream::leave`], somebody reads and writes again and again: those who wait
    /// do not look, and the other end need not wake them.
    pub(crate) fn attend(&self) {
        self.0.attended.store(true, Ordering::Relaxed);
        self.0.incoming.borrow().stay_awake();
    }

    pub(crate) fn is_attended(&self) -> bool {
        self.0.attended.load(Ordering::Relaxed)
    }

    /// Leaves what there is, and what comes, to those who wait. `has_begun`: they have not heard of a
    /// message that must end in time.
    pub(crate) fn leave(&self, has_begun: bool) {
        self.0.attended.store(false, Ordering::Relaxed);
        self.0.sleep();
        if has_begun {
            self.0.for_bytes.ready.notify_one();
        }
    }

    /// Reads what is there; nothing when the other end is gone.
    pub fn try_read<'a>(&self, into: impl Into<&'a mut UninitSlice>) -> io::Result<usize> {
        let into = into.into();
        let mut incoming = self.0.incoming.borrow_mut();
        let count = incoming.read(&mut *into).map_err(broken)?;
        if count > 0 {
            busy::begin_now();
            if incoming.must_wake() {
                self.0.wake_peer();
            }
        } else if !self.0.is_closed() && into.len() > 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }

    /// Reads what is there into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        let mut total = 0;
        while into.has_remaining_mut() {
            match self.try_read(into.chunk_mut()) {
                Ok(0) => break,
                Ok(count) => {
                    // SAFETY: so many bytes of it have been read.
                    unsafe { into.advance_mut(count) };
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
        if self.0.is_closed() {
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
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn has_bytes(&self) -> io::Result<bool> {
        let available = self.incoming.borrow().available().map_err(broken)?;
        Ok(available > 0 || self.is_closed())
    }

    fn has_room(&self) -> io::Result<bool> {
        let room = self.outgoing.borrow().room().map_err(broken)?;
        Ok(room > 0 || self.is_closed())
    }

    async fn wait(
        self: &Arc<Self>,
        waiting: &Waiting,
        is_ready: impl Fn() -> io::Result<bool>,
    ) -> io::Result<()> {
        if is_ready()? {
            return Ok(());
        }
        let since = now();
        *waiting.since.borrow_mut() = Some(since);
        while !is_ready()? {
            watch::add(self);
            tokio::select! {
                () = waiting.ready.notified() => break,
                bell = self.socket.readable() => {
                    bell?;
                    self.take_bells()?;
                }
            }
        }
        *waiting.since.borrow_mut() = None;
        waiting.spin_limit.borrow_mut().learn(now().since(since));
        Ok(())
    }

    /// Wakes those who wait for what is there now, and has the peer wake those who have waited for too
    /// long; without a time, all.
    pub(super) fn look(&self, now: Option<Time>) -> Looked {
        if self.attended.load(Ordering::Relaxed) {
            return Looked::default();
        }
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
        bytes.and(room)
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
            Ok(0) => self.closed.store(true, Ordering::Relaxed),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                self.closed.store(true, Ordering::Relaxed)
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(())
    }
}

/// What came of a look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    /// Somebody has something to do now.
    pub found: bool,
    /// Somebody still waits and does not sleep.
    pub again: bool,
}

impl Looked {
    /// Whether to look again soon, and not before others have had their turn.
    pub const fn is_in_vain(self) -> bool {
        self.again && !self.found
    }

    /// What came of both.
    pub const fn and(self, other: Self) -> Self {
        Self {
            found: self.found || other.found,
            again: self.again || other.again,
        }
    }
}

impl Waiting {
    /// Looks for one who waits.
    fn look(
        &self,
        now: Option<Time>,
        is_ready: impl FnOnce() -> io::Result<bool>,
        may_sleep: impl FnOnce() -> Result<bool, Violation>,
    ) -> Looked {
        let Some(since) = *self.since.borrow() else {
            return Looked::default();
        };
        // Who is woken meets an error too.
        let ready = is_ready().unwrap_or(true);
        let span = self.spin_limit.borrow().span();
        let patient = now.is_some_and(|now| now.since(since) < span);
        let found = ready || !patient && !may_sleep().unwrap_or(false);
        if found {
            self.ready.notify_one();
        }
        Looked {
            found,
            again: patient && !found,
        }
    }
}

fn broken(violation: Violation) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, violation)
}
