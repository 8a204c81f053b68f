//! Lets a client write chunks before the home of the file knows of the write. So no client sees a
//! size whose data is still under way.

use super::read::extent;
use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use futago_base::{Errno, FileId, View, limits, record::Inode};

/// The session may write beyond the size only while it has the file open. The end of the session
/// then removes the data that a dead client has left there.
pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId, reach: u64) -> Result {
    let size = builder.regular_file(id)?.size;
    if reach > limits::FILE_BYTES {
        return Err(Errno::EFBIG.into());
    }
    let is_open = builder.is_open_here(id);
    let inode = extend_reach(builder, id, if is_open { reach } else { reach.min(size) })?;
    Ok(extent(builder, id, &inode, 0, 0).into())
}

/// Lets chunks be written up to `reach` by a client that reports to the home afterwards.
pub fn extend_reach<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    reach: u64,
) -> Checked<Inode> {
    let mut inode = builder.regular_file(id)?.clone();
    builder.reach_to(id, &mut inode, reach);
    inode.announced = false;
    builder.state.put_inode(id, inode.clone());
    Ok(inode)
}
