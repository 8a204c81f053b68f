//! Reads at the home of a file: the size, and the first chunk of the range if that is here, too.

use crate::builder::DecisionBuilder;
use crate::completion::{Completion, Result};
use futago_base::{ChunkId, Duration, FileId, Payload, Timestamp, View, record::Inode};
use futago_wire::Reply;

/// A read renews an access time that is older than this, or older than the last change: `relatime`.
const ACCESS_TIME_AGE: Duration = Duration::from_secs(24 * 3600);

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    offset: u64,
    length: u32,
) -> Result {
    let inode = builder.regular_file(id)?.clone();
    let payload = match chunk_here(builder, id, &inode, offset) {
        Some((chunk, start)) => {
            let end = offset.saturating_add(u64::from(length)).min(inode.size);
            let end = end.min(start.saturating_add(u64::from(inode.chunk_bytes)));
            let (from, to) = (offset - start, end.max(offset) - start);
            builder.read_chunk(chunk, from as u32, to as u32, u32::MAX)
        }
        None => Payload::empty(),
    };
    if length > 0 {
        note_access(builder, id, &inode);
    }
    Ok(Completion {
        reply: extent(builder, id, &inode, offset, 0),
        payload,
    })
}

/// The chunk at an offset of a file and the offset of its first byte, if the chunk is on this
/// server, the home of the file.
pub fn chunk_here<V: View>(
    builder: &DecisionBuilder<'_, V>,
    file: FileId,
    inode: &Inode,
    offset: u64,
) -> Option<(ChunkId, u64)> {
    let index = offset.checked_div(u64::from(inode.chunk_bytes))?;
    let chunk = ChunkId { file, index };
    let here = builder.server.map.chunk_server(chunk) == builder.server.id();
    here.then_some((chunk, chunk.start(inode.chunk_bytes)))
}

/// The reply to every reader and writer from the home of a file.
pub fn extent<V: View>(
    builder: &DecisionBuilder<'_, V>,
    id: FileId,
    inode: &Inode,
    offset: u64,
    stored: u32,
) -> Reply {
    Reply::Extent {
        offset,
        stored,
        size: inode.size,
        chunk_bytes: inode.chunk_bytes,
        writable: builder.writable(id, inode),
        reach: inode.reach,
        truncations: inode.truncations.clone(),
        state: None,
    }
}

/// Renews the access time, unless other clients have leases on the attributes: a read recalls no
/// leases.
fn note_access<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId, inode: &Inode) {
    let now = Timestamp::from(builder.stamp);
    let day_ago = Timestamp::from(builder.stamp - ACCESS_TIME_AGE);
    let is_old = inode.accessed <= inode.modified.max(inode.changed) || inode.accessed < day_ago;
    if is_old && !builder.is_leased_by_others(id) {
        builder.state.update_inode(id, |inode| inode.accessed = now);
    }
}
