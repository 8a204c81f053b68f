//! Registers files as open, so that they outlive their names.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{FileId, View};
use futago_wire::Reply;

pub fn open<V: View>(turn: &mut Turn<'_, V>, id: FileId) -> Result {
    let state = turn.file_state(id)?;
    turn.register_open(id);
    Ok(Reply::Opened(state).into())
}

pub fn close<V: View>(turn: &mut Turn<'_, V>, id: FileId) -> Result {
    turn.lasting_file(id)?;
    turn.unregister_open(id);
    turn.remove_if_unused(id);
    if turn.state.inode(id).is_some() {
        turn.trim_if_closed(id);
        // Nobody sees what is trimmed.
        turn.answer_at_once();
    }
    Ok(Reply::Done.into())
}
