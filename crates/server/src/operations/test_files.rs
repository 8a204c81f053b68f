//! Tests the attributes of files for a search.

use super::attributes::FILES_MAX;
use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal, Result};
use alloc::boxed::Box;
use futago_base::{Errno, FileId, View, search::Tests};
use futago_wire::{
    Failure, Reply,
    search::{Detail, Verdict},
};

pub fn run<V: View>(
    builder: &DecisionBuilder<'_, V>,
    files: &[FileId],
    tests: &Tests,
    detail: Detail,
) -> Result {
    if files.len() > FILES_MAX {
        return Err(Errno::EINVAL.into());
    }
    let verdicts = files.iter().map(|id| judge(builder, *id, tests, detail));
    Ok(Reply::Tested(verdicts.collect::<Checked<_>>()?).into())
}

fn judge<V: View>(
    builder: &DecisionBuilder<'_, V>,
    id: FileId,
    tests: &Tests,
    detail: Detail,
) -> Checked<Verdict> {
    let state = match builder.file_state(id) {
        Ok(state) => state,
        Err(Refusal::Failure(Failure::Errno(_))) => return Ok(Verdict::Gone),
        Err(refusal) => return Err(refusal),
    };
    let attributes = state.attributes;
    Ok(match state.directory {
        Some(directory) if !directory.here.is_whole() => Verdict::Spread,
        _ if !tests.admit_attributes(&attributes) => Verdict::Fails,
        _ => Verdict::Passes((detail == Detail::Attributes).then(|| Box::new(attributes))),
    })
}
