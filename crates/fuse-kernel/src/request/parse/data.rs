//! Contents of open files.

use super::Parsed;
use crate::abi::flags;
use crate::abi::input::*;
use crate::abi::opcode;
use crate::request::body::Body;
use crate::request::operation::{CopyFileRange, Fallocate, Ioctl, Operation, Read, Release, Write};

pub(super) fn read(body: &mut Body) -> Parsed {
    let record: ReadIn = body.record("record")?;
    Ok(Operation::Read(Read {
        handle: record.fh,
        offset: record.offset,
        size: record.size,
        flags: record.flags,
        lock_owner: (record.read_flags & flags::READ_LOCKOWNER != 0).then_some(record.lock_owner),
    }))
}

pub(super) fn write(body: &mut Body) -> Parsed {
    let record: WriteIn = body.record("record")?;
    let has = |flag| record.write_flags & flag != 0;
    Ok(Operation::Write(Write {
        handle: record.fh,
        offset: record.offset,
        data: body.payload(record.size)?,
        flags: record.flags,
        lock_owner: has(flags::WRITE_LOCKOWNER).then_some(record.lock_owner),
        from_cache: has(flags::WRITE_CACHE),
        kill_suidgid: has(flags::WRITE_KILL_SUIDGID),
    }))
}

pub(super) fn release(body: &mut Body) -> Parsed {
    let record: ReleaseIn = body.record("record")?;
    let has = |flag| record.release_flags & flag != 0;
    Ok(Operation::Release(Release {
        handle: record.fh,
        flags: record.flags,
        flock_owner: has(flags::RELEASE_FLOCK_UNLOCK).then_some(record.lock_owner),
        flush: has(flags::RELEASE_FLUSH),
    }))
}

pub(super) fn fsync(code: u32, body: &mut Body) -> Parsed {
    let record: FsyncIn = body.record("record")?;
    let (handle, data_only) = (record.fh, record.fsync_flags & flags::FSYNC_DATA != 0);
    Ok(match code {
        opcode::FSYNC => Operation::Fsync { handle, data_only },
        _ => Operation::FsyncDirectory { handle, data_only },
    })
}

pub(super) fn flush(body: &mut Body) -> Parsed {
    let record: FlushIn = body.record("record")?;
    Ok(Operation::Flush {
        handle: record.fh,
        lock_owner: record.lock_owner,
    })
}

pub(super) fn fallocate(body: &mut Body) -> Parsed {
    let record: FallocateIn = body.record("record")?;
    let (offset, length, mode) = (record.offset, record.length, record.mode);
    Ok(Operation::Fallocate(Fallocate {
        handle: record.fh,
        offset,
        length,
        mode,
    }))
}

pub(super) fn seek(body: &mut Body) -> Parsed {
    let record: LseekIn = body.record("record")?;
    let (offset, whence) = (record.offset, record.whence);
    Ok(Operation::Seek {
        handle: record.fh,
        offset,
        whence,
    })
}

pub(super) fn copy_file_range(body: &mut Body) -> Parsed {
    let record: CopyFileRangeIn = body.record("record")?;
    Ok(Operation::CopyFileRange(CopyFileRange {
        handle: record.fh_in,
        offset: record.off_in,
        target_node: record.nodeid_out,
        target_handle: record.fh_out,
        target_offset: record.off_out,
        length: record.len,
        flags: record.flags,
    }))
}

pub(super) fn map_block(body: &mut Body) -> Parsed {
    let record: BmapIn = body.record("record")?;
    Ok(Operation::MapBlock {
        block: record.block,
        block_size: record.blocksize,
    })
}

pub(super) fn ioctl(body: &mut Body) -> Parsed {
    let record: IoctlIn = body.record("record")?;
    Ok(Operation::Ioctl(Ioctl {
        handle: record.fh,
        flags: record.flags,
        command: record.cmd,
        argument: record.arg,
        input: body.payload(record.in_size)?,
        output_size: record.out_size,
    }))
}

pub(super) fn poll(body: &mut Body) -> Parsed {
    let record: PollIn = body.record("record")?;
    Ok(Operation::Poll {
        handle: record.fh,
        events: record.events,
    })
}
