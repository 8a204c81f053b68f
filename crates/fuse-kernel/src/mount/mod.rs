//! Mounting and unmounting: mount(2) for root, fusermount3 for all other users.

mod direct;
mod flags;
mod helper;
mod options;
pub(crate) mod read_ahead;
mod remount;
mod table;
mod unmount;
mod watcher;

pub use flags::{FlagChange, MountFlags};
pub use options::MountOptions;
pub use remount::remount;
pub use table::{MountEntry, clean_dead_mount, mounts};
pub use unmount::{UnmountMode, Unmounter};

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The reason why nothing was mounted.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The messages say what the fields are.
pub enum MountError {
    /// The mount point is missing, or its file system does not answer.
    #[error("cannot use {} as a mount point: {error}", path.display())]
    MountPoint { path: PathBuf, error: io::Error },
    /// The kernel has no FUSE, or the device node is closed to this user.
    #[error("cannot open /dev/fuse: {0} (is the kernel module `fuse` loaded?)")]
    Device(io::Error),
    /// mount(2) failed.
    #[error("cannot mount on {}: {error}", path.display())]
    Mount { path: PathBuf, error: io::Error },
    /// Only the helper could mount, and it is not installed.
    #[error("fusermount3 is not installed; only root can mount without it (package fuse3)")]
    NoHelper,
    /// The helper refused.
    #[error("cannot mount on {}: {said}", path.display())]
    Helper { path: PathBuf, said: String },
    /// The process for `auto_unmount` could not be started.
    #[error("cannot start the process that unmounts after a crash: {0}")]
    Watcher(io::Error),
    /// The communication with the helper failed.
    #[error("cannot run fusermount3: {0}")]
    Socket(io::Error),
}

/// A mounted file system; dropping it unmounts lazily.
#[derive(Debug)]
pub(crate) struct Mounted {
    pub(crate) unmounter: Unmounter,
    /// Notified after unmounting, so that it does nothing.
    watcher: Option<watcher::Watcher>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.unmounter.unmount(UnmountMode::Lazy);
        drop(self.watcher.take());
    }
}

/// Mounts at `path` and returns the device's descriptor.
pub(crate) fn mount(options: &MountOptions, path: &Path) -> Result<(OwnedFd, Mounted), MountError> {
    let unusable = |error| MountError::MountPoint {
        path: path.to_owned(),
        error,
    };
    if options.replace_dead {
        clean_dead_mount(path).map_err(unusable)?;
    }
    let path = &fs::canonicalize(path).map_err(unusable)?;
    let root_mode = direct::root_mode(path).map_err(unusable)?;
    let fd = match direct_if_possible(options, path, root_mode)? {
        Some(fd) => fd,
        None => helper::mount(options, path)?,
    };
    let unmounter = Unmounter::of(path.clone()).map_err(unusable)?;
    let mut mounted = Mounted {
        unmounter,
        watcher: None,
    };
    if options.auto_unmount {
        mounted.watcher = Some(watcher::Watcher::start(path).map_err(MountError::Watcher)?);
    }
    Ok((fd, mounted))
}

/// Root mounts directly, unless it lacks the capability.
fn direct_if_possible(
    options: &MountOptions,
    path: &Path,
    root_mode: u32,
) -> Result<Option<OwnedFd>, MountError> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(None);
    }
    match direct::mount(options, path, root_mode) {
        Err(MountError::Mount { error, .. }) if error.raw_os_error() == Some(libc::EPERM) => {
            Ok(None)
        }
        mounted => mounted.map(Some),
    }
}
