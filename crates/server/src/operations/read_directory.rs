//! Lists entries of a bucket in the order of their hashes.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use crate::state::bucket::end_of;
use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Key, Kind, Name, NameHash, View,
    record::{Entry, Target},
};
use futago_wire::{Failure, ListedEntry, Reply};

/// The most entries in one reply.
const ENTRIES_MAX: usize = 2048;

pub fn run<V: View>(
    builder: &DecisionBuilder<'_, V>,
    directory: FileId,
    bucket: BucketStart,
    after: NameHash,
    entries_max: u32,
) -> Result {
    let header = builder.bucket(directory, bucket)?;
    let first = NameHash(after.0.saturating_add(1).max(bucket.0));
    // A transaction may be about to remove the directory.
    builder.unreserved(Target::Header(directory, bucket))?;
    if !bucket.covers(header.level, first) {
        return Err(Failure::Moved {
            bucket,
            level: header.level,
        }
        .into());
    }
    let end = end_of(bucket, &header);
    let (found, complete) = take_groups(
        builder,
        directory,
        first,
        end,
        (entries_max as usize).clamp(1, ENTRIES_MAX),
    );
    if header.pending > 0 {
        let last = if complete {
            end
        } else {
            found.last().map(|(hash, ..)| NameHash(hash.0 + 1))
        };
        builder.no_locators(directory, first, last)?;
    }
    let entries = found
        .into_iter()
        .map(|(_, name, entry)| list(builder, name, entry))
        .collect::<Checked<Vec<_>>>()?;
    Ok(Reply::Listing {
        entries,
        complete,
        level: header.level,
        directory: None,
    }
    .into())
}

/// Takes up to `entries_max` entries and never separates names of one hash, because a listing
/// resumes after a hash.
fn take_groups<V: View>(
    builder: &DecisionBuilder<'_, V>,
    directory: FileId,
    first: NameHash,
    end: Option<NameHash>,
    entries_max: usize,
) -> (Vec<(NameHash, Name, Entry)>, bool) {
    let (from, to) = Key::entries(directory, first, end);
    let mut found: Vec<(NameHash, Name, Entry)> = Vec::new();
    for (key, value) in builder.state.range(from, to) {
        let (Key::Entry(_, hash, name), Some(entry)) = (key, value.entry()) else {
            continue;
        };
        if found.len() >= entries_max && found.last().is_some_and(|(last, ..)| last != hash) {
            return (found, false);
        }
        found.push((*hash, name.clone(), *entry));
    }
    (found, true)
}

fn list<V: View>(
    builder: &DecisionBuilder<'_, V>,
    name: Name,
    entry: Entry,
) -> Checked<ListedEntry> {
    let listed = entry.kind != Kind::Directory
        && builder.is_at_home(entry.id)
        && builder.exclusive_holder(entry.id).is_none()
        && builder.unreserved(Target::Inode(entry.id)).is_ok();
    let attributes = if listed {
        let attributes = builder.file_state(entry.id)?.attributes;
        attributes.allocated_bytes.map(|_| attributes)
    } else {
        None
    };
    Ok(ListedEntry {
        name,
        entry,
        attributes,
    })
}
