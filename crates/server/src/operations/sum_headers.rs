//! Sums the headers of the buckets of a directory on this server.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{FileId, View, record::Target};
use futago_wire::Reply;

pub fn run<V: View>(builder: &DecisionBuilder<'_, V>, directory: FileId) -> Result {
    for (bucket, _) in builder.buckets_here(directory) {
        builder.unreserved(Target::Header(directory, bucket))?;
    }
    builder.no_pending_names(directory)?;
    Ok(Reply::Buckets(builder.buckets_state(directory)).into())
}
