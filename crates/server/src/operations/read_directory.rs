//! Lists entries of a bucket in the order of their hashes.

use crate::answer::{Checked, Result};
use crate::state::bucket::end_of;
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Key, Kind, Name, NameHash, View,
    record::{Entry, Target},
};
use futago_wire::{Failure, ListedEntry, Reply};

/// The most entries of one answer, whatever is asked for.
const ENTRIES_MAX: usize = 2048;

pub fn run<V: View>(
    turn: &Turn<'_, V>,
    directory: FileId,
    bucket: BucketStart,
    after: NameHash,
    entries_max: u32,
) -> Result {
    let header = turn.bucket(directory, bucket)?;
    let first = NameHash(after.0.saturating_add(1).max(bucket.0));
    // The directory may be gone already.
    turn.unreserved(Target::Header(directory, bucket))?;
    if !bucket.covers(header.level, first) {
        return Err(Failure::Moved {
            bucket,
            level: header.level,
        }
        .into());
    }
    let end = end_of(bucket, &header);
    let (found, complete) = take_groups(
        turn,
        directory,
        (first, end),
        (entries_max as usize).clamp(1, ENTRIES_MAX),
    );
    if header.pending > 0 {
        let last = if complete {
            end
        } else {
            found.last().map(|(hash, ..)| NameHash(hash.0 + 1))
        };
        turn.no_locators(directory, first, last)?;
    }
    let entries = found
        .into_iter()
        .map(|(_, name, entry)| list(turn, name, entry))
        .collect::<Checked<Vec<_>>>()?;
    Ok(Reply::Listing {
        entries,
        complete,
        level: header.level,
    }
    .into())
}

/// Takes entries up to a number, without separating names of one hash: the hash is where a listing
/// resumes.
fn take_groups<V: View>(
    turn: &Turn<'_, V>,
    directory: FileId,
    (first, end): (NameHash, Option<NameHash>),
    entries_max: usize,
) -> (Vec<(NameHash, Name, Entry)>, bool) {
    let (from, to) = Key::entries(directory, first, end);
    let mut found: Vec<(NameHash, Name, Entry)> = Vec::new();
    for (key, value) in turn.state.range(from, to) {
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

fn list<V: View>(turn: &Turn<'_, V>, name: Name, entry: Entry) -> Checked<ListedEntry> {
    let listed = entry.kind != Kind::Directory
        && turn.is_at_home(entry.id)
        && turn.exclusive_holder(entry.id).is_none()
        && turn.unreserved(Target::Inode(entry.id)).is_ok();
    let attributes = if listed {
        let attributes = turn.file_state(entry.id)?.attributes;
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
