//! The parser from bytes to operations.

mod attributes;
mod data;
mod locks;
mod names;

use super::body::Body;
use super::operation::Operation;
use super::{Forget, Header, ParseError, Request};
use crate::abi::flags::InitFlags;
use crate::abi::{IN_HEADER_BYTES, input::*, opcode};
use bytes::Bytes;
use zerocopy::FromBytes;

/// A message from the kernel.
#[derive(Debug)]
pub(crate) enum Message {
    Request {
        request: Request,
        opcode: u32,
    },
    Forget(Vec<Forget>),
    /// The caller of request `target` was interrupted.
    Interrupt {
        unique: u64,
        target: u64,
    },
    /// Only the header is valid: reply with EIO and continue.
    Malformed {
        unique: u64,
        error: ParseError,
    },
}

type Parsed = Result<Operation, ParseError>;

/// Parses one message of the device. `granted` are the negotiated features.
///
/// # Errors
/// The header is malformed, so that no reply is possible.
pub(crate) fn parse(message: Bytes, granted: InitFlags) -> Result<Message, ParseError> {
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
        opcode::FORGET | opcode::BATCH_FORGET => forgets(&header, &mut body).map(Message::Forget),
        opcode::INTERRUPT => {
            body.record::<InterruptIn>("record")
                .map(|record| Message::Interrupt {
                    unique: header.unique,
                    target: record.unique,
                })
        }
        _ => operation(header.opcode, &mut body, granted).map(|operation| Message::Request {
            request: Request {
                header: typed(&header),
                operation,
            },
            opcode: header.opcode,
        }),
    };
    Ok(parsed.unwrap_or_else(|error| Message::Malformed {
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
        opcode::GETATTR => attributes::get_attributes(body)?,
        opcode::STATX => attributes::statx(body)?,
        opcode::SETATTR => attributes::set_attributes(body)?,
        opcode::READLINK => Operation::ReadLink,
        opcode::SYMLINK => Operation::Symlink {
            name: body.name()?,
            target: body.name()?,
        },
        opcode::MKNOD => names::make_node(body)?,
        opcode::MKDIR => names::make_directory(body)?,
        opcode::UNLINK => Operation::Unlink { name: body.name()? },
        opcode::RMDIR => Operation::RemoveDirectory { name: body.name()? },
        opcode::RENAME | opcode::RENAME2 => names::rename(code, body)?,
        opcode::LINK => names::link(body)?,
        opcode::OPEN => names::open(body)?,
        opcode::CREATE => Operation::Create(names::create(body, true)?),
        opcode::TMPFILE => Operation::TemporaryFile(names::create(body, false)?),
        opcode::READ => data::read(body)?,
        opcode::WRITE => data::write(body)?,
        opcode::STATFS => Operation::StatFs,
        opcode::RELEASE => data::release(body)?,
        opcode::FSYNC | opcode::FSYNCDIR => data::fsync(code, body)?,
        opcode::SETXATTR => attributes::set_xattr(body, granted)?,
        opcode::GETXATTR => attributes::get_xattr(body)?,
        opcode::LISTXATTR => Operation::ListXattr {
            size: body.record::<GetXattrIn>("record")?.size,
        },
        opcode::REMOVEXATTR => Operation::RemoveXattr { name: body.name()? },
        opcode::FLUSH => data::flush(body)?,
        opcode::OPENDIR => Operation::OpenDirectory {
            flags: body.record::<OpenIn>("record")?.flags,
        },
        opcode::READDIR | opcode::READDIRPLUS => names::read_directory(code, body)?,
        opcode::RELEASEDIR => names::release_directory(body)?,
        opcode::GETLK => Operation::GetLock(locks::lock(&body.record("record")?)),
        opcode::SETLK | opcode::SETLKW => locks::set_lock(code, body)?,
        opcode::ACCESS => Operation::Access {
            mask: body.record::<AccessIn>("record")?.mask,
        },
        opcode::BMAP => data::map_block(body)?,
        opcode::IOCTL => data::ioctl(body)?,
        opcode::POLL => data::poll(body)?,
        opcode::FALLOCATE => data::fallocate(body)?,
        opcode::LSEEK => data::seek(body)?,
        opcode::COPY_FILE_RANGE | opcode::COPY_FILE_RANGE_64 => data::copy_file_range(body)?,
        opcode::SYNCFS => Operation::SyncFs,
        opcode::DESTROY => Operation::Destroy,
        opcode => Operation::Unknown { opcode },
    })
}

#[cfg(test)]
mod tests;
