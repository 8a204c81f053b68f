//! Opening and closing of files.

use crate::session;
use futago_base::Kind;
use futago_files::Access;
use futago_node::blocking::OpenOptions;
use futago_posix::{
    memory::{bytes, permissions},
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_char, c_int},
    io,
};

/// Opens a file, and makes it if `flags` have `O_CREAT`.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_open(
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (files, path) = (session::files()?, unsafe { bytes(path) }?);
        let options = options(flags, mode)?;
        if flags & libc::O_DIRECTORY != 0 {
            let found = files.metadata(path, !options.no_follow)?;
            return Err(error(match found.kind {
                Kind::Directory => libc::EISDIR,
                _ => libc::ENOTDIR,
            }));
        }
        process::add(files.open(path, options)?)
    })
}

/// Gives an open file another number, too.
#[unsafe(no_mangle)]
pub extern "C" fn futago_dup(fd: c_int) -> c_int {
    outcome::of(|| process::duplicate(fd))
}

/// Closes a file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_close(fd: c_int) -> c_int {
    outcome::of(|| process::close(fd).map(|()| 0))
}

/// The options that flags ask for. Flags that only concern the kernel have no effect, such as
/// `O_CLOEXEC`, `O_DIRECT`, `O_NOATIME` and `O_NONBLOCK`.
fn options(flags: c_int, mode: libc::mode_t) -> io::Result<OpenOptions> {
    let has = |flag| flags & flag == flag;
    if has(libc::O_TMPFILE) || has(libc::O_PATH) {
        return Err(error(libc::EOPNOTSUPP));
    }
    let access = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => Access::Read,
        libc::O_WRONLY => Access::Write,
        libc::O_RDWR => Access::ReadWrite,
        _ => return Err(error(libc::EINVAL)),
    };
    Ok(OpenOptions {
        access,
        append: has(libc::O_APPEND),
        synchronous: has(libc::O_DSYNC),
        no_follow: has(libc::O_NOFOLLOW),
        create: has(libc::O_CREAT),
        create_new: has(libc::O_CREAT | libc::O_EXCL),
        truncate: has(libc::O_TRUNC),
        mode: permissions(mode),
        chunk_bytes: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_open_are_understood() {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_SYNC;
        let expected = OpenOptions {
            access: Access::Write,
            append: true,
            synchronous: true,
            create: true,
            mode: 0o640,
            ..OpenOptions::EXISTING
        };
        assert_eq!(options(flags, 0o100_640).ok(), Some(expected));
        let exclusive = options(libc::O_EXCL, 0).map(|options| options.create_new);
        assert!(exclusive.is_ok_and(|is_new| !is_new), "only with O_CREAT");
        for refused in [
            libc::O_TMPFILE | libc::O_RDWR,
            libc::O_PATH,
            libc::O_ACCMODE,
        ] {
            assert!(options(refused, 0).is_err());
        }
    }
}
