//! Attributes of local files.

use anyhow::Context;
use futago_base::{Attributes, Timestamp};
use rustix::fs::{self, AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use std::{
    ffi::OsStr,
    fs::Metadata,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

/// An extended attribute: its name and its value.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// Prefixes of attributes that mean something on one host only.
const OF_THE_HOST: [&[u8]; 2] = [b"system.", b"security.selinux"];

/// Whether an extended attribute means the same on every host.
pub fn is_portable(name: &[u8]) -> bool {
    !OF_THE_HOST.iter().any(|prefix| name.starts_with(prefix))
}

/// The time of modification of a file.
pub fn modified(metadata: &Metadata) -> Timestamp {
    Timestamp {
        seconds: metadata.mtime(),
        nanos: metadata.mtime_nsec() as u32,
    }
}

/// The extended attributes of a file; symbolic links are not followed. The list is empty on a file
/// system without extended attributes.
pub fn xattrs(path: &Path) -> anyhow::Result<Vec<Xattr>> {
    let mut names = vec![0; 1 << 16];
    let length = match fs::llistxattr(path, &mut names[..]) {
        Err(rustix::io::Errno::OPNOTSUPP) => 0,
        listed => listed.with_context(|| format!("attributes of {}", path.display()))?,
    };
    let names = names[..length].split(|&byte| byte == 0);
    let names = names.filter(|name| !name.is_empty() && is_portable(name));
    names
        .map(|name| Ok((name.to_vec(), xattr(path, name)?)))
        .collect()
}

fn xattr(path: &Path, name: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut value = vec![0; 1 << 16];
    let length = fs::lgetxattr(path, name, &mut value[..])
        .with_context(|| format!("attribute {} of {}", display(name), path.display()))?;
    value.truncate(length);
    Ok(value)
}

/// Copies owner, extended attributes, permissions and time of modification to a local file.
pub fn set_attributes(path: &Path, of: &Attributes, xattrs: &[Xattr]) -> anyhow::Result<()> {
    let context = || format!("attributes of {}", path.display());
    set_owner(path, of).with_context(context)?;
    for (name, value) in xattrs {
        fs::lsetxattr(path, &name[..], value, XattrFlags::empty())
            .with_context(|| format!("attribute {} of {}", display(name), path.display()))?;
    }
    if of.kind != futago_base::Kind::Symlink {
        fs::chmod(path, Mode::from_raw_mode(u32::from(of.mode))).with_context(context)?;
    }
    set_time(path, of.modified).with_context(context)
}

/// Sets the owner if this process is root, as only root may.
fn set_owner(path: &Path, of: &Attributes) -> rustix::io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(of.uid), Gid::from_raw(of.gid));
    fs::chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
}

fn set_time(path: &Path, modified: Timestamp) -> rustix::io::Result<()> {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: fs::UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: modified.seconds,
            tv_nsec: modified.nanos.into(),
        },
    };
    fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
}

fn display(name: &[u8]) -> String {
    crate::output::escape_path(Path::new(OsStr::from_bytes(name)))
}
