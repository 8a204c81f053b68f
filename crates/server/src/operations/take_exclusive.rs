//! Takes an exclusive lease on a file.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{FileId, Key, View};
use futago_wire::Reply;

/// The reply waits until all servers of chunks know that nobody else may change them. It tells whether there is
/// such a lease now.
pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId) -> Result {
    turn.regular_file(id)?;
    let state = turn.file_state(id)?;
    if turn.may_be_leased(id, &state) && turn.is_used_by_nobody_else(id) && turn.renumber(id) {
        let session = turn.request.session;
        turn.state.put(Key::Exclusive(id), session.0);
    }
    Ok(Reply::File(state).into())
}
