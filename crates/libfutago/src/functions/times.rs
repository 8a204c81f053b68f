//! Times of access and modification.

use super::attributes::{change, change_open};
use futago_base::Timestamp;
use futago_posix::{
    memory::bytes,
    outcome::{self, error},
};
use futago_wire::{AttributeChange, SetTime};
use std::{
    ffi::{c_char, c_int},
    io, slice,
};

/// Sets the times of a file, as `utimensat` does.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte; `times` is null or the
/// address of two times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_utimens(
    path: *const c_char,
    times: *const libc::timespec,
    flags: c_int,
) -> c_int {
    outcome::of(|| {
        if flags & !libc::AT_SYMLINK_NOFOLLOW != 0 {
            return Err(error(libc::EINVAL));
        }
        // SAFETY: the caller promises it.
        let (path, times) = unsafe { (bytes(path)?, time_change(times)?) };
        change(path, flags == 0, times)
    })
}

/// Sets the times of an open file.
///
/// # Safety
/// As [`futago_utimens`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_futimens(fd: c_int, times: *const libc::timespec) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| change_open(fd, unsafe { time_change(times) }?))
}

/// # Safety
/// As [`futago_utimens`].
unsafe fn time_change(times: *const libc::timespec) -> io::Result<AttributeChange> {
    let (accessed, modified) = match times.is_null() {
        true => (Some(SetTime::Now), Some(SetTime::Now)),
        false => {
            // SAFETY: it is not null; the caller promises the rest.
            let times = unsafe { slice::from_raw_parts(times, 2) };
            (set_time(&times[0])?, set_time(&times[1])?)
        }
    };
    Ok(AttributeChange {
        accessed,
        modified,
        ..AttributeChange::default()
    })
}

fn set_time(time: &libc::timespec) -> io::Result<Option<SetTime>> {
    match time.tv_nsec {
        libc::UTIME_NOW => Ok(Some(SetTime::Now)),
        libc::UTIME_OMIT => Ok(None),
        0..1_000_000_000 => Ok(Some(SetTime::To(Timestamp {
            seconds: time.tv_sec,
            nanos: time.tv_nsec as u32,
        }))),
        _ => Err(error(libc::EINVAL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_be_now_or_left_out() {
        let at = |tv_sec, tv_nsec| set_time(&libc::timespec { tv_sec, tv_nsec }).ok();
        assert_eq!(at(0, libc::UTIME_NOW), Some(Some(SetTime::Now)));
        assert_eq!(at(0, libc::UTIME_OMIT), Some(None));
        let time = Timestamp {
            seconds: -5,
            nanos: 7,
        };
        assert_eq!(at(-5, 7), Some(Some(SetTime::To(time))));
        assert_eq!(at(0, 1_000_000_000), None);
    }
}
