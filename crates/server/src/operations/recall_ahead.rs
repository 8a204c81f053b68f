//! Recalls leases of other clients on files that a client expects to change next.
//!
//! Nothing waits for their return, and nothing is recorded: a change that comes too early recalls
//! them once more.

use super::attributes::FILES_MAX;
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use alloc::{collections::BTreeMap, vec::Vec};
use futago_base::{Errno, FileId, SessionId, View};
use futago_wire::{LeaseRecall, Reply};

pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, files: &[FileId]) -> Result {
    if files.len() > FILES_MAX {
        return Err(Errno::EINVAL.into());
    }
    let requester = builder.request.session;
    let mut recalls = BTreeMap::<SessionId, Vec<LeaseRecall>>::new();
    for (holder, recall) in files.iter().flat_map(|&file| builder.recalls(file)) {
        if holder != requester {
            recalls.entry(holder).or_default().push(recall);
        }
    }
    for (session, recalls) in recalls {
        builder.notify_of_recalls(session, recalls);
    }
    Ok(Reply::Done.into())
}
