//! Lists the entries of a directory that this server has.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use crate::state::bucket::end_of;
use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Key, NameHash, View,
    record::{Header, Target},
};
use futago_wire::{Failure, ListedEntry, Reply};

/// The most entries in one reply.
const ENTRIES_MAX: usize = 2048;

pub fn run<V: View>(
    builder: &DecisionBuilder<'_, V>,
    directory: FileId,
    after: NameHash,
    entries_max: u32,
) -> Result {
    let most = (entries_max as usize).clamp(1, ENTRIES_MAX);
    let buckets: Vec<_> = builder.buckets_here(directory).collect();
    for &(bucket, header) in &buckets {
        builder.unreserved(Target::Header(directory, bucket))?;
        builder.no_pending_entries(directory, bucket, header)?;
    }
    let (entries, complete) = take(builder, directory, after, most);
    for listed in &entries {
        check_served(&buckets, listed.name.hash())?;
    }
    Ok(Reply::ListedHere { entries, complete }.into())
}

/// Up to `most` entries, and whether there are no more. Names of one hash are not separated.
fn take<V: View>(
    builder: &DecisionBuilder<'_, V>,
    directory: FileId,
    after: NameHash,
    most: usize,
) -> (Vec<ListedEntry>, bool) {
    let first = NameHash(after.0.saturating_add(1));
    let (from, to) = Key::entries(directory, first, None);
    let mut entries: Vec<ListedEntry> = Vec::new();
    for (key, value) in builder.state.range(from, to) {
        let (Key::Entry(_, hash, name), Some(entry)) = (key, value.entry()) else {
            continue;
        };
        let last = entries.last().map(|last| last.name.hash());
        if entries.len() >= most && last.is_some_and(|last| last != *hash) {
            return (entries, false);
        }
        entries.push(ListedEntry {
            name: name.clone(),
            entry: *entry,
            attributes: None,
        });
    }
    (entries, true)
}

/// A name whose bucket is still on its way here is not served yet, and the former server no longer
/// has it. So the client asks again.
fn check_served(buckets: &[(BucketStart, &Header)], hash: NameHash) -> Checked<()> {
    let covers = |&(bucket, header): &(BucketStart, &Header)| {
        hash.0 >= bucket.0 && end_of(bucket, header).is_none_or(|end| hash < end)
    };
    match buckets.iter().any(covers) {
        true => Ok(()),
        false => Err(Failure::Busy.into()),
    }
}
