//! Changing the flags of a mounted file system.

use super::FlagChange;
use super::table::top_at;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Changes flags of the topmost mount at `path`, which must be as in the kernel's table. The kernel
/// ignores all other options of FUSE here, so the rest of the mount is unchanged.
///
/// # Errors
/// `EPERM` without privilege, `EBUSY` if files are open for writing on a mount that becomes
/// read-only, `EINVAL` if nothing is mounted there.
pub fn remount(path: &Path, change: FlagChange) -> io::Result<()> {
    let mount = top_at(path)?.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let target = CString::new(path.as_os_str().as_bytes())?;
    let flags = libc::MS_REMOUNT | change.of(mount.flags).bits();
    // SAFETY: the target is a C string that outlives the call; a remount of this kind of file
    // system reads nothing else.
    let result = unsafe {
        libc::mount(
            ptr::null(),
            target.as_ptr(),
            ptr::null(),
            flags,
            ptr::null(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
