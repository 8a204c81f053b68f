//! Mounts: finding them, also dead ones, and taking them away.

use anyhow::{Context, bail};
use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

/// The file system type that the kernel shows for mounts of Futago.
pub const TYPE: &str = "fuse.futago";

/// The mount points of Futago that this process sees.
pub fn list() -> Vec<PathBuf> {
    let mounts = futago_gate_fuse::mounts().unwrap_or_default().into_iter();
    mounts
        .filter(|mount| mount.kind == TYPE)
        .map(|mount| mount.path)
        .collect()
}

/// The Futago file system that the kernel's table lists at exactly this path.
pub fn source(path: &Path) -> Option<OsString> {
    let mounts = futago_gate_fuse::mounts().unwrap_or_default();
    let mount = mounts.into_iter().rfind(|mount| mount.path == path)?;
    (mount.kind == TYPE).then_some(mount.source)
}

/// Whether a Futago file system is mounted at exactly this path; looks at the kernel's table only,
/// so that a dead mount does not hang it.
pub fn is_mounted(path: &Path) -> bool {
    list().iter().any(|mount| mount == path)
}

/// The path as the kernel's table has it. A dead mount point cannot be resolved itself, so its
/// parent is.
pub fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    let whole = std::path::absolute(path)?;
    match (whole.parent(), whole.file_name()) {
        (Some(parent), Some(name)) => {
            Ok(parent.canonicalize().map(|p| p.join(name)).unwrap_or(whole))
        }
        _ => Ok(whole),
    }
}

/// Unmounts: by the system call if that is allowed, else through fusermount3. `lazy` also takes
/// away a mount in use; its open files work until they are closed.
pub fn unmount(path: &Path, lazy: bool) -> anyhow::Result<()> {
    let flags = if lazy { libc::MNT_DETACH } else { 0 };
    let text = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `text` is a NUL-terminated string that lives through the call.
    if unsafe { libc::umount2(text.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EPERM) {
        return Err(error).with_context(|| format!("unmounting {}", path.display()));
    }
    let mut command = Command::new("fusermount3");
    command
        .arg("-u")
        .args(lazy.then_some("-z"))
        .arg("--")
        .arg(path);
    let output = command
        .output()
        .context("running fusermount3; install the package fuse3")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
