//! Reads at a file's home: its size, and what lies in the first chunk of the range if that is here, too.

use crate::answer::{Answer, Result};
use crate::turn::Turn;
use futago_base::{ChunkId, Duration, FileId, Payload, Timestamp, View, record::Inode};
use futago_wire::Reply;

/// The access time is renewed when it is older than this, or than the last change: `relatime`.
const ACCESS_TIME_AGE: Duration = Duration::from_secs(24 * 3600);

pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId, offset: u64, length: u32) -> Result {
    let inode = turn.regular_file(id)?.clone();
    let payload = match chunk_here(turn, id, &inode, offset) {
        Some((chunk, start)) => {
            let end = offset.saturating_add(u64::from(length)).min(inode.size);
            let end = end.min(start.saturating_add(u64::from(inode.chunk_bytes)));
            let (from, to) = (offset - start, end.max(offset) - start);
            turn.read_chunk(chunk, from as u32, to as u32, u32::MAX)
        }
        None => Payload::empty(),
    };
    if length > 0 {
        note_access(turn, id, &inode);
    }
    Ok(Answer {
        reply: extent(turn, id, &inode, offset, 0),
        payload,
    })
}

/// The chunk in which an offset of a file lies, and its first byte within the file, if the chunk belongs to
/// this server, which is the file's home.
pub fn chunk_here<V: View>(
    turn: &Turn<'_, V>,
    file: FileId,
    inode: &Inode,
    offset: u64,
) -> Option<(ChunkId, u64)> {
    let width = u64::from(inode.chunk_bytes);
    let index = offset.checked_div(width)?;
    let chunk = ChunkId { file, index };
    let here = turn.server.map.chunk_server(chunk) == turn.server.id();
    here.then_some((chunk, index * width))
}

/// What a file's home tells everyone who reads or writes it.
pub fn extent<V: View>(
    turn: &Turn<'_, V>,
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
        writable: turn.writable(id, inode),
        reach: inode.reach,
        truncations: inode.truncations.clone(),
        state: None,
    }
}

/// Readers call no leases back: the access time stays where it is while others rely on the attributes.
fn note_access<V: View>(turn: &mut Turn<'_, V>, id: FileId, inode: &Inode) {
    let now = Timestamp::from(turn.stamp);
    let day_ago = Timestamp::from(turn.stamp - ACCESS_TIME_AGE);
    let is_old = inode.accessed <= inode.modified.max(inode.changed) || inode.accessed < day_ago;
    if is_old && !turn.is_leased_by_others(id) {
        turn.state.update_inode(id, |inode| inode.accessed = now);
    }
}
