//! The transport of messages: a socket or a fabric, encrypted or not, or shared memory.

use crate::{
    LedSocket, SecureStream, Session, Socket, Stream, fabric::FabricStream,
    shared_memory::MemoryStream,
};
use std::io::{self, IoSlice};

/// A connection whose ends have proven the key to each other.
#[derive(Debug)]
pub enum Channel {
    /// A socket or a fabric.
    Stream(Socket),
    /// A socket or a fabric whose bytes are encrypted.
    Secure(SecureStream),
    /// Memory that both ends have mapped.
    Memory(MemoryStream),
}

impl From<Stream> for Channel {
    fn from(stream: Stream) -> Self {
        Self::Stream(Socket::Watched(stream.into()))
    }
}

impl From<MemoryStream> for Channel {
    fn from(stream: MemoryStream) -> Self {
        Self::Memory(stream)
    }
}

macro_rules! either {
    ($channel:expr, $stream:ident => $call:expr) => {
        match $channel {
            Channel::Stream($stream) => $call,
            Channel::Secure($stream) => $call,
            Channel::Memory($stream) => $call,
        }
    };
}

impl Channel {
    /// A socket after the handshake. TCP is encrypted if the cluster is secure. With `led`, a
    /// calling thread can receive from it.
    pub(crate) fn new(
        stream: Stream,
        session: Session,
        is_secure: bool,
        led: bool,
    ) -> io::Result<Self> {
        let is_sealed = is_secure && matches!(stream, Stream::Tcp(_));
        let socket = match led {
            true => Socket::Led(LedSocket::new(stream)?),
            false => Socket::Watched(stream.into()),
        };
        Ok(match is_sealed {
            true => Self::Secure(SecureStream::new(socket, session)),
            false => Self::Stream(socket),
        })
    }

    /// A fabric after the handshake, encrypted if the cluster is secure.
    pub(crate) fn over_fabric(stream: FabricStream, session: Session, is_secure: bool) -> Self {
        let fabric = Socket::Fabric(stream);
        match is_secure {
            true => Self::Secure(SecureStream::new(fabric, session)),
            false => Self::Stream(fabric),
        }
    }

    /// The fabric, if bytes go over one.
    pub const fn fabric(&self) -> Option<&FabricStream> {
        match self {
            Self::Stream(socket) => socket.fabric(),
            Self::Secure(secure) => secure.socket.fabric(),
            Self::Memory(_) => None,
        }
    }

    /// The socket, if a calling thread can receive from it.
    pub const fn led(&self) -> Option<&LedSocket> {
        match self {
            Self::Stream(socket) => socket.led(),
            Self::Secure(secure) => secure.socket.led(),
            Self::Memory(_) => None,
        }
    }

    /// Whether a thread polls both directions, so that it needs no wake-ups.
    pub fn is_polled(&self) -> bool {
        match self {
            Self::Stream(_) | Self::Secure(_) => self.fabric().is_some_and(FabricStream::is_polled),
            Self::Memory(stream) => stream.is_polled(),
        }
    }

    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        either!(self, stream => stream.readable().await)
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        either!(self, stream => stream.writable().await)
    }

    /// Reads the available bytes.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, stream => stream.try_read(into))
    }

    /// Reads the available bytes into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl bytes::BufMut) -> io::Result<usize> {
        either!(self, stream => stream.try_read_buf(into))
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, stream => stream.try_write_vectored(from))
    }

    /// How many written bytes the peer's system has not confirmed yet. Memory needs none.
    pub fn unconfirmed_bytes(&self) -> io::Result<usize> {
        match self {
            Self::Stream(socket) => socket.unconfirmed_bytes(),
            Self::Secure(secure) => secure.socket.unconfirmed_bytes(),
            Self::Memory(_) => Ok(0),
        }
    }
}
