//! Takes away what was written beyond a file's size.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{FileId, View};
use futago_wire::Reply;

pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId) -> Result {
    let inode = turn.regular_file(id)?;
    if inode.ahead {
        turn.shrink(id, inode.size)?;
    }
    Ok(Reply::Done.into())
}
