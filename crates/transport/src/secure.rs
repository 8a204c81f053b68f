//! A socket whose bytes are encrypted and authenticated.
//!
//! The stream is cut into messages of the Noise protocol, each under the next nonce of its
//! direction:
//!
//! ```text
//! length of what follows (2 bytes, little-endian)   encrypted bytes   tag (16 bytes)
//! ```
//!
//! A message that was changed, repeated, moved or left out does not open, and ends the connection.

use crate::{
    Stream,
    decoder::KEPT_BYTES,
    session::{Opener, PLAIN_BYTES_MAX, Sealer, Session, TAG_BYTES},
};
use atomic_refcell::AtomicRefCell;
use bytes::BufMut;
use std::io::{self, IoSlice};

/// How much is read at once from the socket, in bytes: more than a message.
const READ_BYTES: usize = 128 << 10;
/// The length before a message.
const LENGTH_BYTES: usize = size_of::<u16>();

/// A connected socket and the keys of both directions.
///
/// Threads may share it, if only one at a time reads, and only one writes.
#[derive(Debug)]
pub struct SecureStream {
    socket: Stream,
    outgoing: AtomicRefCell<Outgoing>,
    incoming: AtomicRefCell<Incoming>,
}

impl SecureStream {
    /// Goes on over a socket after the handshake.
    pub fn new(socket: Stream, session: Session) -> Self {
        Self {
            socket,
            outgoing: AtomicRefCell::new(Outgoing::new(session.sealer)),
            incoming: AtomicRefCell::new(Incoming::new(session.opener)),
        }
    }

    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        let is_opened = !self.incoming.borrow().opened().is_empty();
        match is_opened {
            true => Ok(()),
            false => self.socket.readable().await,
        }
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Reads what is there.
    pub fn try_read(&self, mut into: &mut [u8]) -> io::Result<usize> {
        self.try_read_buf(&mut into)
    }

    /// Reads what is there into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        self.incoming.borrow_mut().read(into, &self.socket)
    }

    /// Writes as much as there is room for. After [`io::ErrorKind::WouldBlock`] the caller must
    /// come again with the same bytes in front, because they may be sealed already.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.outgoing.borrow_mut().write(from, &self.socket)
    }
}

/// A message on its way out.
#[derive(Debug)]
struct Outgoing {
    sealer: Sealer,
    /// The message and its length before it; empty if none is under way.
    sealed: Vec<u8>,
    /// How much of it the socket has taken.
    written: usize,
    /// How many bytes of the stream it holds.
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

    /// Bytes count as written when the socket has all of their message, so that the caller waits
    /// for room until then.
    fn write(&mut self, from: &[IoSlice<'_>], socket: &Stream) -> io::Result<usize> {
        if self.sealed.is_empty() {
            self.seal(from)?;
        }
        while self.written < self.sealed.len() {
            let rest = IoSlice::new(&self.sealed[self.written..]);
            self.written += socket.try_write_vectored(&[rest])?;
        }
        self.sealed.clear();
        self.sealed.shrink_to(KEPT_BYTES);
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

/// Messages on their way in.
#[derive(Debug)]
struct Incoming {
    opener: Opener,
    /// The begin of a message that is not complete.
    sealed: Vec<u8>,
    /// What messages held.
    plain: Vec<u8>,
    /// How much of that was taken out.
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

    /// What can be read at once.
    fn opened(&self) -> &[u8] {
        &self.plain[self.taken..]
    }

    fn read(&mut self, into: &mut impl BufMut, socket: &Stream) -> io::Result<usize> {
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

    /// Gives memory back when all was taken out.
    fn forget(&mut self) {
        if self.opened().is_empty() {
            self.plain.clear();
            self.plain.shrink_to(KEPT_BYTES);
            self.taken = 0;
        }
    }

    fn fill(&mut self, socket: &Stream) -> io::Result<usize> {
        self.sealed.reserve(READ_BYTES);
        let count = socket.try_read_buf(&mut (&mut self.sealed).limit(READ_BYTES));
        if self.sealed.is_empty() {
            self.sealed.shrink_to(KEPT_BYTES);
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

/// Takes a message from the front of `bytes`, if it is complete.
fn split_message<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let (message, rest) = after.split_at_checked(u16::from_le_bytes(*length).into())?;
    *bytes = rest;
    Some(message)
}
