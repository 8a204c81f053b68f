//! A connected socket that the runtime watches, and for which its thread stays awake for a while.

use crate::{
    Stream,
    busy::{self, now},
    polling,
};
use atomic_refcell::AtomicRefCell;
use bytes::BufMut;
use futago_driver::SpinLimit;
use std::io::{self, IoSlice};

/// A connected socket. A thread that waits for it polls before it blocks, because a wake-up takes
/// longer than most peers need for their next message.
#[derive(Debug)]
pub struct WatchedSocket {
    stream: Stream,
    spin_limit: AtomicRefCell<SpinLimit>,
}

impl From<Stream> for WatchedSocket {
    fn from(stream: Stream) -> Self {
        Self {
            stream,
            spin_limit: AtomicRefCell::default(),
        }
    }
}

impl WatchedSocket {
    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        let since = now();
        polling::stay_awake(since + self.spin_limit.borrow().span());
        self.stream.readable().await?;
        self.spin_limit.borrow_mut().learn(now().since(since));
        Ok(())
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Reads the available bytes.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        began(self.stream.try_read(into))
    }

    /// Reads the available bytes into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        began(self.stream.try_read_buf(into))
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(from)
    }

    /// How many written bytes the peer's system has not confirmed yet.
    pub fn unconfirmed_bytes(&self) -> io::Result<usize> {
        self.stream.unconfirmed_bytes()
    }
}

/// The thread is busy from the first byte that it finds.
fn began(read: io::Result<usize>) -> io::Result<usize> {
    if read.as_ref().is_ok_and(|count| *count > 0) {
        busy::begin_now();
    }
    read
}
