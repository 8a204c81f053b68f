//! A connection through shared memory, with the interface of a socket.

use super::{
    memory::Words,
    region::{Direction, Directions},
    ring::{Reader, Violation, Writer},
};
use crate::{
    busy,
    inheritance::Private,
    waiters::{PolledStream, Waiters, stop_polling, wait_for_bytes, wait_for_room},
};
use atomic_refcell::AtomicRefCell;
use bytes::{BufMut, buf::UninitSlice};
use rustix::net::{SendFlags, send};
use std::{
    io::{self, IoSlice, Read},
    os::unix,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{
    io::{
        Interest,
        unix::{AsyncFd, AsyncFdReadyGuard},
    },
    net::UnixStream,
};

/// The most wake-up bytes that are consumed at once.
const WAKE_UPS: usize = 64;

/// A connection through shared memory.
#[derive(Debug)]
pub struct MemoryStream(Arc<Shared>);

/// The state that the stream shares with polling threads.
#[derive(Debug)]
struct Shared {
    _private: Private,
    outgoing: AtomicRefCell<Writer<Words<Direction>>>,
    incoming: AtomicRefCell<Reader<Words<Direction>>>,
    /// Carries wake-up bytes, and closes with the other end. Only its readability is watched: Linux
    /// reports room to write whenever the other end reads a byte, which would wake this thread in
    /// vain.
    socket: AsyncFd<unix::net::UnixStream>,
    /// Whether the other end is gone.
    closed: AtomicBool,
    waiters: Waiters,
}

impl MemoryStream {
    /// Uses memory that both ends have mapped.
    ///
    /// # Errors
    /// The socket cannot be watched.
    pub(super) fn new(directions: Directions, socket: UnixStream) -> io::Result<Self> {
        let (socket, interest) = (socket.into_std()?, Interest::READABLE);
        // SAFETY: a socket of the standard library keeps its descriptor, open, until it is dropped.
        let socket = unsafe { AsyncFd::register_with_interest(socket, interest) }?;
        Ok(Self(Arc::new(Shared {
            _private: Private::new(socket.get_ref()),
            outgoing: AtomicRefCell::new(Writer::new(directions.outgoing)),
            incoming: AtomicRefCell::new(Reader::new(directions.incoming)),
            socket,
            closed: AtomicBool::new(false),
            waiters: Waiters::default(),
        })))
    }

    /// Waits until there is something to read, or the other end is gone. The wake-up may be
    /// spurious.
    pub async fn readable(&self) -> io::Result<()> {
        let shared = &self.0;
        wait_for_bytes(shared, async || shared.signalled().await).await
    }

    /// Waits until there is room to write, or the other end is gone. The wake-up may be spurious.
    pub async fn writable(&self) -> io::Result<()> {
        let shared = &self.0;
        wait_for_room(shared, async || shared.signalled().await).await
    }

    /// From now until [`MemoryStream::stop_polling`], a thread reads and writes continuously.
    /// Waiting tasks do not poll meanwhile, and the other end need not wake them.
    pub(crate) fn start_polling(&self) {
        self.0.waiters.start_polling();
        self.0.incoming.borrow().cancel_block();
    }

    pub(crate) fn is_polled(&self) -> bool {
        self.0.waiters.is_polled()
    }

    /// Leaves available and future bytes to waiting tasks. With `has_begun`, a message is
    /// incomplete whose deadline the waiting task must learn of.
    pub(crate) fn stop_polling(&self, has_begun: bool) {
        stop_polling(&*self.0, has_begun);
    }

    /// Reads the available bytes; 0 when the other end is gone.
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

    /// Reads the available bytes into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        let mut total = 0;
        while into.has_remaining_mut() {
            match self.try_read(into.chunk_mut()) {
                Ok(0) => break,
                Ok(count) => {
                    // SAFETY: this many of its bytes have been initialized by the read.
                    unsafe { into.advance_mut(count) };
                    total += count;
                }
                // The error occurs again once the bytes before it are consumed.
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

    /// Waits for wake-up bytes, and takes them.
    async fn signalled(&self) -> io::Result<()> {
        self.take_wake_ups(self.socket.readable().await?)
    }

    /// Wakes the blocked peer. Errors are ignored: the peer is gone, or has unread wake-up bytes,
    /// which suffice.
    fn wake_peer(&self) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = send(&self.socket, &[0], flags);
    }

    fn take_wake_ups(
        &self,
        mut readable: AsyncFdReadyGuard<'_, unix::net::UnixStream>,
    ) -> io::Result<()> {
        match readable.get_inner().read(&mut [0; WAKE_UPS]) {
            Ok(0) => self.closed.store(true, Ordering::Relaxed),
            Ok(WAKE_UPS..) => {}
            // There are no more for now.
            Ok(_) => readable.clear_ready(),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => readable.clear_ready(),
                io::ErrorKind::ConnectionReset => self.closed.store(true, Ordering::Relaxed),
                _ => return Err(error),
            },
        }
        Ok(())
    }
}

impl PolledStream for Shared {
    fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    fn has_bytes(&self) -> io::Result<bool> {
        let available = self.incoming.borrow().available().map_err(broken)?;
        Ok(available > 0 || self.is_closed())
    }

    fn has_room(&self) -> io::Result<bool> {
        let room = self.outgoing.borrow().room().map_err(broken)?;
        Ok(room > 0 || self.is_closed())
    }

    fn prepare_for_bytes(&self) -> io::Result<bool> {
        self.incoming.borrow().prepare_to_block().map_err(broken)
    }

    fn prepare_for_room(&self) -> io::Result<bool> {
        self.outgoing.borrow().prepare_to_block().map_err(broken)
    }
}

fn broken(violation: Violation) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, violation)
}
