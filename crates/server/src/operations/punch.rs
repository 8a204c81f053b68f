//! Makes holes and allocates, at a file's home.

use super::read::extent;
use super::write::{Note, note_write};
use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{Errno, FileId, View, limits};

pub fn run<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    from: u64,
    to: u64,
    grow_to: u64,
) -> Result {
    let inode = turn.regular_file(id)?;
    if to.max(grow_to) > limits::FILE_BYTES {
        return Err(Errno::EFBIG.into());
    }
    let chunk_bytes = inode.chunk_bytes;
    let growth = grow_to.saturating_sub(inode.size);
    let servers = u64::from(turn.server.map.server_count());
    if from == to && growth > turn.state.space().free_bytes().saturating_mul(servers) {
        return Err(Errno::ENOSPC.into());
    }
    turn.punch_chunks(id, (from, to), chunk_bytes);
    let inode = note_write(turn, id, 0, Note::now((u64::MAX, grow_to), false))?;
    Ok(extent(turn, id, &inode, from, 0).into())
}
