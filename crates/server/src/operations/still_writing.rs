//! Spares a client that cannot return leases yet: what it has buffered waits for another server.

use super::attributes::FILES_MAX;
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{Errno, FileId, View};
use futago_wire::Reply;

pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, files: &[FileId]) -> Result {
    if files.len() > FILES_MAX {
        return Err(Errno::EINVAL.into());
    }
    for &file in files {
        builder.extend_recall(file);
    }
    Ok(Reply::Done.into())
}
