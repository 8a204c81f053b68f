//! Taking mounts away.

use super::helper;
use super::table::device_at;
use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What to do about files that are still in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmountMode {
    /// Fail with EBUSY.
    IfUnused,
    /// Take the name away now; the file system lives until the last use ends.
    Lazy,
}

/// Takes one particular mount away, from any thread; once it is gone, again is harmless.
#[derive(Clone, Debug)]
pub struct Unmounter {
    path: PathBuf,
    device: Option<OsString>,
}

impl Unmounter {
    /// For the mount that is on top at `path` now.
    pub(super) fn of(path: PathBuf) -> io::Result<Self> {
        let device = device_at(&path)?;
        Ok(Self { path, device })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still there, and on top.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn is_mounted(&self) -> io::Result<bool> {
        Ok(self.device.is_some() && device_at(&self.path)? == self.device)
    }

    /// Unmounts, unless somebody has already.
    ///
    /// # Errors
    /// EBUSY when files are in use, EPERM when it is somebody else's.
    pub fn unmount(&self, mode: UnmountMode) -> io::Result<()> {
        if self.is_mounted()? {
            unmount_path(&self.path, mode)
        } else {
            Ok(())
        }
    }
}

/// Unmounts what is on top at `path`, itself or through fusermount3.
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
