//! Attributes and extended attributes.

use super::Parsed;
use crate::Timestamp;
use crate::abi::flags;
use crate::abi::flags::InitFlags;
use crate::abi::flags::SetAttrValid;
use crate::abi::input::*;
use crate::request::body::Body;
use crate::request::operation::{Operation, SetAttributes, SetTime, SetXattr};

pub(super) fn get_attributes(body: &mut Body) -> Parsed {
    let record: GetAttrIn = body.record("record")?;
    let handle = (record.flags & flags::GETATTR_FH != 0).then_some(record.fh);
    Ok(Operation::GetAttributes { handle })
}

pub(super) fn statx(body: &mut Body) -> Parsed {
    let record: StatxIn = body.record("record")?;
    let handle = (record.getattr_flags & flags::GETATTR_FH != 0).then_some(record.fh);
    Ok(Operation::Statx {
        handle,
        flags: record.sx_flags,
        mask: record.sx_mask,
    })
}

pub(super) fn set_attributes(body: &mut Body) -> Parsed {
    let record: SetAttrIn = body.record("record")?;
    let valid = SetAttrValid::from_bits_truncate(record.valid);
    let has = |flag| valid.contains(flag);
    let time = |set, now, at| match (has(set), has(now)) {
        (_, true) => Some(SetTime::Now),
        (true, false) => Some(SetTime::At(at)),
        (false, false) => None,
    };
    let at = |seconds: u64, nanoseconds| Timestamp {
        seconds: seconds.cast_signed(),
        nanoseconds,
    };
    let ctime = at(record.ctime, record.ctimensec);
    let atime = at(record.atime, record.atimensec);
    let mtime = at(record.mtime, record.mtimensec);
    Ok(Operation::SetAttributes(SetAttributes {
        valid,
        handle: has(SetAttrValid::HANDLE).then_some(record.fh),
        mode: has(SetAttrValid::MODE).then_some(record.mode),
        uid: has(SetAttrValid::UID).then_some(record.uid),
        gid: has(SetAttrValid::GID).then_some(record.gid),
        size: has(SetAttrValid::SIZE).then_some(record.size),
        atime: time(SetAttrValid::ATIME, SetAttrValid::ATIME_NOW, atime),
        mtime: time(SetAttrValid::MTIME, SetAttrValid::MTIME_NOW, mtime),
        ctime: has(SetAttrValid::CTIME).then_some(ctime),
        lock_owner: has(SetAttrValid::LOCK_OWNER).then_some(record.lock_owner),
        kill_suidgid: has(SetAttrValid::KILL_SUIDGID),
    }))
}

pub(super) fn set_xattr(body: &mut Body, granted: InitFlags) -> Parsed {
    let record: SetXattrIn = body.record("record")?;
    let more = if granted.contains(InitFlags::SETXATTR_EXT) {
        body.record::<SetXattrInExtension>("record")?.setxattr_flags
    } else {
        0
    };
    Ok(Operation::SetXattr(SetXattr {
        name: body.name()?,
        value: body.payload(record.size)?,
        flags: record.flags,
        acl_kill_sgid: more & flags::SETXATTR_ACL_KILL_SGID != 0,
    }))
}

pub(super) fn get_xattr(body: &mut Body) -> Parsed {
    let record: GetXattrIn = body.record("record")?;
    Ok(Operation::GetXattr {
        name: body.name()?,
        size: record.size,
    })
}
