//! TCP and Unix sockets alike.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

/// Where a server listens, as cluster files write it.
#[derive(Clone, Debug)]
pub enum Address {
    /// `tcp:host:port`
    Tcp(String),
    /// `unix:/path`
    Unix(PathBuf),
}

/// A connection.
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

/// A listening socket.
pub enum Listener {
    /// Over TCP.
    Tcp(TcpListener),
    /// Over a Unix socket.
    Unix(UnixListener),
}

impl Address {
    /// Reads an address.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        match text.split_once(':') {
            Some(("tcp", rest)) => Ok(Self::Tcp(rest.to_owned())),
            Some(("unix", path)) => Ok(Self::Unix(PathBuf::from(path))),
            _ => bail!("'{text}' is no address"),
        }
    }

    /// Connects; neither reading nor writing waits longer than `timeout` afterwards.
    pub fn connect(&self, timeout: Duration) -> io::Result<Socket> {
        let socket = match self {
            Self::Tcp(address) => Socket::Tcp(TcpStream::connect(address)?),
            Self::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        socket.set_timeout(timeout)?;
        Ok(socket)
    }

    /// Listens at a new address of the same kind, in `directory` if it needs a path.
    pub fn listen_beside(
        &self,
        directory: &std::path::Path,
        name: &str,
    ) -> io::Result<(Listener, String)> {
        match self {
            Self::Tcp(_) => {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let address = format!("tcp:{}", listener.local_addr()?);
                Ok((Listener::Tcp(listener), address))
            }
            Self::Unix(_) => {
                let path = directory.join(name);
                let listener = UnixListener::bind(&path)?;
                Ok((Listener::Unix(listener), format!("unix:{}", path.display())))
            }
        }
    }

    /// As it stands in the cluster file.
    pub fn text(&self) -> String {
        match self {
            Self::Tcp(address) => format!("tcp:{address}"),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

impl Listener {
    /// The next connection.
    pub fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => Ok(Socket::Tcp(listener.accept()?.0)),
            Self::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
        }
    }
}

impl Socket {
    /// Neither reading nor writing waits longer than this.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
        }
    }

    /// The same connection again.
    pub fn again(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => Ok(Self::Tcp(stream.try_clone()?)),
            Self::Unix(stream) => Ok(Self::Unix(stream.try_clone()?)),
        }
    }

    /// Ends the connection in both directions, also for those who wait on it.
    pub fn shut_down(&self) {
        // An error says that the other side has ended it.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(buffer),
            Self::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}
