//! One open descriptor of `/dev/fuse`, and the unanswered requests that were read from it.
//!
//! The kernel expects a reply on the descriptor from which the request was read.

use bytes::{Bytes, BytesMut};
use std::collections::HashMap;
use std::ffi::CStr;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The device node.
pub(crate) const PATH: &CStr = c"/dev/fuse";
/// `_IOR(229, 0, uint32_t)`: joins a new descriptor to the connection of an old one.
const IOCTL_CLONE: libc::Ioctl = 0x8004_e500_u32 as libc::Ioctl;
/// Requests up to this size are copied out of the large buffer, so that a request that waits long
/// does not retain a megabyte.
const COPY_LIMIT_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct Device {
    fd: Arc<OwnedFd>,
    /// Requests in flight; the value is true once an interruption has arrived.
    under_way: Mutex<HashMap<u64, bool>>,
}

impl Device {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self::sharing(Arc::new(fd))
    }

    fn sharing(fd: Arc<OwnedFd>) -> Self {
        Self {
            fd,
            under_way: Mutex::default(),
        }
    }

    /// Opens the device, not yet connected to any mount.
    pub(crate) fn open() -> io::Result<OwnedFd> {
        // SAFETY: the path is a valid C string; a non-negative result is a descriptor nobody owns.
        unsafe {
            let fd = libc::open(PATH.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if fd < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(OwnedFd::from_raw_fd(fd))
            }
        }
    }

    /// Another descriptor of the same connection, with its own queue of unanswered requests. It
    /// shares this descriptor if the kernel or the mode of the device node forbids a new one.
    pub(crate) fn clone_or_share(&self) -> Self {
        self.try_clone()
            .map_or_else(|_| Self::sharing(Arc::clone(&self.fd)), Self::new)
    }

    fn try_clone(&self) -> io::Result<OwnedFd> {
        let fd = Self::open()?;
        let source = self.fd.as_raw_fd().cast_unsigned();
        // SAFETY: the ioctl reads one u32, which outlives the call; both descriptors are open.
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), IOCTL_CLONE, &raw const source) };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(fd)
        }
    }

    /// Makes reads fail with EAGAIN instead of waiting.
    pub(crate) fn never_wait(&self) -> io::Result<()> {
        let fd = self.fd.as_raw_fd();
        // SAFETY: the descriptor is open, and these commands take and return numbers.
        let result = unsafe {
            match libc::fcntl(fd, libc::F_GETFL) {
                flags if flags < 0 => flags,
                flags => libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK),
            }
        };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Waits until there is something to read, or reading fails. The wake-up may be spurious.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut waiting = libc::pollfd {
            fd: self.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: it is one `pollfd`, which outlives the call.
        if unsafe { libc::poll(&raw mut waiting, 1, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Reads one message of at most `limit` bytes, and reuses `buffer`'s memory if possible.
    pub(crate) fn read(&self, buffer: &mut BytesMut, limit: usize) -> io::Result<Bytes> {
        buffer.clear();
        buffer.reserve(limit);
        let spare = buffer.spare_capacity_mut();
        // SAFETY: the kernel writes at most `spare.len()` bytes into memory that this function
        // owns.
        let read = unsafe {
            libc::read(
                self.fd.as_fd().as_raw_fd(),
                spare.as_mut_ptr().cast(),
                spare.len(),
            )
        };
        let bytes = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the kernel has initialised that many bytes.
        unsafe { buffer.set_len(bytes) };
        if bytes <= COPY_LIMIT_BYTES {
            return Ok(Bytes::copy_from_slice(buffer));
        }
        Ok(buffer.split().freeze())
    }

    /// Writes one message; the device takes all of it or none.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let count = libc::c_int::try_from(parts.len())
            .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        // SAFETY: `IoSlice` has the layout of `iovec`, and the slices outlive the call.
        let written = unsafe { libc::writev(self.fd.as_raw_fd(), parts.as_ptr().cast(), count) };
        if written < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    pub(crate) fn begin(&self, unique: u64) {
        self.under_way().insert(unique, false);
    }

    pub(crate) fn finish(&self, unique: u64) {
        self.under_way().remove(&unique);
    }

    /// Marks a request as interrupted; `false` if it is not in flight here.
    pub(crate) fn interrupt(&self, unique: u64) -> bool {
        self.under_way()
            .get_mut(&unique)
            .map(|is_interrupted| *is_interrupted = true)
            .is_some()
    }

    pub(crate) fn is_interrupted(&self, unique: u64) -> bool {
        self.under_way().get(&unique).copied().unwrap_or(false)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<u64, bool>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
