//! Unmounting.

use super::helper;
use super::table::device_at;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How to treat files that are still in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmountMode {
    /// Fail with EBUSY.
    IfUnused,
    /// Detach the mount now; the file system lives until the last use ends.
    Lazy,
}

/// Unmounts one particular mount, from any thread; repeated calls are harmless.
#[derive(Clone, Debug)]
pub struct Unmounter {
    path: PathBuf,
    device: Option<OsString>,
}

impl Unmounter {
    /// The topmost mount at `path`.
    pub(super) fn of(path: PathBuf) -> io::Result<Self> {
        let device = device_at(&path)?;
        Ok(Self { path, device })
    }

    /// The device number of the mount, `major:minor`.
    pub(crate) fn device(&self) -> Option<&OsStr> {
        self.device.as_deref()
    }

    /// The mount point.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the mount still exists and is the topmost one.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn is_mounted(&self) -> io::Result<bool> {
        Ok(self.device.is_some() && device_at(&self.path)? == self.device)
    }

    /// Unmounts, unless it is unmounted already.
    ///
    /// # Errors
    /// EBUSY if files are in use, EPERM if it is another user's mount.
    pub fn unmount(&self, mode: UnmountMode) -> io::Result<()> {
        if self.is_mounted()? {
            unmount_path(&self.path, mode)
        } else {
            Ok(())
        }
    }
}

/// Unmounts the topmost mount at `path`, directly or through fusermount3.
pub(super) fn unmount_path(path: &Path, mode: UnmountMode) -> io::Result<()> {
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    let detach = if mode == UnmountMode::Lazy {
        libc::MNT_DETACH
    } else {
        0
    };
    // SAFETY: the path is a valid C string.
    if unsafe { libc::umount2(c_path.as_ptr(), detach | libc::UMOUNT_NOFOLLOW) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EPERM) {
        helper::unmount(path, mode)
    } else {
        Err(error)
    }
}
