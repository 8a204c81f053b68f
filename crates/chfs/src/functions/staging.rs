//! Copies of local files.

use crate::{path::ChfsPath, settings};
use futago_node::blocking::{FileSystem, OpenOptions};
use futago_posix::{
    memory::bytes,
    outcome::{self, error},
    process,
};
use std::{
    env,
    ffi::{OsStr, c_char, c_int},
    fs, io,
    io::Read,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::Path,
};

/// How much is read from a local file at once.
const BUFFER_BYTES: usize = 4 << 20;

/// Copies a local file, directory (without its entries) or symbolic link to the same path of the
/// cluster. A path below the backing store (`CHFS_BACKEND_PATH`) is one below the root.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_stagein(path: *const c_char) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| stage_in(unsafe { bytes(path) }?).map(|()| 0))
}

/// Copies a local file, directory (without its entries) or symbolic link.
///
/// # Errors
/// Those of reading the one and writing the other.
pub fn stage_in(local: &[u8]) -> io::Result<()> {
    let files = process::files()?;
    let backing = env::var_os("CHFS_BACKEND_PATH").unwrap_or_default();
    let root = ChfsPath::new(backing.as_bytes(), &ChfsPath::root())?;
    let below = ChfsPath::new(local, &root)?;
    let target = ChfsPath::new(below.bytes(), &settings::current().root)?;
    copy(&files, Path::new(OsStr::from_bytes(local)), &target)
}

fn copy(files: &FileSystem, local: &Path, target: &ChfsPath) -> io::Result<()> {
    let source = fs::symlink_metadata(local)?;
    let mode = (source.permissions().mode() & 0o7777) as u16;
    match source.file_type() {
        kind if kind.is_file() => copy_file(files, local, target, mode),
        kind if kind.is_dir() => match files.create_directory(target.bytes(), mode | 0o700) {
            Err(exists) if exists.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        },
        kind if kind.is_symlink() => {
            let link = fs::read_link(local)?;
            files.symlink(link.as_os_str().as_bytes(), target.bytes())
        }
        _ => Err(error(libc::ENOTSUP)),
    }
}

/// Copies the data of a file, except pieces of zeros, which become holes.
fn copy_file(files: &FileSystem, local: &Path, target: &ChfsPath, mode: u16) -> io::Result<()> {
    let mut source = fs::File::open(local)?;
    let options = OpenOptions {
        create: true,
        truncate: true,
        mode,
        chunk_bytes: settings::current().chunk_bytes,
        ..OpenOptions::default()
    };
    let copy = files.open(target.bytes(), options)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut offset = 0;
    loop {
        let count = source.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        if buffer[..count].iter().any(|byte| *byte != 0) {
            copy.write_from(&buffer[..count], offset)?;
        }
        offset += count as u64;
    }
    copy.set_size(offset.max(source.metadata()?.size()))?;
    copy.close()
}
