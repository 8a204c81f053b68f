//! Takes an exclusive lease on a file.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, Key, View};
use futago_wire::Reply;

/// The reply waits until all servers of chunks have confirmed that no other client may change them.
/// It shows whether the client has the lease now.
pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId) -> Result {
    builder.regular_file(id)?;
    let state = builder.file_state(id)?;
    if builder.may_be_leased(id, &state)
        && builder.is_used_by_requester_only(id)
        && builder.renumber(id)
    {
        let session = builder.request.session;
        builder.state.put(Key::Exclusive(id), session.0);
    }
    Ok(Reply::File(state).into())
}
