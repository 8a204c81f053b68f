//! Sums the headers of the buckets of a directory on this server.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{
    BucketStart, FileId, Key, Value, View,
    record::{HeaderSum, Target},
};
use futago_wire::Reply;

pub fn run<V: View>(builder: &DecisionBuilder<'_, V>, directory: FileId) -> Result {
    let first = Key::Header(directory, BucketStart(0));
    let end = Key::Header(directory, BucketStart(u64::MAX));
    let mut sum = HeaderSum::default();
    for (key, value) in builder.state.range(first, end) {
        let (Key::Header(_, bucket), Value::Header(header)) = (key, value) else {
            continue;
        };
        builder.unreserved(Target::Header(directory, *bucket))?;
        builder.no_pending_entries(directory, *bucket, header)?;
        sum.add(header);
    }
    Ok(Reply::HeaderSum(sum).into())
}
