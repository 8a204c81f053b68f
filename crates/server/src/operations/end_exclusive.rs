//! Ends an exclusive lease whose holder goes on to cache what it has written, and shares it.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, Key, View, record::Door};
use futago_wire::Reply;

/// The holder has an ordinary lease then, so the requests that have recalled the exclusive one run
/// again. Those that change the file recall the ordinary lease.
pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId, door: &Door) -> Result {
    builder.regular_file(id)?;
    let state = builder.file_state(id)?;
    let session = builder.request.session;
    if builder.exclusive_holder(id) == Some(session) {
        builder.state.delete(Key::Exclusive(id));
        builder.state.delete(Key::Recall(id));
        builder.forget_copies(id);
        builder.note_sharer(door);
        builder.state.put(Key::Writer(id), session.0);
        builder.effects.unblocked_nodes.push(id);
    }
    Ok(Reply::File(state).into())
}
