//! Grants the next range at the end of a file, and stores the part of it in chunk 0. The request
//! must bring that part. Otherwise it fails with `Changed`, because the client took the file for
//! longer.
//!
//! An append within chunk 0 is complete at once. Another append raises the size only when its
//! writer has finished it. A client without the file open finishes at once, because it could leave
//! data beyond the size behind.

use super::prepare_write::extend_reach;
use super::read::extent;
use super::write::{Note, note_write};
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use core::ops::Range;
use futago_base::{ChunkId, Errno, FileId, Payload, View, limits};
use futago_wire::Failure;

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    length: u32,
    kill_privileges: bool,
    data: &Payload,
) -> Result {
    let inode = builder.regular_file(id)?;
    let offset = builder.append_start(id, inode.size);
    let end = offset.saturating_add(u64::from(length));
    if end > limits::FILE_BYTES {
        return Err(Errno::EFBIG.into());
    }
    if data.len() > length as usize {
        return Err(Errno::EINVAL.into());
    }
    let chunk_bytes = u64::from(inode.chunk_bytes);
    let room = chunk_bytes.saturating_sub(offset);
    let stored = usize::try_from(room.min(u64::from(length))).unwrap_or(usize::MAX);
    if data.len() < stored {
        return Err(Failure::Changed.into());
    }
    if stored > 0 {
        let chunk = ChunkId { file: id, index: 0 };
        builder.write_chunk(chunk, offset as u32, data.slice(0, stored));
    }
    let inode = if end > chunk_bytes && builder.is_open_here(id) {
        builder.grant_range(id, offset..end);
        extend_reach(builder, id, end)?
    } else {
        note_write(builder, id, end, Note::now(offset, end, kill_privileges))?
    };
    Ok(extent(builder, id, &inode, offset, stored as u32).into())
}

/// Finishes a range that [`run`] has granted and whose data is written.
pub fn finish<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    range: &Range<u64>,
    kill_privileges: bool,
    heard: u64,
) -> Result {
    if builder.regular_file(id)?.truncations.latest > heard {
        return Err(Failure::Changed.into());
    }
    builder.settle_range(id, range)?;
    let inode = note_write(
        builder,
        id,
        range.end,
        Note::now(range.start, range.end, kill_privileges),
    )?;
    Ok(extent(builder, id, &inode, range.start, 0).into())
}
