//! Advisory locks.

use futago_base::record::{LockKind, LockRange, RangeLock};
use futago_files::{RangeLockRequest, RangeOwner};
use futago_node::blocking::{File, LockConflict};
use futago_posix::{
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_int, c_short},
    io::{self, Seek},
};

/// The last byte of a lock that reaches to the end of the file, as programs name it.
const LAST: u64 = i64::MAX as u64;

/// Takes or releases the lock of the whole file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_flock(fd: c_int, operation: c_int) -> c_int {
    outcome::of(|| {
        let file = process::file(fd)?;
        let kind = match operation & !libc::LOCK_NB {
            libc::LOCK_SH => LockKind::Shared,
            libc::LOCK_EX => LockKind::Exclusive,
            libc::LOCK_UN => return file.unlock().map(|()| 0),
            _ => return Err(error(libc::EINVAL)),
        };
        match operation & libc::LOCK_NB == 0 {
            true => file.lock(kind).map(|()| 0),
            false => match file.try_lock(kind)? {
                true => Ok(0),
                false => Err(error(libc::EWOULDBLOCK)),
            },
        }
    })
}

/// Takes, releases or tests a lock on a range.
///
/// # Safety
/// `lock` is null or the address of a `struct flock` that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_fcntl(fd: c_int, command: c_int, lock: *mut libc::flock) -> c_int {
    outcome::of(|| {
        let file = process::file(fd)?;
        let owner = match command {
            libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW => RangeOwner::Process,
            libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => RangeOwner::Handle,
            _ => return Err(error(libc::EINVAL)),
        };
        // SAFETY: the caller promises it.
        let lock = unsafe { lock.as_mut() }.ok_or_else(|| error(libc::EFAULT))?;
        let request = request(&file, owner, lock)?;
        match command {
            libc::F_GETLK | libc::F_OFD_GETLK => report(lock, file.conflicting_lock(request)?),
            libc::F_SETLK | libc::F_OFD_SETLK => {
                file.set_range_lock(request, LockConflict::Fail)?
            }
            _ => file.set_range_lock(request, LockConflict::Wait)?,
        }
        Ok(0)
    })
}

fn request(file: &File, owner: RangeOwner, lock: &libc::flock) -> io::Result<RangeLockRequest> {
    Ok(RangeLockRequest {
        owner,
        kind: match c_int::from(lock.l_type) {
            libc::F_RDLCK => Some(LockKind::Shared),
            libc::F_WRLCK => Some(LockKind::Exclusive),
            libc::F_UNLCK => None,
            _ => return Err(error(libc::EINVAL)),
        },
        range: range(begin(file, lock)?, lock.l_len).ok_or_else(|| error(libc::EINVAL))?,
        pid: std::process::id(),
    })
}

/// Where a lock begins.
fn begin(mut file: &File, lock: &libc::flock) -> io::Result<i64> {
    let from = match c_int::from(lock.l_whence) {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => file.stream_position()?,
        libc::SEEK_END => file.metadata()?.size,
        _ => return Err(error(libc::EINVAL)),
    };
    let begin = from.cast_signed().checked_add(lock.l_start);
    begin.ok_or_else(|| error(libc::EOVERFLOW))
}

/// The bytes of a lock: a length of 0 reaches to the end of the file, and a negative one ends
/// before the beginning.
fn range(begin: i64, length: i64) -> Option<LockRange> {
    let (first, last) = match length {
        0 => (begin, LAST.cast_signed()),
        1.. => (begin, begin.checked_add(length - 1)?),
        _ => (begin.checked_add(length)?, begin.checked_sub(1)?),
    };
    let (first, last) = (u64::try_from(first).ok()?, u64::try_from(last).ok()?);
    Some(LockRange {
        start: first,
        end: if last == LAST { u64::MAX } else { last },
    })
}

/// Reports the lock that is in the way, or that there is none.
fn report(lock: &mut libc::flock, conflict: Option<RangeLock>) {
    let Some(conflict) = conflict else {
        lock.l_type = libc::F_UNLCK as c_short;
        return;
    };
    let kind = match conflict.kind {
        LockKind::Shared => libc::F_RDLCK,
        LockKind::Exclusive => libc::F_WRLCK,
    };
    let LockRange { start, end } = conflict.range;
    lock.l_type = kind as c_short;
    lock.l_whence = libc::SEEK_SET as c_short;
    lock.l_start = start.cast_signed();
    lock.l_len = if end >= LAST {
        0
    } else {
        (end - start + 1).cast_signed()
    };
    lock.l_pid = conflict.pid.cast_signed();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_may_be_open_or_negative() {
        let of = |begin, length| range(begin, length).map(|range| (range.start, range.end));
        assert_eq!(of(5, 10), Some((5, 14)));
        assert_eq!(of(5, 0), Some((5, u64::MAX)));
        assert_eq!(of(5, -2), Some((3, 4)));
        assert_eq!(of(5, -6), None);
        assert_eq!(of(-1, 5), None);
        assert_eq!(of(1, i64::MAX), Some((1, u64::MAX)));
        assert_eq!(of(2, i64::MAX), None);
    }
}
