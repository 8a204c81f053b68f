//! Unsolicited messages to the kernel: cache invalidations.

use crate::abi::flags::EXPIRE_ONLY;
use crate::abi::opcode;
use crate::abi::output::{NotifyDelete, NotifyInvalEntry, NotifyInvalInode};
use crate::device::Device;
use crate::reply::send::write;
use std::io::{self, IoSlice};
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Invalidates the kernel's caches. A node or name that the kernel does not know is no error.
///
/// To drop a name, the kernel waits for an inode's lock, which it holds during operations on the
/// directory. So a name must never be dropped while the reply to such an operation waits for that.
/// To drop pages, the kernel waits for pages that are being read, filled or listed. It waits for no
/// other locks.
#[derive(Clone, Debug)]
pub struct Notifier {
    device: Arc<Device>,
}

impl Notifier {
    pub(crate) fn new(device: Arc<Device>) -> Self {
        Self { device }
    }

    /// Drops the attributes of `node`, and its cached pages from `offset` on (`length` bytes; 0:
    /// all). A negative offset leaves the pages alone, and then the kernel waits for no lock.
    /// Returns whether the kernel knows the node.
    ///
    /// # Errors
    /// ENOTCONN or ENODEV when the mount is gone.
    pub fn invalidate_inode(&self, node: u64, offset: i64, length: i64) -> io::Result<bool> {
        let record = NotifyInvalInode {
            ino: node,
            off: offset,
            len: length,
        };
        self.send(opcode::NOTIFY_INVAL_INODE, record.as_bytes(), None)
    }

    /// Drops `name` in directory `parent`.
    ///
    /// # Errors
    /// ENOTCONN or ENODEV when the mount is gone; ENAMETOOLONG.
    pub fn invalidate_entry(&self, parent: u64, name: &[u8]) -> io::Result<()> {
        self.entry(parent, name, 0)
    }

    /// Makes the next use of `name` look it up again. It stays in the kernel's tree if the reply is
    /// the same (`InitFlags::HAS_EXPIRE_ONLY`). The kernel waits for the directory's lock.
    ///
    /// # Errors
    /// ENOTCONN or ENODEV when the mount is gone; ENAMETOOLONG; EINVAL if not supported.
    pub fn expire_entry(&self, parent: u64, name: &[u8]) -> io::Result<()> {
        self.entry(parent, name, EXPIRE_ONLY)
    }

    /// Reports that `name` in `parent`, of node `child`, was deleted, so that inotify reports it.
    ///
    /// # Errors
    /// ENOTCONN or ENODEV when the mount is gone; ENAMETOOLONG.
    pub fn delete(&self, parent: u64, child: u64, name: &[u8]) -> io::Result<()> {
        let record = NotifyDelete {
            parent,
            child,
            namelen: length(name)?,
            padding: 0,
        };
        self.send(opcode::NOTIFY_DELETE, record.as_bytes(), Some(name))?;
        Ok(())
    }

    fn entry(&self, parent: u64, name: &[u8], flags: u32) -> io::Result<()> {
        let record = NotifyInvalEntry {
            parent,
            namelen: length(name)?,
            flags,
        };
        self.send(opcode::NOTIFY_INVAL_ENTRY, record.as_bytes(), Some(name))?;
        Ok(())
    }

    /// Returns whether the kernel knows the node or name.
    fn send(&self, code: i32, record: &[u8], name: Option<&[u8]>) -> io::Result<bool> {
        let sent = match name {
            None => write(&self.device, 0, code, &[IoSlice::new(record)]),
            Some(name) => {
                let parts = [IoSlice::new(record), IoSlice::new(name), IoSlice::new(&[0])];
                write(&self.device, 0, code, &parts)
            }
        };
        match sent {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            sent => sent.map(|()| true),
        }
    }
}

fn length(name: &[u8]) -> io::Result<u32> {
    let length = u32::try_from(name.len())
        .ok()
        .filter(|&length| length <= 1024);
    length.ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}
