//! Registers files as open, so that they outlive their names.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, View};
use futago_wire::Reply;

pub fn open<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId) -> Result {
    let state = builder.file_state(id)?;
    builder.register_open(id);
    Ok(Reply::Opened(state).into())
}

pub fn close<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId) -> Result {
    builder.lasting_file(id)?;
    builder.unregister_open(id);
    builder.remove_if_unused(id);
    if builder.state.inode(id).is_some() {
        builder.trim_if_closed(id);
        // No client can see the trimmed data.
        builder.reply_at_once();
    }
    Ok(Reply::Done.into())
}
