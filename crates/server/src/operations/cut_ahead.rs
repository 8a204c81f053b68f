//! Removes the data beyond the size of a file.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, View};
use futago_wire::Reply;

pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId) -> Result {
    let inode = builder.regular_file(id)?;
    if inode.ahead {
        builder.truncate(id, inode.size)?;
    }
    Ok(Reply::Done.into())
}
