//! The kernel's vocabulary and the protocol's.

use futago_base::{
    Attributes, FileId, Kind, Timestamp,
    record::{LockKind, LockRange, RangeLock},
};
use futago_files::{Access, LockHolder, stat};
use futago_fuse_kernel as kernel;
use futago_wire::{AttributeChange, LockChange, SetTime};

/// The end of a lock that reaches to the end of the file, in the kernel's words.
const KERNEL_LOCK_END: u64 = i64::MAX as u64;

const fn timestamp(time: Timestamp) -> kernel::Timestamp {
    kernel::Timestamp {
        seconds: time.seconds,
        nanoseconds: time.nanos,
    }
}

/// The attributes for `stat`.
pub fn attributes(of: &Attributes) -> kernel::Attributes {
    kernel::Attributes {
        inode: of.id.0,
        size: of.size,
        blocks: stat::blocks(of),
        atime: timestamp(of.accessed),
        mtime: timestamp(of.modified),
        ctime: timestamp(of.changed),
        btime: timestamp(of.born),
        mode: stat::mode(of),
        links: of.links,
        uid: of.uid,
        gid: of.gid,
        device: of.device,
        block_size: stat::preferred_bytes(of),
    }
}

/// A name's node, which the kernel asks for again each time.
pub fn entry(node: u64, of: &Attributes) -> kernel::Entry {
    kernel::Entry {
        node,
        attributes: attributes(of),
        ..kernel::Entry::default()
    }
}

/// An entry of a listing: it tells the sort of a file, and has no node.
pub fn bare_entry(id: FileId, kind: Kind) -> kernel::Entry {
    let attributes = kernel::Attributes {
        inode: id.0,
        mode: stat::type_bits(kind),
        ..kernel::Attributes::default()
    };
    kernel::Entry {
        attributes,
        ..kernel::Entry::default()
    }
}

/// The access that the flags of `open` request.
pub const fn access(flags: u32) -> Access {
    match flags as i32 & libc::O_ACCMODE {
        libc::O_RDONLY => Access::Read,
        libc::O_WRONLY => Access::Write,
        _ => Access::ReadWrite,
    }
}

/// The low 12 bits of `st_mode`.
pub const fn permissions(mode: u32) -> u16 {
    (mode & 0o7777) as u16
}

/// The change of a SETATTR request.
pub fn change(set: &kernel::SetAttributes) -> AttributeChange {
    stat::with_implied(AttributeChange {
        mode: set.mode.map(permissions),
        uid: set.uid,
        gid: set.gid,
        size: set.size,
        accessed: set.atime.map(set_time),
        modified: set.mtime.map(set_time),
        kill_privileges: set.kill_suidgid,
        chunk_bytes: None,
    })
}

const fn set_time(time: kernel::SetTime) -> SetTime {
    match time {
        kernel::SetTime::Now => SetTime::Now,
        kernel::SetTime::At(at) => SetTime::To(Timestamp {
            seconds: at.seconds,
            nanos: at.nanoseconds,
        }),
    }
}

/// A lock as the kernel asks for it.
pub const fn lock_change(request: &kernel::LockRequest, holder: LockHolder) -> LockChange {
    let lock = request.lock;
    let kind = match lock.kind as i32 {
        libc::F_RDLCK => Some(LockKind::Shared),
        libc::F_WRLCK => Some(LockKind::Exclusive),
        _ => None,
    };
    let end = if lock.end >= KERNEL_LOCK_END {
        u64::MAX
    } else {
        lock.end
    };
    LockChange {
        space: holder.space,
        kind,
        owner: holder.owner,
        range: LockRange {
            start: lock.start,
            end,
        },
        pid: lock.pid,
    }
}

/// A lock that is in the way, or none.
pub fn lock_in_the_way(lock: Option<RangeLock>, asked: kernel::Lock) -> kernel::Lock {
    let Some(lock) = lock else {
        return kernel::Lock {
            kind: libc::F_UNLCK as u32,
            ..asked
        };
    };
    let kind = match lock.kind {
        LockKind::Shared => libc::F_RDLCK,
        LockKind::Exclusive => libc::F_WRLCK,
    };
    kernel::Lock {
        start: lock.range.start,
        end: lock.range.end.min(KERNEL_LOCK_END),
        kind: kind as u32,
        pid: lock.pid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{
        SessionId,
        record::{LockOwner, LockSpace},
    };

    #[test]
    fn locks_to_the_end_of_the_file_stay_so_both_ways() {
        let lock = kernel::Lock {
            start: 5,
            end: KERNEL_LOCK_END,
            kind: libc::F_WRLCK as u32,
            pid: 77,
        };
        let request = kernel::LockRequest {
            handle: 1,
            owner: 2,
            lock,
        };
        let holder = LockHolder {
            file: FileId(3),
            space: LockSpace::Range,
            owner: 2,
        };
        let change = lock_change(&request, holder);
        assert_eq!(
            (change.range.end, change.kind),
            (u64::MAX, Some(LockKind::Exclusive))
        );
        let held = RangeLock {
            space: LockSpace::Range,
            kind: LockKind::Exclusive,
            owner: LockOwner {
                session: SessionId(1),
                owner: 2,
            },
            range: change.range,
            pid: 77,
        };
        assert_eq!(lock_in_the_way(Some(held), lock), lock);
        assert_eq!(lock_in_the_way(None, lock).kind, libc::F_UNLCK as u32);
    }
}
