//! Hands out the next range at the end of a file, and stores what of it falls into chunk 0. That part
//! must come along: the caller is told to look again if it took the file for longer.
//!
//! A range within chunk 0 is appended with that. Of another one the file's size does not tell
//! before its writer has finished it; one who does not have the file open, and so could leave data
//! beyond the size behind, finishes at once.

use super::prepare_write::lead_to;
use super::read::extent;
use super::write::{Note, note_write};
use crate::answer::Result;
use crate::turn::Turn;
use core::ops::Range;
use futago_base::{ChunkId, Errno, FileId, Payload, View, limits};
use futago_wire::Failure;

pub fn run<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    length: u32,
    kill_privileges: bool,
    data: &Payload,
) -> Result {
    let inode = turn.regular_file(id)?;
    let offset = turn.append_start(id, inode.size);
    let end = offset + u64::from(length);
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
        turn.write_chunk(chunk, offset as u32, data.slice(0, stored));
    }
    let inode = if end > chunk_bytes && turn.is_open_here(id) {
        turn.give_range(id, offset..end);
        lead_to(turn, id, end)?
    } else {
        note_write(turn, id, end, Note::now((offset, end), kill_privileges))?
    };
    Ok(extent(turn, id, &inode, offset, stored as u32).into())
}

/// The data of a range that [`run`] has given is where it belongs.
pub fn finish<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    range: &Range<u64>,
    kill_privileges: bool,
    heard: u64,
) -> Result {
    if turn.regular_file(id)?.truncations.latest > heard {
        return Err(Failure::Changed.into());
    }
    turn.settle_range(id, range)?;
    let inode = note_write(
        turn,
        id,
        range.end,
        Note::now((range.start, range.end), kill_privileges),
    )?;
    Ok(extent(turn, id, &inode, range.start, 0).into())
}
