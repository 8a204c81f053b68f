//! Where CHFS deviates from POSIX and `CHFS_COMPAT=1` asks to follow it.

use crate::{path::ChfsPath, settings};
use futago_node::blocking::FileSystem;
use std::io::{self, ErrorKind};

/// The permissions of directories that CHFS makes above a path.
const MODE: u16 = 0o755;

/// Makes something at a path. CHFS makes missing directories above it.
pub fn make<T>(
    files: &FileSystem,
    path: &ChfsPath,
    make: impl Fn() -> io::Result<T>,
) -> io::Result<T> {
    match make() {
        Err(missing) if missing.kind() == ErrorKind::NotFound && is_asked_for() => {
            for directory in path.ancestors() {
                existing(files.create_directory(directory, MODE))?;
            }
            make()
        }
        made => made,
    }
}

/// The result of removing a directory. CHFS says yes to a directory with entries, which stay.
pub fn removed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(full) if full.kind() == ErrorKind::DirectoryNotEmpty && is_asked_for() => Ok(()),
        result => result,
    }
}

/// Whether creating a file empties an existing one.
pub fn truncates() -> bool {
    is_asked_for()
}

/// Whether CHFS is followed.
fn is_asked_for() -> bool {
    settings::current().is_compatible
}

/// An existing directory is as good as a new one.
fn existing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(exists) if exists.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}
