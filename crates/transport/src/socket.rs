//! A connected socket after the handshake, or a fabric in its place.

use crate::{LedSocket, WatchedSocket, fabric::FabricStream};
use bytes::BufMut;
use std::io::{self, IoSlice};

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// The thread of the runtime receives.
    Watched(WatchedSocket),
    /// A calling thread may receive instead.
    Led(LedSocket),
    /// The bytes go over a fabric. The socket only signals.
    Fabric(FabricStream),
}

macro_rules! either {
    ($socket:expr, $inner:ident => $call:expr) => {
        match $socket {
            Socket::Watched($inner) => $call,
            Socket::Led($inner) => $call,
            Socket::Fabric($inner) => $call,
        }
    };
}

impl Socket {
    /// The socket, if a calling thread may receive from it.
    pub const fn led(&self) -> Option<&LedSocket> {
        match self {
            Self::Watched(_) | Self::Fabric(_) => None,
            Self::Led(socket) => Some(socket),
        }
    }

    /// The fabric that the bytes go over.
    pub const fn fabric(&self) -> Option<&FabricStream> {
        match self {
            Self::Watched(_) | Self::Led(_) => None,
            Self::Fabric(stream) => Some(stream),
        }
    }

    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        either!(self, socket => socket.readable().await)
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        either!(self, socket => socket.writable().await)
    }

    /// Reads the available bytes.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, socket => socket.try_read(into))
    }

    /// Reads the available bytes into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        either!(self, socket => socket.try_read_buf(into))
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, socket => socket.try_write_vectored(from))
    }

    /// How many written bytes the peer's system has not confirmed yet. A fabric takes no more than
    /// the peer has buffers for.
    pub fn unconfirmed_bytes(&self) -> io::Result<usize> {
        match self {
            Self::Watched(socket) => socket.unconfirmed_bytes(),
            Self::Led(socket) => socket.unconfirmed_bytes(),
            Self::Fabric(_) => Ok(0),
        }
    }
}
