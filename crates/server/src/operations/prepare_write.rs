//! Lets chunks be written before the file's home hears of the write that they belong to: nobody is
//! shown a size then whose data is still under way.

use super::read::extent;
use crate::answer::{Checked, Result};
use crate::turn::Turn;
use futago_base::{Errno, FileId, View, limits, record::Inode};

/// Only while the session has the file open may it write beyond the size: the end of that takes
/// away what a client that is gone has left there.
pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId, reach: u64) -> Result {
    let size = turn.regular_file(id)?.size;
    if reach > limits::FILE_BYTES {
        return Err(Errno::EFBIG.into());
    }
    let is_open = turn.is_open_here(id);
    let inode = lead_to(turn, id, if is_open { reach } else { reach.min(size) })?;
    Ok(extent(turn, id, &inode, 0, 0).into())
}

/// Lets chunks be written up to `reach`, by somebody who tells of that when it is done.
pub fn lead_to<V: View>(turn: &mut Turn<'_, V>, id: FileId, reach: u64) -> Checked<Inode> {
    let mut inode = turn.regular_file(id)?.clone();
    turn.reach_to(id, &mut inode, reach);
    inode.announced = false;
    turn.state.put_inode(id, inode.clone());
    Ok(inode)
}
