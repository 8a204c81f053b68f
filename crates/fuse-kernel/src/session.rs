//! A mounted file system: threads that read requests and pass them to a handler.

use crate::abi::opcode;
use crate::device::Device;
use crate::mount::{self, MountError, MountOptions, Mounted, Unmounter, read_ahead};
use crate::negotiate::{Granted, NegotiateError, Wanted, negotiate};
use crate::reply::send::write;
use crate::request::{Message, parse};
use crate::{Handler, Notifier, Reply};
use bytes::{Bytes, BytesMut};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use thiserror::Error;

/// The reason why a file system was not mounted or not served.
#[derive(Debug, Error)]
pub enum SessionError {
    /// Mounting failed.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// INIT failed; the mount was removed again.
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    /// A thread could not be started.
    #[error("cannot start a reader thread: {0}")]
    Thread(io::Error),
}

/// A mount after negotiation that is not served yet. Dropping it unmounts.
#[derive(Debug)]
pub struct Connection {
    device: Arc<Device>,
    granted: Granted,
    mounted: Mounted,
}

/// A mount that is served. Dropping it unmounts lazily; the readers end with the last open file.
#[derive(Debug)]
pub struct Session {
    readers: Vec<JoinHandle<io::Result<()>>>,
    connection: Connection,
}

impl Connection {
    /// Mounts at `path` and exchanges INIT.
    ///
    /// # Errors
    /// The mount is refused, or the kernel is older than Linux 5.10's protocol.
    pub fn mount(
        options: &MountOptions,
        wanted: &Wanted,
        path: impl AsRef<Path>,
    ) -> Result<Self, SessionError> {
        let (fd, mounted) = mount::mount(options, path.as_ref())?;
        let device = Arc::new(Device::new(fd));
        let granted = negotiate(&device, wanted)?;
        Ok(Self {
            device,
            granted,
            mounted,
        })
    }

    /// The negotiated features; log `missing`.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// A notifier that invalidates the kernel's caches.
    #[must_use]
    pub fn notifier(&self) -> Notifier {
        Notifier::new(Arc::clone(&self.device))
    }

    /// An unmounter for any thread, such as a signal's.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        self.mounted.unmounter.clone()
    }

    /// Sets how many bytes the kernel reads ahead in files that are opened from now on. A mapped
    /// file is read in pieces of this size, also at random offsets.
    ///
    /// # Errors
    /// The caller is not root, or sysfs is missing or read-only.
    pub fn set_read_ahead(&self, bytes: u64) -> io::Result<()> {
        let device = self.mounted.unmounter.device();
        read_ahead::set(device.ok_or(io::ErrorKind::NotFound)?, bytes)
    }

    /// Requests for the caller's threads and event loops, at least one.
    ///
    /// One of the takers receives a request. One of the threads that block in
    /// [`Incoming::take_one`] wakes up, and all event loops do.
    #[must_use]
    pub fn incoming(&self, count: usize) -> Vec<Incoming> {
        self.incoming_of(&self.devices(count))
    }

    /// This many devices, each with a descriptor of its own if the kernel grants it.
    fn devices(&self, count: usize) -> Arc<[Arc<Device>]> {
        let mut devices = vec![Arc::clone(&self.device)];
        devices.resize_with(count.max(1), || Arc::new(self.device.clone_or_share()));
        devices.into()
    }

    fn incoming_of(&self, all: &Arc<[Arc<Device>]>) -> Vec<Incoming> {
        let of_device = |device| Incoming {
            device: Arc::clone(device),
            all: Arc::clone(all),
            granted: self.granted.clone(),
            buffer: BytesMut::new(),
        };
        all.iter().map(of_device).collect()
    }

    /// Serves requests on `threads` reader threads (at least one), each with a descriptor of its
    /// own if the kernel grants it.
    ///
    /// # Errors
    /// A thread cannot be started; the mount is removed then.
    pub fn serve(
        self,
        handler: Arc<impl Handler + Send + Sync>,
        threads: usize,
    ) -> Result<Session, SessionError> {
        let all = self.incoming(threads);
        let mut session = Session {
            readers: Vec::new(),
            connection: self,
        };
        for (index, incoming) in all.into_iter().enumerate() {
            let reader = Reader {
                incoming,
                handler: Arc::clone(&handler),
            };
            let thread = thread::Builder::new().name(format!("fuse-{index}"));
            let started = thread
                .spawn(move || reader.run())
                .map_err(SessionError::Thread)?;
            session.readers.push(started);
        }
        Ok(session)
    }
}

impl Session {
    /// The negotiated features.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        self.connection.granted()
    }

    /// A notifier that invalidates the kernel's caches.
    #[must_use]
    pub fn notifier(&self) -> Notifier {
        self.connection.notifier()
    }

    /// An unmounter for any thread, after which `join` returns.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        self.connection.unmounter()
    }

    /// Waits until the file system is unmounted and the last open file is closed.
    ///
    /// # Errors
    /// A reader failed before the end of the mount.
    pub fn join(mut self) -> io::Result<()> {
        let panicked = |_| Err(io::Error::other("a reader thread panicked"));
        let ends: Vec<_> = self
            .readers
            .drain(..)
            .map(|reader| reader.join().unwrap_or_else(panicked))
            .collect();
        ends.into_iter().collect()
    }
}

