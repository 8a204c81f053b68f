//! From bytes to operations.

use super::body::Body;
use super::operation::{
    CopyFileRange, Create, Fallocate, Ioctl, Lock, LockRequest, MakeNode, Operation, Read, Release,
    Rename, SetAttributes, SetTime, SetXattr, Write,
};
use super::{Forget, Header, ParseError, Request};
use crate::Timestamp;
use crate::abi::flags::{self, InitFlags, SetAttrValid};
use crate::abi::{IN_HEADER_BYTES, input::*, opcode};
use bytes::Bytes;
use zerocopy::FromBytes;

/// What came from the kernel.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request {
        request: Request,
        opcode: u32,
    },
    Forget(Vec<Forget>),
    /// Somebody wants request `target` to end early.
    Interrupt {
        unique: u64,
        target: u64,
    },
    /// The header is sound and the rest is not: answer EIO and go on.
    Malformed {
        unique: u64,
        error: ParseError,
    },
}

type Parsed = Result<Operation, ParseError>;

/// Parses one message of the device. `granted` are the features agreed on in INIT.
///
/// # Errors
/// When not even the header makes sense, so that there is nothing to answer to.
pub(crate) fn parse(message: Bytes, granted: InitFlags) -> Result<Incoming, ParseError> {
    let (header, _) =
        InHeader::read_from_prefix(&message).map_err(|_| ParseError::NoHeader(message.len()))?;
    if header.len as usize != message.len() {
        return Err(ParseError::Length {
            said: header.len,
            actual: message.len(),
        });
    }
    let extensions = usize::from(header.total_extlen) * 8;
    let end = message
        .len()
        .saturating_sub(extensions)
        .max(IN_HEADER_BYTES);
    let mut body = Body::new(header.opcode, message.slice(IN_HEADER_BYTES..end));
    let parsed = match header.opcode {
        opcode::FORGET | opcode::BATCH_FORGET => forgets(&header, &mut body).map(Incoming::Forget),
        opcode::INTERRUPT => {
            body.record::<InterruptIn>("record")
                .map(|record| Incoming::Interrupt {
                    unique: header.unique,
                    target: record.unique,
                })
        }
        _ => operation(header.opcode, &mut body, granted).map(|operation| Incoming::Request {
            request: Request {
                header: typed(&header),
                operation,
            },
            opcode: header.opcode,
        }),
    };
    Ok(parsed.unwrap_or_else(|error| Incoming::Malformed {
        unique: header.unique,
        error,
    }))
}

fn typed(header: &InHeader) -> Header {
    Header {
        unique: header.unique,
        node: header.nodeid,
        uid: header.uid,
        gid: header.gid,
        pid: header.pid,
    }
}

fn forgets(header: &InHeader, body: &mut Body) -> Result<Vec<Forget>, ParseError> {
    if header.opcode == opcode::FORGET {
        let record: ForgetIn = body.record("record")?;
        return Ok(vec![Forget {
            node: header.nodeid,
            lookups: record.nlookup,
        }]);
    }
    let batch: BatchForgetIn = body.record("record")?;
    let one = |_| {
        let record: ForgetOne = body.record("list of nodes")?;
        Ok(Forget {
            node: record.nodeid,
            lookups: record.nlookup,
        })
    };
    (0..batch.count).map(one).collect()
}

