//! Locks on files.

use super::Parsed;
use crate::abi::flags;
use crate::abi::input::*;
use crate::abi::opcode;
use crate::request::body::Body;
use crate::request::operation::{Lock, LockRequest, Operation};

pub(super) fn lock(record: &LkIn) -> LockRequest {
    let (start, end, kind, pid) = (record.start, record.end, record.kind, record.pid);
    LockRequest {
        handle: record.fh,
        owner: record.owner,
        lock: Lock {
            start,
            end,
            kind,
            pid,
        },
    }
}

pub(super) fn set_lock(code: u32, body: &mut Body) -> Parsed {
    let record: LkIn = body.record("record")?;
    Ok(Operation::SetLock {
        request: lock(&record),
        wait: code == opcode::SETLKW,
        flock: record.lk_flags & flags::LK_FLOCK != 0,
    })
}