struct Reader<H> {
    incoming: Incoming,
    handler: Arc<H>,
}

impl<H: Handler> Reader<H> {
    fn run(mut self) -> io::Result<()> {
        loop {
            if self.incoming.take_one(&*self.handler)? == Taken::End {
                return Ok(());
            }
        }
    }
}

/// The result of an attempt to take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A request was read and dispatched.
    Request,
    /// No request is available.
    Nothing,
    /// The file system is unmounted, and the last open file is closed.
    End,
}

impl Taken {
    /// The meaning of a failed read; `None` if the device is unusable.
    fn of(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::ENODEV | libc::ECONNABORTED => Some(Self::End),
            libc::EAGAIN => Some(Self::Nothing),
            // ENOENT: the request was interrupted before it could be read. ENOMEM, EFAULT: there
            // was no memory to read it into, and the kernel has answered it with EIO
            // (`fuse_dev_do_read` in fs/fuse/dev.c). The next request may find memory.
            libc::ENOENT | libc::EINTR | libc::ENOMEM | libc::EFAULT => Some(Self::Request),
            _ => None,
        }
    }
}

/// Incoming requests of the kernel.
#[derive(Debug)]
pub struct Incoming {
    device: Arc<Device>,
    /// The devices of all readers, because an interruption may arrive at another one than its
    /// request.
    all: Arc<[Arc<Device>]>,
    granted: Granted,
    buffer: BytesMut,
}

impl Incoming {
    /// Reads one request and passes it to `handler`. It waits for a request unless
    /// [`Incoming::never_wait`] was called.
    ///
    /// # Errors
    /// Reading failed before the end of the mount.
    pub fn take_one(&mut self, handler: &impl Handler) -> io::Result<Taken> {
        let limit = self.granted.request_limit_bytes();
        match self.device.read(&mut self.buffer, limit) {
            Ok(message) => {
                self.dispatch_or_contain(handler, message);
                Ok(Taken::Request)
            }
            Err(error) => Taken::of(&error).ok_or(error),
        }
    }

    /// Makes [`Incoming::take_one`] return `Nothing` instead of waiting. It affects all takers that
    /// share this descriptor.
    ///
    /// # Errors
    /// The descriptor cannot be changed.
    pub fn never_wait(&self) -> io::Result<()> {
        self.device.never_wait()
    }

    /// Waits until there may be a request, or the mount has ended.
    ///
    /// # Errors
    /// The descriptor cannot be polled.
    pub fn wait(&self) -> io::Result<()> {
        self.device.wait()
    }

    /// A panic of the handler affects only its own request, which is answered with EIO when its
    /// reply is dropped.
    fn dispatch_or_contain(&self, handler: &impl Handler, message: Bytes) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| self.dispatch(handler, message)));
    }

    fn dispatch(&self, handler: &impl Handler, message: Bytes) {
        match parse(message, self.granted.features) {
            Ok(Message::Request { request, opcode }) => {
                let unique = request.header.unique;
                self.device.begin(unique);
                let reply = Reply::new(unique, opcode, Arc::clone(&self.device));
                if opcode == opcode::DESTROY {
                    reply.ok()
                } else {
                    handler.handle(request, reply)
                }
            }
            Ok(Message::Forget(nodes)) => handler.forget(&nodes),
            Ok(Message::Interrupt { unique, target }) => self.interrupt(handler, unique, target),
            Ok(Message::Malformed { unique, error }) => {
                let _ = write(&self.device, unique, -libc::EIO, &[]);
                handler.malformed(&error);
            }
            Err(error) => handler.malformed(&error),
        }
    }

    /// A request that no reader knows is already answered, or a reader has not registered it yet.
    /// In the second case EAGAIN makes the kernel retry. The kernel searches only the requests that
    /// were read from the descriptor of the reply, so every descriptor replies.
    fn interrupt(&self, handler: &impl Handler, unique: u64, target: u64) {
        if self.all.iter().any(|device| device.interrupt(target)) {
            return handler.interrupt(target);
        }
        for device in &*self.all {
            let _ = write(device, unique, -libc::EAGAIN, &[]);
        }
    }
}

/// The descriptor stays the same for the life of the value.
impl AsRawFd for Incoming {
    fn as_raw_fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_finds_no_memory_costs_one_request_and_not_the_mount() {
        let taken = |errno| Taken::of(&io::Error::from_raw_os_error(errno));
        for errno in [libc::ENOMEM, libc::EFAULT, libc::ENOENT, libc::EINTR] {
            assert_eq!(taken(errno), Some(Taken::Request));
        }
        assert_eq!(taken(libc::EAGAIN), Some(Taken::Nothing));
        assert_eq!(taken(libc::ENODEV), Some(Taken::End));
        assert_eq!(taken(libc::EBADF), None);
        assert_eq!(Taken::of(&io::Error::other("no number")), None);
    }
}
