//! Writes at a file's home: the part of the first chunk if that is here, too, the size and the times.

use super::read::{chunk_here, extent};
use crate::answer::Result;
use crate::state::file::without_privileges;
use crate::turn::Turn;
use futago_base::{Errno, FileId, Payload, Timestamp, View, limits, record::Inode};
use futago_wire::Failure;

/// What is noted of a write, beside where it went.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// From here to its end everything is written; if the file was shorter there is a hole before
    /// it.
    pub covered_from: u64,
    /// The size becomes at least this.
    pub end: u64,
    /// The set-user-id bits go.
    pub kill_privileges: bool,
    /// When it was written, if that is not now.
    pub written: Option<Timestamp>,
    /// Which shrinking the chunks had heard of that were written before.
    pub heard: Option<u64>,
}

impl Note {
    /// A write now.
    pub const fn now((covered_from, end): (u64, u64), kill_privileges: bool) -> Self {
        Self {
            covered_from,
            end,
            kill_privileges,
            written: None,
            heard: None,
        }
    }
}

pub fn run<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    offset: u64,
    note: Note,
    data: &Payload,
) -> Result {
    let inode = turn.regular_file(id)?;
    if note
        .heard
        .is_some_and(|heard| heard < inode.truncations.latest)
    {
        return Err(Failure::Changed.into());
    }
    let end = note.end;
    if end > limits::FILE_BYTES {
        return Err(Errno::EFBIG.into());
    }
    if !data.is_empty() {
        let (chunk, start) = chunk_here(turn, id, inode, offset).ok_or(Errno::EINVAL)?;
        let length = data.len() as u64;
        let fits = offset - start + length <= u64::from(inode.chunk_bytes);
        if !fits || offset.saturating_add(length) > end {
            return Err(Errno::EINVAL.into());
        }
        turn.write_chunk(chunk, (offset - start) as u32, data.clone());
    }
    let inode = note_write(turn, id, end, note)?;
    Ok(extent(turn, id, &inode, offset, data.len() as u32).into())
}

/// Lets chunks reach to `reach` and notes that the file was written.
pub fn note_write<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    reach: u64,
    note: Note,
) -> crate::answer::Checked<Inode> {
    let mut inode = turn.regular_file(id)?.clone();
    let now = Timestamp::from(turn.stamp);
    turn.reach_to(id, &mut inode, reach);
    inode.sparse |= note.covered_from > inode.size;
    turn.grow(id, &mut inode, note.end)?;
    inode.announced = false;
    inode.modified = note.written.map_or(now, |written| written.min(now));
    inode.changed = now;
    if note.kill_privileges {
        inode.mode = without_privileges(inode.mode);
    }
    turn.state.put_inode(id, inode.clone());
    turn.drop_capabilities(id);
    Ok(inode)
}
