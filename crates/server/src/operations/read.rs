//! Reads at a file's home: its size, and what lies in chunk 0.

use crate::answer::{Answer, Result};
use crate::state::size::writable;
use crate::turn::Turn;
use futago_base::{ChunkId, Duration, FileId, Timestamp, View, record::Inode};
use futago_wire::Reply;

/// The access time is renewed when it is older than this, or than the last change: `relatime`.
const ACCESS_TIME_AGE: Duration = Duration::from_secs(24 * 3600);

pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId, offset: u64, length: u32) -> Result {
    let inode = turn.regular_file(id)?.clone();
    let first_chunk_end = inode.size.min(u64::from(inode.chunk_bytes));
    let end = offset
        .saturating_add(u64::from(length))
        .min(first_chunk_end);
    let chunk = ChunkId { file: id, index: 0 };
    let from = offset.min(end) as u32;
    let payload = turn.read_chunk(chunk, from, end as u32, u32::MAX);
    if length > 0 {
        note_access(turn, id, &inode);
    }
    Ok(Answer {
        reply: extent(&inode, offset, 0),
        payload,
    })
}

/// What a file's home tells everyone who reads or writes it.
pub fn extent(inode: &Inode, offset: u64, stored: u32) -> Reply {
    Reply::Extent {
        offset,
        stored,
        size: inode.size,
        chunk_bytes: inode.chunk_bytes,
        writable: writable(inode),
        truncations: inode.truncations.clone(),
    }
}

fn note_access<V: View>(turn: &mut Turn<'_, V>, id: FileId, inode: &Inode) {
    let now = Timestamp::from(turn.now);
    let day_ago = Timestamp::from(turn.now - ACCESS_TIME_AGE);
    if inode.accessed <= inode.modified.max(inode.changed) || inode.accessed < day_ago {
        turn.state.update_inode(id, |inode| inode.accessed = now);
    }
}
