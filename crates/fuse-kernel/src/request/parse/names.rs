//! Names in directories, and opening them.

use super::Parsed;
use crate::abi::flags;
use crate::abi::input::*;
use crate::abi::opcode;
use crate::request::ParseError;
use crate::request::body::Body;
use crate::request::operation::{Create, MakeNode, Operation, Rename};
use bytes::Bytes;

pub(super) fn make_node(body: &mut Body) -> Parsed {
    let record: MknodIn = body.record("record")?;
    Ok(Operation::MakeNode(MakeNode {
        name: body.name()?,
        mode: record.mode,
        umask: record.umask,
        device: record.rdev,
    }))
}

pub(super) fn make_directory(body: &mut Body) -> Parsed {
    let record: MkdirIn = body.record("record")?;
    Ok(Operation::MakeDirectory {
        name: body.name()?,
        mode: record.mode,
        umask: record.umask,
    })
}

pub(super) fn rename(code: u32, body: &mut Body) -> Parsed {
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

pub(super) fn link(body: &mut Body) -> Parsed {
    let record: LinkIn = body.record("record")?;
    Ok(Operation::Link {
        node: record.oldnodeid,
        name: body.name()?,
    })
}

pub(super) fn open(body: &mut Body) -> Parsed {
    let record: OpenIn = body.record("record")?;
    let kill_suidgid = record.open_flags & flags::OPEN_KILL_SUIDGID != 0;
    Ok(Operation::Open {
        flags: record.flags,
        kill_suidgid,
    })
}

/// The name of a temporary file, "/", carries no information and is dropped.
pub(super) fn create(body: &mut Body, named: bool) -> Result<Create, ParseError> {
    let record: CreateIn = body.record("record")?;
    Ok(Create {
        name: if named { body.name()? } else { Bytes::new() },
        flags: record.flags,
        mode: record.mode,
        umask: record.umask,
        kill_suidgid: record.open_flags & flags::OPEN_KILL_SUIDGID != 0,
    })
}

pub(super) fn read_directory(code: u32, body: &mut Body) -> Parsed {
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

pub(super) fn release_directory(body: &mut Body) -> Parsed {
    let record: ReleaseIn = body.record("record")?;
    Ok(Operation::ReleaseDirectory {
        handle: record.fh,
        flags: record.flags,
    })
}