#[allow(clippy::too_many_lines)] // One line an operation: the table is the point.
fn operation(code: u32, body: &mut Body, granted: InitFlags) -> Parsed {
    Ok(match code {
        opcode::LOOKUP => Operation::Lookup { name: body.name()? },
        opcode::GETATTR => get_attributes(body)?,
        opcode::STATX => statx(body)?,
        opcode::SETATTR => set_attributes(body)?,
        opcode::READLINK => Operation::ReadLink,
        opcode::SYMLINK => Operation::Symlink {
            name: body.name()?,
            target: body.name()?,
        },
        opcode::MKNOD => make_node(body)?,
        opcode::MKDIR => make_directory(body)?,
        opcode::UNLINK => Operation::Unlink { name: body.name()? },
        opcode::RMDIR => Operation::RemoveDirectory { name: body.name()? },
        opcode::RENAME | opcode::RENAME2 => rename(code, body)?,
        opcode::LINK => link(body)?,
        opcode::OPEN => open(body)?,
        opcode::CREATE => Operation::Create(create(body, true)?),
        opcode::TMPFILE => Operation::TemporaryFile(create(body, false)?),
        opcode::READ => read(body)?,
        opcode::WRITE => write(body)?,
        opcode::STATFS => Operation::StatFs,
        opcode::RELEASE => release(body)?,
        opcode::FSYNC | opcode::FSYNCDIR => fsync(code, body)?,
        opcode::SETXATTR => set_xattr(body, granted)?,
        opcode::GETXATTR => get_xattr(body)?,
        opcode::LISTXATTR => Operation::ListXattr {
            size: body.record::<GetXattrIn>("record")?.size,
        },
        opcode::REMOVEXATTR => Operation::RemoveXattr { name: body.name()? },
        opcode::FLUSH => flush(body)?,
        opcode::OPENDIR => Operation::OpenDirectory {
            flags: body.record::<OpenIn>("record")?.flags,
        },
        opcode::READDIR | opcode::READDIRPLUS => read_directory(code, body)?,
        opcode::RELEASEDIR => release_directory(body)?,
        opcode::GETLK => Operation::GetLock(lock(&body.record("record")?)),
        opcode::SETLK | opcode::SETLKW => set_lock(code, body)?,
        opcode::ACCESS => Operation::Access {
            mask: body.record::<AccessIn>("record")?.mask,
        },
        opcode::BMAP => map_block(body)?,
        opcode::IOCTL => ioctl(body)?,
        opcode::POLL => poll(body)?,
        opcode::FALLOCATE => fallocate(body)?,
        opcode::LSEEK => seek(body)?,
        opcode::COPY_FILE_RANGE | opcode::COPY_FILE_RANGE_64 => copy_file_range(body)?,
        opcode::SYNCFS => Operation::SyncFs,
        opcode::DESTROY => Operation::Destroy,
        opcode => Operation::Unknown { opcode },
    })
}

fn get_attributes(body: &mut Body) -> Parsed {
    let record: GetAttrIn = body.record("record")?;
    let handle = (record.flags & flags::GETATTR_FH != 0).then_some(record.fh);
    Ok(Operation::GetAttributes { handle })
}

fn statx(body: &mut Body) -> Parsed {
    let record: StatxIn = body.record("record")?;
    let handle = (record.getattr_flags & flags::GETATTR_FH != 0).then_some(record.fh);
    Ok(Operation::Statx {
        handle,
        flags: record.sx_flags,
        mask: record.sx_mask,
    })
}

