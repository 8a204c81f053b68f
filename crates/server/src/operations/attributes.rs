//! Replies with the attributes of files.

use crate::builder::DecisionBuilder;
use crate::completion::{Refusal, Result};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, View};
use futago_wire::{Failure, Reply};

/// The most files of one request.
pub(super) const FILES_MAX: usize = 4096;

pub fn run<V: View>(builder: &DecisionBuilder<'_, V>, ids: &[FileId]) -> Result {
    if ids.len() > FILES_MAX {
        return Err(Errno::EINVAL.into());
    }
    let mut files = Vec::with_capacity(ids.len());
    for &id in ids {
        match builder.file_state(id) {
            Ok(state) => files.push(Ok(state)),
            Err(Refusal::Failure(Failure::Errno(errno))) => files.push(Err(errno)),
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(Reply::Files(files).into())
}
