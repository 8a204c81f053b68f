//! A socket whose bytes are encrypted and authenticated.
//!
//! The stream is split into messages of the Noise protocol, each under the next nonce of its
//! direction:
//!
//! ```text
//! length of the rest (2 bytes, little-endian)   encrypted bytes   tag (16 bytes)
//! ```
//!
//! A message that was changed, repeated, moved or omitted does not open, and ends the connection.

use crate::{
    Socket,
    decoder::IDLE_BUFFER_BYTES,
    session::{Opener, PLAIN_BYTES_MAX, Sealer, Session, TAG_BYTES},
};
use atomic_refcell::AtomicRefCell;
use bytes::BufMut;
use std::io::{self, IoSlice};

/// The most bytes of one read from the socket: more than a message.
const READ_BYTES: usize = 128 << 10;
/// The bytes of the length before a message.
const LENGTH_BYTES: usize = size_of::<u16>();

/// A connected socket and the keys of both directions.
///
/// Threads may share it, but at most one may read at a time, and at most one may write.
#[derive(Debug)]
pub struct SecureStream {
    pub(crate) socket: Socket,
    outgoing: AtomicRefCell<Outgoing>,
    incoming: AtomicRefCell<Incoming>,
}

impl SecureStream {
    /// Continues a socket after the handshake.
    pub fn new(socket: Socket, session: Session) -> Self {
        Self {
            socket,
            outgoing: AtomicRefCell::new(Outgoing::new(session.sealer)),
            incoming: AtomicRefCell::new(Incoming::new(session.opener)),
        }
    }

    /// Whether there are opened bytes that were not read yet.
    pub fn has_opened(&self) -> bool {
        !self.incoming.borrow().opened().is_empty()
    }

    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        match self.has_opened() {
            true => Ok(()),
            false => self.socket.readable().await,
        }
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Reads the available bytes.
    pub fn try_read(&self, mut into: &mut [u8]) -> io::Result<usize> {
        self.try_read_buf(&mut into)
    }

    /// Reads the available bytes into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        self.incoming.borrow_mut().read(into, &self.socket)
    }

    /// Writes as much as there is room for. After [`io::ErrorKind::WouldBlock`] the caller must
    /// retry with the same bytes in front, because they may be sealed already.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.outgoing.borrow_mut().write(from, &self.socket)
    }
}

/// The outgoing message.
#[derive(Debug)]
struct Outgoing {
    sealer: Sealer,
    /// The sealed message after its length; empty if none is in progress.
    sealed: Vec<u8>,
    /// The bytes of it that the socket has taken.
    written: usize,
    /// The bytes of the stream that it contains.
    held: usize,
}

impl Outgoing {
    const fn new(sealer: Sealer) -> Self {
        Self {
            sealer,
            sealed: Vec::new(),
            written: 0,
            held: 0,
        }
    }

    /// Bytes count as written once the socket has taken all of their message, so that the caller
    /// waits for room until then.
    fn write(&mut self, from: &[IoSlice<'_>], socket: &Socket) -> io::Result<usize> {
        if self.sealed.is_empty() {
            self.seal(from)?;
        }
        while self.written < self.sealed.len() {
            let rest = IoSlice::new(&self.sealed[self.written..]);
            self.written += socket.try_write_vectored(&[rest])?;
        }
        self.sealed.clear();
        self.sealed.shrink_to(IDLE_BUFFER_BYTES);
        self.written = 0;
        Ok(self.held)
    }

    fn seal(&mut self, from: &[IoSlice<'_>]) -> io::Result<()> {
        let all: usize = from.iter().map(|piece| piece.len()).sum();
        let mut plain = Vec::with_capacity(all.min(PLAIN_BYTES_MAX));
        for piece in from {
            let room = PLAIN_BYTES_MAX - plain.len();
            plain.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let length = (plain.len() + TAG_BYTES) as u16;
        self.sealed.extend_from_slice(&length.to_le_bytes());
        let sealing = self.sealer.seal(&plain, &mut self.sealed);
        if sealing.is_err() {
            self.sealed.clear();
        }
        self.held = plain.len();
        sealing
    }
}

/// The incoming messages.
#[derive(Debug)]
struct Incoming {
    opener: Opener,
    /// The beginning of an incomplete message.
    sealed: Vec<u8>,
    /// The contents of opened messages.
    plain: Vec<u8>,
    /// The bytes of it that were consumed.
    taken: usize,
}

impl Incoming {
    const fn new(opener: Opener) -> Self {
        Self {
            opener,
            sealed: Vec::new(),
            plain: Vec::new(),
            taken: 0,
        }
    }

    /// The opened bytes that are not consumed yet.
    fn opened(&self) -> &[u8] {
        &self.plain[self.taken..]
    }

    fn read(&mut self, into: &mut impl BufMut, socket: &Socket) -> io::Result<usize> {
        while self.opened().is_empty() {
            if self.fill(socket)? == 0 {
                return self.ended();
            }
            self.open_all()?;
        }
        let count = self.opened().len().min(into.remaining_mut());
        into.put_slice(&self.opened()[..count]);
        self.taken += count;
        self.forget();
        Ok(count)
    }

    /// Frees memory when all bytes are consumed.
    fn forget(&mut self) {
        if self.opened().is_empty() {
            self.plain.clear();
            self.plain.shrink_to(IDLE_BUFFER_BYTES);
            self.taken = 0;
        }
    }

    fn fill(&mut self, socket: &Socket) -> io::Result<usize> {
        self.sealed.reserve(READ_BYTES);
        let count = socket.try_read_buf(&mut (&mut self.sealed).limit(READ_BYTES));
        if self.sealed.is_empty() {
            self.sealed.shrink_to(IDLE_BUFFER_BYTES);
        }
        count
    }

    /// The peer has closed the connection.
    fn ended(&self) -> io::Result<usize> {
        match self.sealed.is_empty() {
            true => Ok(0),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Opens all messages that are complete.
    fn open_all(&mut self) -> io::Result<()> {
        let mut rest = &self.sealed[..];
        while let Some(message) = split_message(&mut rest) {
            self.opener.open(message, &mut self.plain)?;
        }
        let opened = self.sealed.len() - rest.len();
        self.sealed.drain(..opened);
        Ok(())
    }
}

/// Splits a complete message from the front of `bytes`.
fn split_message<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let (message, rest) = after.split_at_checked(u16::from_le_bytes(*length).into())?;
    *bytes = rest;
    Some(message)
}
