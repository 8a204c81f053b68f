//! Reads, writes, punches and copies chunks other than a file's first.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Completion, Result};
use core::ops::Range;
use futago_base::{ChunkId, Errno, FileId, Payload, View, limits, record::Truncations};
use futago_wire::{Failure, Reply, Request};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    request: &Request,
    data: &Payload,
) -> Result {
    match request {
        Request::ReadChunk {
            chunk,
            from,
            to,
            chunk_bytes,
            truncations,
        } => {
            check(builder, *chunk, *from..*to, *chunk_bytes)?;
            builder.heard_if_admitted(chunk.file)?;
            let payload = read(builder, *chunk, *from..*to, *chunk_bytes, truncations);
            Ok(Completion {
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
            check(builder, *chunk, *offset..end, *chunk_bytes)?;
            builder.admit_change(chunk.file, *chunk_bytes, truncations)?;
            builder.write_chunk(*chunk, *offset, data.clone());
            Ok(Reply::Done.into())
        }
        Request::PunchChunks {
            file,
            from,
            to,
            chunk_bytes,
            truncations,
        } => punch(builder, *file, *from..*to, *chunk_bytes, truncations),
        Request::CopyChunk { .. } => copy(builder, request),
        _ => Err(Errno::ENOSYS.into()),
    }
}

/// Checks that the chunk belongs here, is not the first of its file, lies below the largest size,
/// and contains the range.
fn check<V: View>(
    builder: &DecisionBuilder<'_, V>,
    chunk: ChunkId,
    range: Range<u32>,
    chunk_bytes: u32,
) -> Checked<()> {
    if builder.server.map.chunk_server(chunk) != builder.server.id() {
        return Err(Failure::WrongServer.into());
    }
    check_chunk_bytes(chunk_bytes)?;
    let start = chunk.index.checked_mul(u64::from(chunk_bytes));
    let valid = chunk.index > 0
        && range.start <= range.end
        && range.end <= chunk_bytes
        && start.is_some_and(|start| start <= limits::FILE_BYTES);
    if valid {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
}

/// Checks that the chunk size is within the limits, because clients are not trusted.
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
    builder: &DecisionBuilder<'_, V>,
    chunk: ChunkId,
    range: Range<u32>,
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Payload {
    let start = chunk.start(chunk_bytes);
    let valid = builder.valid_end(chunk, start, truncations);
    builder.read_chunk(chunk, range.start, range.end, valid)
}

fn punch<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    file: FileId,
    range: Range<u64>,
    chunk_bytes: u32,
    truncations: &Truncations,
) -> Result {
    check_chunk_bytes(chunk_bytes)?;
    // Without admitted chunks there is nothing to punch.
    if builder.heard(file).is_some() {
        builder.admit_change(file, chunk_bytes, truncations)?;
        builder.punch_chunks(file, range, chunk_bytes);
    }
    Ok(Reply::Done.into())
}

/// The bytes are shared, not copied, where the store holds them by reference.
fn copy<V: View>(builder: &mut DecisionBuilder<'_, V>, request: &Request) -> Result {
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
    check(builder, *source, *from..*to, *chunk_bytes)?;
    let end = end_of(*offset, (*to - *from) as usize)?;
    check(builder, *target, *offset..end, *chunk_bytes)?;
    builder.heard_if_admitted(source.file)?;
    let data = read(
        builder,
        *source,
        *from..*to,
        *chunk_bytes,
        source_truncations,
    );
    builder.admit_change(target.file, *chunk_bytes, truncations)?;
    builder.write_chunk(*target, *offset, data);
    Ok(Reply::Done.into())
}
