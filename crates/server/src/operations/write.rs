//! Writes at a file's home: the part of the first chunk if that is here, too, the size and the times.

use super::read::{chunk_here, extent};
use crate::answer::Result;
use crate::state::{file::without_privileges, size::grow};
use crate::turn::Turn;
use futago_base::{Errno, FileId, Payload, Timestamp, View, limits, record::Inode};

pub fn run<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    offset: u64,
    end: u64,
    kill_privileges: bool,
    data: &Payload,
) -> Result {
    let inode = turn.regular_file(id)?;
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
    let inode = note_write(turn, id, end, end, kill_privileges)?;
    Ok(extent(&inode, offset, data.len() as u32).into())
}

/// Lets chunks reach to `reach`, raises the size to at least `end` and notes that the file was
/// written.
pub fn note_write<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    reach: u64,
    end: u64,
    kill_privileges: bool,
) -> crate::answer::Checked<Inode> {
    let mut inode = turn.regular_file(id)?.clone();
    let now = Timestamp::from(turn.now);
    turn.reach_to(id, &mut inode, reach);
    grow(&mut inode, end);
    inode.announced = false;
    inode.modified = now;
    inode.changed = now;
    if kill_privileges {
        inode.mode = without_privileges(inode.mode);
    }
    turn.state.put_inode(id, inode.clone());
    Ok(inode)
}