fn set_attributes(body: &mut Body) -> Parsed {
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

fn make_node(body: &mut Body) -> Parsed {
    let record: MknodIn = body.record("record")?;
    Ok(Operation::MakeNode(MakeNode {
        name: body.name()?,
        mode: record.mode,
        umask: record.umask,
        device: record.rdev,
    }))
}

fn make_directory(body: &mut Body) -> Parsed {
    let record: MkdirIn = body.record("record")?;
    Ok(Operation::MakeDirectory {
        name: body.name()?,
        mode: record.mode,
        umask: record.umask,
    })
}

fn rename(code: u32, body: &mut Body) -> Parsed {
    let (new_directory, flags) = if code == opcode::RENAME {
        (body.record::<RenameIn>("record")?.newdir, 0)
    } else {
        let record: Rename2In = body.record("record")?;
        (record.newdir, record.flags)
    };
    let (name, new_name) = (body.name()?, body.name()?);
    Ok(Operation::Rename(Rename {
        name,
        new_directory,
        new_name,
        flags,
    }))
}

fn link(body: &mut Body) -> Parsed {
    let record: LinkIn = body.record("record")?;
    Ok(Operation::Link {
        node: record.oldnodeid,
        name: body.name()?,
    })
}

fn open(body: &mut Body) -> Parsed {
    let record: OpenIn = body.record("record")?;
    let kill_suidgid = record.open_flags & flags::OPEN_KILL_SUIDGID != 0;
    Ok(Operation::Open {
        flags: record.flags,
        kill_suidgid,
    })
}

/// The name of a temporary file, "/", says nothing and is dropped.
fn create(body: &mut Body, named: bool) -> Result<Create, ParseError> {
    let record: CreateIn = body.record("record")?;
    Ok(Create {
        name: if named { body.name()? } else { Bytes::new() },
        flags: record.flags,
        mode: record.mode,
        umask: record.umask,
        kill_suidgid: record.open_flags & flags::OPEN_KILL_SUIDGID != 0,
    })
}

fn read(body: &mut Body) -> Parsed {
    let record: ReadIn = body.record("record")?;
    Ok(Operation::Read(Read {
        handle: record.fh,
        offset: record.offset,
        size: record.size,
        flags: record.flags,
        lock_owner: (record.read_flags & flags::READ_LOCKOWNER != 0).then_some(record.lock_owner),
    }))
}

fn write(body: &mut Body) -> Parsed {
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

fn release(body: &mut Body) -> Parsed {
    let record: ReleaseIn = body.record("record")?;
    let has = |flag| record.release_flags & flag != 0;
    Ok(Operation::Release(Release {
        handle: record.fh,
        flags: record.flags,
        flock_owner: has(flags::RELEASE_FLOCK_UNLOCK).then_some(record.lock_owner),
        flush: has(flags::RELEASE_FLUSH),
    }))
}

fn release_directory(body: &mut Body) -> Parsed {
    let record: ReleaseIn = body.record("record")?;
    Ok(Operation::ReleaseDirectory {
        handle: record.fh,
        flags: record.flags,
    })
}

fn fsync(code: u32, body: &mut Body) -> Parsed {
    let record: FsyncIn = body.record("record")?;
    let (handle, data_only) = (record.fh, record.fsync_flags & flags::FSYNC_DATA != 0);
    Ok(match code {
        opcode::FSYNC => Operation::Fsync { handle, data_only },
        _ => Operation::FsyncDirectory { handle, data_only },
    })
}

fn set_xattr(body: &mut Body, granted: InitFlags) -> Parsed {
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

fn get_xattr(body: &mut Body) -> Parsed {
    let record: GetXattrIn = body.record("record")?;
    Ok(Operation::GetXattr {
        name: body.name()?,
        size: record.size,
    })
}

fn flush(body: &mut Body) -> Parsed {
    let record: FlushIn = body.record("record")?;
    Ok(Operation::Flush {
        handle: record.fh,
        lock_owner: record.lock_owner,
    })
}

fn read_directory(code: u32, body: &mut Body) -> Parsed {
    let record: ReadIn = body.record("record")?;
    let (handle, offset, size) = (record.fh, record.offset, record.size);
    Ok(match code {
        opcode::READDIR => Operation::ReadDirectory {
            handle,
            offset,
            size,
        },
        _ => Operation::ReadDirectoryPlus {
            handle,
            offset,
            size,
        },
    })
}

fn lock(record: &LkIn) -> LockRequest {
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

fn set_lock(code: u32, body: &mut Body) -> Parsed {
    let record: LkIn = body.record("record")?;
    Ok(Operation::SetLock {
        request: lock(&record),
        wait: code == opcode::SETLKW,
        flock: record.lk_flags & flags::LK_FLOCK != 0,
    })
}

fn map_block(body: &mut Body) -> Parsed {
    let record: BmapIn = body.record("record")?;
    Ok(Operation::MapBlock {
        block: record.block,
        block_size: record.blocksize,
    })
}

fn ioctl(body: &mut Body) -> Parsed {
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

fn poll(body: &mut Body) -> Parsed {
    let record: PollIn = body.record("record")?;
    Ok(Operation::Poll {
        handle: record.fh,
        events: record.events,
    })
}

fn fallocate(body: &mut Body) -> Parsed {
    let record: FallocateIn = body.record("record")?;
    let (offset, length, mode) = (record.offset, record.length, record.mode);
    Ok(Operation::Fallocate(Fallocate {
        handle: record.fh,
        offset,
        length,
        mode,
    }))
}

fn seek(body: &mut Body) -> Parsed {
    let record: LseekIn = body.record("record")?;
    let (offset, whence) = (record.offset, record.whence);
    Ok(Operation::Seek {
        handle: record.fh,
        offset,
        whence,
    })
}

fn copy_file_range(body: &mut Body) -> Parsed {
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

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
