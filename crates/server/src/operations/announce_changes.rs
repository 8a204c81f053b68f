//! Has changes of a file's data be told to its home first, so that leases on the file cover its data.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{FileId, View};
use futago_wire::Reply;

/// The reply waits until all servers of chunks know. Nothing is done where nobody could get a lease now,
/// or not one that covers the data.
pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId) -> Result {
    turn.regular_file(id)?;
    let state = turn.file_state(id)?;
    if turn.may_be_leased(id, &state) {
        turn.announce_changes(id);
    }
    Ok(Reply::Done.into())
}
