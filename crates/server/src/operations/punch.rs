//! Punches holes and allocates, at the home of a file.

use super::read::extent;
use super::write::{Note, note_write};
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{Errno, FileId, View, limits};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    from: u64,
    to: u64,
    grow_to: u64,
) -> Result {
    let inode = builder.regular_file(id)?;
    if to.max(grow_to) > limits::FILE_BYTES {
        return Err(Errno::EFBIG.into());
    }
    let chunk_bytes = inode.chunk_bytes;
    let growth = grow_to.saturating_sub(inode.size);
    let servers = u64::from(builder.server.map.server_count());
    if from == to && growth > builder.state.space().free_bytes().saturating_mul(servers) {
        return Err(Errno::ENOSPC.into());
    }
    // Data beyond the size belongs to appends under way.
    let to = if grow_to == 0 { to.min(inode.size) } else { to };
    builder.punch_chunks(id, from..to.max(from), chunk_bytes);
    let inode = note_write(builder, id, 0, Note::now(u64::MAX, grow_to, false))?;
    Ok(extent(builder, id, &inode, from, 0).into())
}
