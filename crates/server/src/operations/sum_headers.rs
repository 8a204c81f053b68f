//! Adds up the headers of the buckets of a directory that this server has.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{
    BucketStart, FileId, Key, Value, View,
    record::{HeaderSum, Target},
};
use futago_wire::Reply;

pub fn run<V: View>(turn: &Turn<'_, V>, directory: FileId) -> Result {
    let first = Key::Header(directory, BucketStart(0));
    let end = Key::Header(directory, BucketStart(u64::MAX));
    let mut sum = HeaderSum::default();
    for (key, value) in turn.state.range(first, end) {
        let (Key::Header(_, bucket), Value::Header(header)) = (key, value) else {
            continue;
        };
        turn.unreserved(Target::Header(directory, *bucket))?;
        turn.no_pending_entries(directory, *bucket, header)?;
        sum.add(header);
    }
    Ok(Reply::HeaderSum(sum).into())
}
