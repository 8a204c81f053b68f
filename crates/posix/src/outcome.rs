//! How a C function returns: a value, or -1 and the reason in `errno`.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::null_mut,
};

/// A value by which a C function says that it has failed.
pub trait Failure {
    /// The value.
    const FAILED: Self;
}

impl Failure for libc::c_int {
    const FAILED: Self = -1;
}

impl Failure for i64 {
    const FAILED: Self = -1;
}

impl Failure for libc::ssize_t {
    const FAILED: Self = -1;
}

impl<T> Failure for *mut T {
    const FAILED: Self = null_mut();
}

/// An error of the operating system with this number.
pub fn error(errno: libc::c_int) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// Returns the result of `work`, or -1 or a null pointer with `errno` set. A panic is a fault of
/// the library: it is reported, and the program sees `EIO`.
pub fn of<T: Failure>(work: impl FnOnce() -> io::Result<T>) -> T {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(error(libc::EIO)))
        .unwrap_or_else(|failed| {
            set_errno(errno(&failed));
            T::FAILED
        })
}

/// Runs work that cannot fail. A panic in it is reported, and does not reach the C program.
pub fn of_call<T: Default>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_default()
}

/// The number of an error; of one that the operating system does not know, the nearest.
pub fn errno(failed: &io::Error) -> libc::c_int {
    let nearest = match failed.kind() {
        io::ErrorKind::NotFound => libc::ENOENT,
        io::ErrorKind::PermissionDenied => libc::EACCES,
        io::ErrorKind::InvalidInput => libc::EINVAL,
        _ => libc::EIO,
    };
    failed.raw_os_error().unwrap_or(nearest)
}

fn set_errno(errno: libc::c_int) {
    // SAFETY: the C library returns the address of the calling thread's `errno`, which lives as
    // long as the thread.
    unsafe { *libc::__errno_location() = errno };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> Option<libc::c_int> {
        io::Error::last_os_error().raw_os_error()
    }

    #[test]
    fn a_failure_and_a_panic_set_errno_and_a_result_does_not() {
        assert_eq!(of(|| Err::<libc::c_int, _>(error(libc::EBADF))), -1);
        assert_eq!(last(), Some(libc::EBADF));
        assert_eq!(of(|| Ok(7i64)), 7);
        assert_eq!(last(), Some(libc::EBADF));
        assert_eq!(of::<libc::c_int>(|| panic!("a fault of the library")), -1);
        assert_eq!(last(), Some(libc::EIO));
    }
}
