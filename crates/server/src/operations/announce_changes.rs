//! Makes clients announce changes of the data of a file to its home first, so that leases on the
//! file cover its data.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, View};
use futago_wire::Reply;

/// The reply waits until all servers of chunks have confirmed. Nothing is done where no lease can
/// be granted now, or none that covers the data. An exclusive holder announces its changes before
/// it gives up that lease.
pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId) -> Result {
    builder.regular_file(id)?;
    let state = builder.file_state(id)?;
    let is_exclusive = builder.exclusive_holder(id) == Some(builder.request.session);
    if is_exclusive || builder.may_be_leased(id, &state) {
        builder.announce_changes(id);
    }
    Ok(Reply::Done.into())
}
