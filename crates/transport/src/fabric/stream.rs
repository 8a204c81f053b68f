//! A connection through a fabric, with the interface of a socket.

use super::wire::Wire;
use crate::{
    Stream, busy,
    inheritance::Private,
    waiters::{PolledStream, Waiters, stop_polling, wait_for_bytes, wait_for_room},
};
use atomic_refcell::AtomicRefCell;
use bytes::BufMut;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::{
    fmt,
    io::{self, IoSlice},
    os::fd::{OwnedFd, RawFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::io::{Interest, unix::AsyncFd};

/// The most signals that are taken at once.
const SIGNALS: usize = 64;
/// A blocked end has the provider work after this time, too: providers work only when they are
/// called, and the descriptor may miss what a call would find.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Over the socket: a message has been sent.
const BELL: u8 = 0;
/// Over the socket, with the number of messages that have arrived in the other bits: this end
/// blocks. Fewer messages are ever on the way than these bits can count.
const BLOCKED: u8 = 0x80;

/// A connection through a fabric.
#[derive(Debug)]
pub struct FabricStream(Arc<Shared>);

/// The state that the stream shares with polling threads.
struct Shared {
    _private: Private,
    /// The queue's descriptor. It belongs to `wire`, which is closed after it.
    completions: Option<AsyncFd<RawFd>>,
    wire: AtomicRefCell<Wire>,
    /// Closes with the other end. Beside a provider without a descriptor it carries signals.
    socket: AsyncFd<OwnedFd>,
    signals: AtomicRefCell<Signals>,
    /// Whether the other end is gone.
    closed: AtomicBool,
    waiters: Waiters,
}

/// The state of both ends, which wake each other over the socket.
#[derive(Debug, Default)]
struct Signals {
    /// The messages that had arrived when this end last said that it blocks.
    ours: Option<u64>,
    /// The last signal with which the peer said that it blocks.
    theirs: Option<u8>,
}

/// The signal of an end that blocks after so many messages.
const fn blocked_after(messages: u64) -> u8 {
    BLOCKED | (messages & (BLOCKED as u64 - 1)) as u8
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl FabricStream {
    /// Uses a connected fabric, and the socket by which it was negotiated.
    ///
    /// # Errors
    /// The socket or the queue cannot be watched.
    pub(super) fn new(wire: Wire, stream: Stream) -> io::Result<Self> {
        let socket: OwnedFd = match stream {
            Stream::Tcp(socket) => socket.into_std()?.into(),
            Stream::Unix(socket) => socket.into_std()?.into(),
        };
        // SAFETY: an owned descriptor stays the same and open until it is dropped.
        let socket = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }?;
        let watch = |descriptor| {
            // SAFETY: the queue keeps its descriptor, open, until it is closed with the wire, which
            // is dropped after the registration.
            unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }
        };
        Ok(Self(Arc::new(Shared {
            _private: Private::new(socket.get_ref()),
            completions: wire.wait_descriptor().map(watch).transpose()?,
            wire: AtomicRefCell::new(wire),
            socket,
            signals: AtomicRefCell::default(),
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
        let is_full = shared.wire.borrow().is_full();
        if is_full {
            // It takes messages again after some polls. Meanwhile the socket may close.
            tokio::task::yield_now().await;
        }
        wait_for_room(shared, async || shared.signalled().await).await
    }

    /// From now until [`FabricStream::stop_polling`], a thread reads and writes continuously.
    /// Waiting tasks do not poll meanwhile.
    pub(crate) fn start_polling(&self) {
        self.0.waiters.start_polling();
    }

    pub(crate) fn is_polled(&self) -> bool {
        self.0.waiters.is_polled()
    }

    /// Leaves available and future bytes to waiting tasks. With `is_needed`, the task that waits
    /// for bytes continues at once.
    pub(crate) fn stop_polling(&self, is_needed: bool) {
        stop_polling(&*self.0, is_needed);
    }

    /// Reads the available bytes; 0 when the other end is gone.
    pub fn try_read(&self, mut into: &mut [u8]) -> io::Result<usize> {
        self.try_read_buf(&mut into)
    }

    /// Reads the available bytes into a growing buffer; 0 when the other end is gone.
    pub fn try_read_buf(&self, into: &mut impl BufMut) -> io::Result<usize> {
        let mut wire = self.0.wire.borrow_mut();
        let progress = wire.progress();
        let mut total = 0;
        while into.has_remaining_mut() {
            let count = wire.read(into.chunk_mut())?;
            if count == 0 {
                break;
            }
            // SAFETY: this many of its bytes have been initialized by the read.
            unsafe { into.advance_mut(count) };
            total += count;
        }
        if total > 0 {
            busy::begin_now();
            // The peer may wait for buffers. An error occurs again once all bytes are read.
            let _ = wire.progress();
            self.0.ring(&wire);
            return Ok(total);
        }
        if self.0.is_closed() || !into.has_remaining_mut() {
            return Ok(0);
        }
        progress?;
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Writes as much as there is room for.
    pub fn try_write_vectored(&self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.0.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut wire = self.0.wire.borrow_mut();
        wire.progress()?;
        let written = wire.write(from)?;
        self.0.ring(&wire);
        match written {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(written),
        }
    }
}

impl Shared {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn is_ready(&self, has: impl FnOnce(&Wire) -> bool) -> io::Result<bool> {
        let mut wire = self.wire.borrow_mut();
        let progress = wire.progress();
        self.ring(&wire);
        if has(&wire) {
            return Ok(true);
        }
        progress?;
        Ok(self.is_closed())
    }

    /// Waits for a signal or a completion, and takes it, but not for ever.
    async fn signalled(&self) -> io::Result<()> {
        tokio::select! {
            signal = self.socket.readable() => {
                let mut signal = signal?;
                if self.take_signals()? {
                    signal.clear_ready();
                }
                Ok(())
            }
            completed = self.completed() => completed,
            () = tokio::time::sleep(LOOK_AGAIN) => Ok(()),
        }
    }

    /// Waits until the queue's descriptor reports a completion.
    async fn completed(&self) -> io::Result<()> {
        match &self.completions {
            Some(descriptor) => {
                descriptor.readable().await?.clear_ready();
                Ok(())
            }
            None => std::future::pending().await,
        }
    }

    /// Sees to it that this end is woken. Returns false if it must not block.
    fn prepare_to_block(&self) -> bool {
        let mut wire = self.wire.borrow_mut();
        if self.completions.is_some() {
            return wire.may_block();
        }
        let mut signals = self.signals.borrow_mut();
        if signals.ours != Some(wire.heard()) {
            signals.ours = Some(wire.heard());
            self.signal(blocked_after(wire.heard()));
        }
        true
    }

    /// Wakes the peer if it blocks and does not know of all messages.
    fn ring(&self, wire: &Wire) {
        let mut signals = self.signals.borrow_mut();
        if signals
            .theirs
            .is_some_and(|signal| signal != blocked_after(wire.last_number()))
        {
            signals.theirs = None;
            self.signal(BELL);
        }
    }

    /// Errors are ignored: the peer is gone, or does not read the signals that it has.
    fn signal(&self, signal: u8) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = send(&self.socket, &[signal], flags);
    }

    /// Takes signals from the socket. Returns whether there are no more for now.
    fn take_signals(&self) -> io::Result<bool> {
        let mut bytes = [0; SIGNALS];
        let count = match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((count, _)) => count,
            Err(error) => return self.take_error(error.into()),
        };
        if count == 0 {
            self.closed.store(true, Ordering::Relaxed);
            return Ok(false);
        }
        let mut signals = self.signals.borrow_mut();
        for &signal in &bytes[..count] {
            match signal & BLOCKED {
                0 => signals.ours = None,
                _ => signals.theirs = Some(signal),
            }
        }
        Ok(count < SIGNALS)
    }

    fn take_error(&self, error: io::Error) -> io::Result<bool> {
        match error.kind() {
            io::ErrorKind::WouldBlock => Ok(true),
            io::ErrorKind::ConnectionReset => {
                self.closed.store(true, Ordering::Relaxed);
                Ok(false)
            }
            _ => Err(error),
        }
    }
}

impl PolledStream for Shared {
    fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    fn has_bytes(&self) -> io::Result<bool> {
        self.is_ready(Wire::has_bytes)
    }

    fn has_room(&self) -> io::Result<bool> {
        self.is_ready(Wire::has_room)
    }

    fn prepare_for_bytes(&self) -> io::Result<bool> {
        Ok(self.prepare_to_block())
    }

    fn prepare_for_room(&self) -> io::Result<bool> {
        Ok(self.prepare_to_block())
    }
}
