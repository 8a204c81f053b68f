//! Writes at the home of a file: the size, the times, and the first chunk of the range if that is
//! here, too.

use super::read::{chunk_here, extent};
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use crate::state::file::without_privileges;
use futago_base::{Errno, FileId, Payload, Timestamp, View, limits, record::Inode};
use futago_wire::Failure;

/// The effects of a write besides its data.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// All bytes from here to the end are written. If the file was shorter, a hole precedes them.
    pub covered_from: u64,
    /// The size becomes at least this, in bytes.
    pub end: u64,
    /// Whether the set-user-id and set-group-id bits are cleared.
    pub kill_privileges: bool,
    /// The time of the write; `None` for now.
    pub written: Option<Timestamp>,
    /// The latest truncation that the chunks of this write had applied.
    pub heard: Option<u64>,
}

impl Note {
    /// A write at the present time.
    pub const fn now(covered_from: u64, end: u64, kill_privileges: bool) -> Self {
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
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    offset: u64,
    note: Note,
    data: &Payload,
) -> Result {
    let inode = builder.regular_file(id)?;
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
        let (chunk, start) = chunk_here(builder, id, inode, offset).ok_or(Errno::EINVAL)?;
        let length = data.len() as u64;
        let fits = offset - start + length <= u64::from(inode.chunk_bytes);
        if !fits || offset.saturating_add(length) > end {
            return Err(Errno::EINVAL.into());
        }
        builder.write_chunk(chunk, (offset - start) as u32, data.clone());
    }
    let inode = note_write(builder, id, end, note)?;
    Ok(extent(builder, id, &inode, offset, data.len() as u32).into())
}

/// Lets chunks reach to `reach`, and notes the write in the inode.
pub fn note_write<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    reach: u64,
    note: Note,
) -> crate::completion::Checked<Inode> {
    let mut inode = builder.regular_file(id)?.clone();
    let now = Timestamp::from(builder.stamp);
    builder.reach_to(id, &mut inode, reach);
    inode.sparse |= note.covered_from > inode.size;
    builder.grow(id, &mut inode, note.end)?;
    inode.announced = false;
    if inode.released {
        // A restoration changes nothing that programs can see.
        builder.state.put_inode(id, inode.clone());
        return Ok(inode);
    }
    inode.modified = note.written.map_or(now, |written| written.min(now));
    inode.changed = now;
    if note.kill_privileges {
        inode.mode = without_privileges(inode.mode);
    }
    builder.state.put_inode(id, inode.clone());
    builder.drop_capabilities(id);
    Ok(inode)
}
