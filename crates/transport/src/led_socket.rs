//! A connected socket from which a calling thread can receive, instead of the thread of the
//! runtime.
//!
//! The runtime does not watch the socket itself, but an epoll instance that contains it. While a
//! thread leads, the instance reports no bytes, so that the thread of the runtime is not woken for
//! messages that the leading thread receives. To change that takes one system call.

use crate::{
    Stream,
    inheritance::Private,
    stream::{send, unconfirmed_bytes},
};
use bytes::BufMut;
use rustix::{
    event::{
        PollFd, PollFlags, Timespec,
        epoll::{self, CreateFlags, EventData, EventFlags},
        poll,
    },
    io::retry_on_intr,
    net::{RecvFlags, recv},
};
use std::{
    io::{self, IoSlice},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Mutex, PoisonError},
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::Notify,
};

/// A connected socket that a thread can lead.
#[derive(Debug)]
pub struct LedSocket {
    _private: [Private; 2],
    socket: OwnedFd,
    /// The epoll instance with the socket.
    watch: AsyncFd<OwnedFd>,
    /// The events that the instance reports.
    wanted: Mutex<Wanted>,
    /// Notified when a thread stops to lead.
    left: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    is_led: bool,
    room: bool,
}

impl Wanted {
    fn events(self) -> EventFlags {
        let mut events = EventFlags::empty();
        events.set(EventFlags::IN | EventFlags::RDHUP, !self.is_led);
        events.set(EventFlags::OUT, self.room);
        events
    }
}

impl LedSocket {
    /// Takes over a connected socket.
    ///
    /// # Errors
    /// The socket cannot be watched.
    pub fn new(stream: Stream) -> io::Result<Self> {
        let socket: OwnedFd = match stream {
            Stream::Tcp(socket) => socket.into_std()?.into(),
            Stream::Unix(socket) => socket.into_std()?.into(),
        };
        let wanted = Wanted {
            is_led: false,
            room: false,
        };
        let watch = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&watch, &socket, EventData::new_u64(0), wanted.events())?;
        // SAFETY: an owned descriptor stays the same and open until it is dropped.
        let watch = unsafe { AsyncFd::register_with_interest(watch, Interest::READABLE) }?;
        Ok(Self {
            _private: [Private::new(&socket), Private::new(&watch)],
            socket,
            watch,
            wanted: Mutex::new(wanted),
            left: Notify::new(),
        })
    }

    /// From now until [`LedSocket::stop_leading`], the caller receives.
    pub fn start_leading(&self) {
        self.want(|wanted| wanted.is_led = true);
    }

    /// Leaves available and future bytes to the task that waits for them. With `is_needed`, that
    /// task continues at once: a message is incomplete, or bytes of it are no longer in the socket.
    pub fn stop_leading(&self, is_needed: bool) {
        self.want(|wanted| wanted.is_led = false);
        if is_needed {
            self.left.notify_one();
        }
    }

    /// Changes what the instance reports. It reports at once what is there already.
    fn want(&self, change: impl FnOnce(&mut Wanted)) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut wanted);
        let watch = self.watch.get_ref();
        let changed = epoll::modify(watch, &self.socket, EventData::new_u64(0), wanted.events());
        debug_assert!(changed.is_ok(), "the instance contains the socket");
    }

    /// Waits until there is something to read. The wake-up may be spurious.
    pub async fn readable(&self) -> io::Result<()> {
        while !self.is_ready(PollFlags::IN)? {
            tokio::select! {
                () = self.left.notified() => break,
                changed = self.watch.readable() => changed?.clear_ready(),
            }
        }
        Ok(())
    }

    /// Waits until there is room to write. The wake-up may be spurious.
    pub async fn writable(&self) -> io::Result<()> {
        let _end = WantsRoom::begin(self);
        while !self.is_ready(PollFlags::OUT)? {
            self.watch.readable().await?.clear_ready();
        }
        Ok(())
    }

    fn is_ready(&self, what: PollFlags) -> io::Result<bool> {
        let mut sockets = [PollFd::new(&self.socket, what)];
        let now = Timespec::default();
        let ready = retry_on_intr(|| poll(&mut sockets, Some(&now)))?;
        Ok(ready > 0)
    }

    /// Reads the available bytes.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        // A call that does not wait is not interrupted.
        let (count, _) = recv(&self.socket, into, RecvFlags::DONTWAIT)?;
        Ok(count)
    }

    /// Reads the available bytes into a growing buffer.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        // SAFETY: nothing uninitialized is written there.
        let room = unsafe { into.chunk_mut().as_uninit_slice_mut() };
        // A call that does not wait is not interrupted.
        let ((read, _), _) = recv(&self.socket, room, RecvFlags::DONTWAIT)?;
        let count = read.len();
        // SAFETY: this many of its bytes have been initialized by the read.
        unsafe { into.advance_mut(count) };
        Ok(count)
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        send(&self.socket, from)
    }

    /// How many written bytes the peer's system has not confirmed yet.
    pub fn unconfirmed_bytes(&self) -> io::Result<usize> {
        unconfirmed_bytes(&self.socket)
    }
}

impl AsFd for LedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// While a task waits for room.
struct WantsRoom<'a>(&'a LedSocket);

impl<'a> WantsRoom<'a> {
    fn begin(socket: &'a LedSocket) -> Self {
        socket.want(|wanted| wanted.room = true);
        Self(socket)
    }
}

impl Drop for WantsRoom<'_> {
    fn drop(&mut self) {
        self.0.want(|wanted| wanted.room = false);
    }
}
