//! The kernel's mount table, and mounts whose server has died.

use super::MountFlags;
use super::options::unescape;
use super::unmount::{UnmountMode, unmount_path};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One line of the mount table of this mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// The mount point.
    pub path: PathBuf,
    /// Type, such as "fuse.futago".
    pub kind: OsString,
    /// The source of the mount.
    pub source: OsString,
    /// `major:minor`, unique among the mounted file systems.
    pub device: OsString,
    /// Flags of this mount, or of the file system that is mounted.
    pub flags: MountFlags,
}

/// The mount table, bottom mounts first.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn mounts() -> io::Result<Vec<MountEntry>> {
    Ok(parse(&fs::read("/proc/self/mountinfo")?))
}

/// Unmounts `path` if its FUSE server has died; returns whether there was such a mount.
///
/// # Errors
/// The unmount failed.
pub fn clean_dead_mount(path: &Path) -> io::Result<bool> {
    let is_fuse = |entry: &MountEntry| entry.kind.to_string_lossy().starts_with("fuse");
    // A dead mount cannot be resolved to its canonical form; its parent can.
    let path = absolute(path)?;
    let top = top_at(&path)?;
    if !top.is_some_and(|entry| is_fuse(&entry)) || !is_disconnected(&path) {
        return Ok(false);
    }
    unmount_path(&path, UnmountMode::Lazy)?;
    Ok(true)
}

pub(super) fn is_disconnected(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
}

/// The path without symbolic links, "." and ".." above its last component, which is not resolved.
pub(super) fn absolute(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return fs::canonicalize(path);
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok(fs::canonicalize(parent)?.join(name))
}

/// The device number of the topmost mount at `path`.
pub(super) fn device_at(path: &Path) -> io::Result<Option<OsString>> {
    Ok(top_at(path)?.map(|entry| entry.device))
}

/// The topmost mount at `path`.
pub(super) fn top_at(path: &Path) -> io::Result<Option<MountEntry>> {
    Ok(mounts()?.into_iter().rfind(|entry| entry.path == path))
}

fn parse(table: &[u8]) -> Vec<MountEntry> {
    table
        .split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// `id parent major:minor root path options [optional fields] - type source options`
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|&byte| byte == b' ');
    let device = fields.nth(2)?;
    let path = fields.nth(1)?;
    let of_mount = fields.next()?;
    fields.find(|field| *field == b"-")?;
    let (kind, source) = (fields.next()?, fields.next()?);
    let of_file_system = fields.next().unwrap_or_default();
    Some(MountEntry {
        path: unescape(path).into(),
        kind: unescape(kind),
        source: unescape(source),
        device: unescape(device),
        flags: MountFlags::in_table(of_mount) | MountFlags::in_table(of_file_system),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_with_and_without_optional_fields() {
        let table = br"21 1 0:20 / /proc rw - proc proc rw
40 21 0:44 / /mnt/a\040b rw,nosuid shared:1 master:2 - fuse.futago x\054y ro,user_id=0
broken
";
        let entries = parse(table);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].path, Path::new("/mnt/a b"));
        assert_eq!(entries[1].kind, "fuse.futago");
        assert_eq!(entries[1].source, "x,y");
        assert_eq!(entries[1].device, "0:44");
        let flags = MountFlags::READ_ONLY | MountFlags::NO_SUID;
        assert_eq!(entries[1].flags, flags);
    }

    proptest! {
        #[test]
        fn arbitrary_tables_never_panic(table: Vec<u8>) {
            let _ = parse(&table);
        }
    }
}
