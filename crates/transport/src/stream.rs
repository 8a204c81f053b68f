//! Sockets of either family.

use crate::{Address, Party};
use rustix::{
    ioctl::{Getter, Opcode, ioctl},
    net::{SendAncillaryBuffer, SendFlags, sendmsg},
};
use std::{
    ffi::c_int,
    io::{self, IoSlice},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
};

/// `SIOCOUTQ`.
const OUTPUT_QUEUE: Opcode = 0x5411;

/// A connected socket.
#[derive(Debug)]
pub enum Stream {
    /// TCP with `TCP_NODELAY`.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

macro_rules! either {
    ($stream:expr, $socket:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($socket) => $call,
            Stream::Unix($socket) => $call,
        }
    };
}

impl Stream {
    /// Connects to an address.
    pub async fn connect(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(host_and_port) => {
                let socket = TcpStream::connect(host_and_port).await?;
                socket.set_nodelay(true)?;
                Self::Tcp(socket)
            }
            Address::Unix(path) => Self::Unix(UnixStream::connect(path).await?),
        })
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
    pub fn try_read_buf(&self, into: &mut impl bytes::BufMut) -> io::Result<usize> {
        either!(self, socket => socket.try_read_buf(into))
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, socket => socket.try_io(Interest::WRITABLE, || send(socket, from)))
    }

    /// How many written bytes the peer's system has not confirmed yet.
    pub fn unconfirmed_bytes(&self) -> io::Result<usize> {
        either!(self, socket => unconfirmed_bytes(socket))
    }
}

/// How many bytes that were written to a socket the peer's system has not confirmed yet. Of a Unix
/// socket it is the memory that they take until the peer has read them.
pub(crate) fn unconfirmed_bytes(socket: impl AsFd) -> io::Result<usize> {
    // SAFETY: of a socket, Linux writes the number as an `int` for this request (tcp(7), unix(7)).
    let request = unsafe { Getter::<OUTPUT_QUEUE, c_int>::new() };
    // SAFETY: the request is made for sockets, and changes nothing.
    let bytes = unsafe { ioctl(socket, request) }?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Sends what there is room for. A peer that is gone is an error and raises no `SIGPIPE`, which
/// would end a C program that uses a library of ours.
pub(crate) fn send(socket: impl AsFd, from: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let mut nothing = SendAncillaryBuffer::default();
    Ok(sendmsg(socket, from, &mut nothing, flags)?)
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self.get_mut(), socket => Pin::new(socket).poll_read(context, into))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(either!(&*self, socket => socket.poll_write_ready(context)))?;
            match self.try_write_vectored(&[IoSlice::new(from)]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), socket => Pin::new(socket).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), socket => Pin::new(socket).poll_shutdown(context))
    }
}

/// A listening socket. A Unix socket's file is removed with it.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket and its file.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens at an address. A stale file of a Unix socket is replaced.
    pub async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(host_and_port) => TcpListener::bind(host_and_port).await.map(Self::Tcp),
            Address::Unix(path) => {
                if is_left_over(path).await {
                    std::fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    /// Listens for shared memory from processes of this host, beside a TCP port. `None` beside a
    /// Unix socket, which serves both.
    pub fn bind_nearby(address: &Address, cluster: u64, party: Party) -> io::Result<Option<Self>> {
        match (address, address.nearby(cluster, party)) {
            (Address::Tcp(_), Some(name)) => Ok(Some(Self::Unix(UnixListener::bind(&name)?, name))),
            _ => Ok(None),
        }
    }

    /// The next connection.
    pub async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                Ok(Stream::Tcp(socket))
            }
            Self::Unix(listener, _) => {
                let (socket, _) = listener.accept().await?;
                Ok(Stream::Unix(socket))
            }
        }
    }

    /// The address, with the port that the system has chosen.
    pub fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => Ok(Address::Tcp(listener.local_addr()?.to_string())),
            Self::Unix(_, path) => Ok(Address::Unix(path.clone())),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // A file that cannot be removed is left; abstract names have none.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a Unix socket's file exists without a listener. The type is checked, because a file of
/// another type refuses connections in the same way.
async fn is_left_over(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    is_socket
        && UnixStream::connect(path)
            .await
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
