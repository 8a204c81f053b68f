//! Replies with the attributes of a file, and of those that the client expects to need next.

use super::attributes::FILES_MAX;
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use core::iter;
use futago_base::{Errno, FileId, View};
use futago_wire::Reply;

pub fn run<V: View>(builder: &DecisionBuilder<'_, V>, id: FileId, ahead: &[FileId]) -> Result {
    if ahead.len() >= FILES_MAX {
        return Err(Errno::EINVAL.into());
    }
    let first = builder.file_state(id)?;
    let others = ahead
        .iter()
        .filter(|file| is_disclosed(builder, **file))
        .filter_map(|file| builder.file_state(*file).ok());
    let files = iter::once(first).chain(others).map(Ok).collect();
    Ok(Reply::Files(files).into())
}

/// Whether no other client may have changed a file without the knowledge of this server.
fn is_disclosed<V: View>(builder: &DecisionBuilder<'_, V>, file: FileId) -> bool {
    let holder = builder.exclusive_holder(file);
    holder.is_none_or(|holder| holder == builder.request.session)
}
