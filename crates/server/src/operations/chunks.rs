//! Reads, writes, punches and copies chunks other than a file's first.

use crate::answer::{Answer, Checked, Result};
use crate::turn::Turn;
use futago_base::{ChunkId, Errno, FileId, Payload, View, limits, record::Truncations};
use futago_wire::{Failure, Reply, Request};

pub fn run<V: View>(turn: &mut Turn<'_, V>, request: &Request, data: &Payload) -> Result {
    match request {
        Request::ReadChunk {
            chunk,
            from,
            to,
            chunk_bytes,
            truncations,
        } => {
            check(turn, *chunk, (*from, *to), *chunk_bytes)?;
            turn.heard_or_fail(chunk.file)?;
            let payload = read(turn, *chunk, (*from, *to), *chunk_bytes, truncations);
            Ok(Answer {
                reply: Reply::Done,
                payload,
            })
        }
        Request::WriteChunk {
            chunk,
            offset,
            chunk_bytes,
            truncations,
        } => {
            let end = end_of(*offset, data.len())?;
            check(turn, *chunk, (*offset, end), *chunk_bytes)?;
            turn.admit_change(chunk.file, *chunk_bytes, truncations)?;
            turn.write_chunk(*chunk, *offset, data.clone());
            Ok(Reply::Done.into())
        }
        Request::PunchChunks {
            file,
            from,
            to,
            chunk_bytes,
            truncations,
        } => punch(turn, *file, (*from, *to), *chunk_bytes, truncations),
        Request::CopyChunk { .. } => copy(turn, request),
        _ => Err(Errno::ENOSYS.into()),
    }
}

/// The chunk must belong here, not be a file's first, lie below the largest size, and contain the
/// range.
fn check<V: View>(
    turn: &Turn<'_, V>,
    chunk: ChunkId,
    (from, to): (u32, u32),
    chunk_bytes: u32,
) -> Checked<()> {
    if turn.server.map.chunk_server(chunk) != turn.server.id() {
        return Err(Failure::WrongServer.into());
    }
    check_chunk_bytes(chunk_bytes)?;
    let start = chunk.index.checked_mul(u64::from(chunk_bytes));
    let valid = chunk.index > 0
        && from <= to
        && to <= chunk_bytes
        && start.is_some_and(|start| start <= limits::FILE_BYTES);
    if valid {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
}

/// Chunks are never smaller or larger than the limits, whatever a client says.
pub fn check_chunk_bytes(chunk_bytes: u32) -> Checked<()> {
    let valid = (limits::CHUNK_BYTES_MIN..=limits::CHUNK_BYTES_MAX).contains(&chunk_bytes);
    if valid {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
}

fn end_of(offset: u32, length: usize) -> Checked<u32> {
    let end = u32::try_from(length)
        .ok()
        .and_then(|length| offset.checked_add(length));
    end.ok_or_else(|| Errno::EINVAL.into())
}

fn read<V: View>(
    turn: &Turn<'_, V>,
    chunk: ChunkId,
    (from, to): (u32, u32),
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Payload {
    let start = chunk.index * u64::from(chunk_bytes);
    let valid = turn.valid_end(chunk, start, truncations);
    turn.read_chunk(chunk, from, to, valid)
}

fn punch<V: View>(
    turn: &mut Turn<'_, V>,
    file: FileId,
    range: (u64, u64),
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Result {
    check_chunk_bytes(chunk_bytes)?;
    // Where no chunks may be, there is nothing to punch.
    if turn.heard(file).is_some() {
        turn.admit_change(file, chunk_bytes, truncations)?;
        turn.punch_chunks(file, range, chunk_bytes);
    }
    Ok(Reply::Done.into())
}

/// The bytes are shared, not copied, where the store keeps them by reference.
fn copy<V: View>(turn: &mut Turn<'_, V>, request: &Request) -> Result {
    let Request::CopyChunk {
        source,
        from,
        to,
        source_truncations,
        target,
        offset,
        chunk_bytes,
        truncations,
    } = request
    else {
        return Err(Errno::ENOSYS.into());
    };
    check(turn, *source, (*from, *to), *chunk_bytes)?;
    let end = end_of(*offset, (*to - *from) as usize)?;
    check(turn, *target, (*offset, end), *chunk_bytes)?;
    turn.heard_or_fail(source.file)?;
    let data = read(
        turn,
        *source,
        (*from, *to),
        *chunk_bytes,
        source_truncations,
    );
    turn.admit_change(target.file, *chunk_bytes, truncations)?;
    turn.write_chunk(*target, *offset, data);
    Ok(Reply::Done.into())
}
