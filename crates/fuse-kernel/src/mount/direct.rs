//! Mounting with mount(2).

use super::{MountError, MountOptions};
use crate::device::Device;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, ptr};

/// The type bits of the mount point's mode.
pub(super) fn root_mode(path: &Path) -> io::Result<u32> {
    Ok(fs::metadata(path)?.mode() & libc::S_IFMT)
}

pub(super) fn mount(
    options: &MountOptions,
    path: &Path,
    root_mode: u32,
) -> Result<OwnedFd, MountError> {
    let fd = Device::open().map_err(MountError::Device)?;
    // SAFETY: neither call has preconditions.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let mut data = options.data();
    data.push(format!(
        "fd={},rootmode={root_mode:o},user_id={uid},group_id={gid}",
        fd.as_raw_fd()
    ));
    mount_with(options, path, &data.join(",")).map_err(|error| MountError::Mount {
        path: path.to_owned(),
        error,
    })?;
    Ok(fd)
}

fn mount_with(options: &MountOptions, path: &Path, data: &str) -> io::Result<()> {
    let source = CString::new(options.source.as_str())?;
    let target = CString::new(path.as_os_str().as_bytes())?;
    let kind = CString::new(options.kind())?;
    let data = CString::new(data)?;
    // SAFETY: all pointers are C strings that outlive the call.
    let result = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            options.flags.bits(),
            ptr::from_ref(data.as_c_str()).cast(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
