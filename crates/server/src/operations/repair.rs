//! Mends one piece of damage that a check has found.

use super::{chunks::check_chunk_bytes, inspect::key_of};
use crate::answer::{Checked, Result};
use crate::state::bucket::end_of;
use crate::turn::Turn;
use bytes::Bytes;
use futago_base::{
    BucketStart, Errno, FileId, Key, Kind, NameHash, Payload, View, limits, record::Inode,
};
use futago_wire::{
    Reply,
    check::{Inspected, InspectedKey, Repair},
};

pub fn run<V: View>(turn: &mut Turn<'_, V>, repair: &Repair) -> Result {
    match repair {
        Repair::Put(record) => put(turn, record)?,
        Repair::Remove(key) => remove(turn, key),
        Repair::MakeRoot => make_root(turn),
        Repair::RemoveFile(id) => turn.remove_file(*id),
        Repair::SetLinks(id, links) => turn.state.update_inode(*id, |inode| inode.links = *links),
        Repair::SetParent(id, parent) => turn.install_parent(*id, *parent),
        Repair::RecountBucket(directory, bucket) => recount(turn, *directory, *bucket),
        Repair::Cut {
            file,
            chunk_bytes,
            size,
        } => {
            check_chunk_bytes(*chunk_bytes)?;
            turn.cut_chunks(*file, *chunk_bytes, *size);
        }
    }
    Ok(Reply::Done.into())
}

/// Puts a record. Errors: `EINVAL` for one that no server could work with.
fn put<V: View>(turn: &mut Turn<'_, V>, record: &Inspected) -> Checked<()> {
    let key = key_of(&record.key());
    match record {
        Inspected::Inode { inode, .. } if has_chunk_size(inode) => {
            turn.state.put(key, Inode::clone(inode));
        }
        Inspected::Header { bucket, header, .. } if bucket.is_range(header.level) => {
            turn.state.put(key, *header);
        }
        Inspected::Entry { entry, .. } => turn.state.put(key, *entry),
        Inspected::Chunk { chunk, end } if (1..=limits::CHUNK_BYTES_MAX).contains(end) => {
            let last = Payload::from(Bytes::from_static(&[0]));
            turn.write_chunk(*chunk, end - 1, last);
        }
        Inspected::Admitted { file, heard } => turn.admit_file(*file, *heard),
        _ => return Err(Errno::EINVAL.into()),
    }
    Ok(())
}

fn has_chunk_size(inode: &Inode) -> bool {
    inode.kind != Kind::File
        || (limits::CHUNK_BYTES_MIN..=limits::CHUNK_BYTES_MAX).contains(&inode.chunk_bytes)
}

fn remove<V: View>(turn: &mut Turn<'_, V>, key: &InspectedKey) {
    match key {
        InspectedKey::Inode(id) => turn.remove_node(*id),
        InspectedKey::Chunk(chunk) => turn.remove_chunk(*chunk),
        InspectedKey::Header(..) | InspectedKey::Entry(..) | InspectedKey::Admitted(_) => {
            turn.state.delete(key_of(key))
        }
    }
}

/// Leaves the bucket that the root may still have.
fn make_root<V: View>(turn: &mut Turn<'_, V>) {
    let first = turn.state.header(FileId::ROOT, BucketStart(0));
    turn.put_root();
    if let Some(header) = first {
        turn.state
            .put(Key::Header(FileId::ROOT, BucketStart(0)), header);
    }
}

fn recount<V: View>(turn: &mut Turn<'_, V>, directory: FileId, bucket: BucketStart) {
    let Some(mut header) = turn.state.header(directory, bucket) else {
        return;
    };
    let entries = turn.entries_between(directory, NameHash(bucket.0), end_of(bucket, &header));
    header.entries = entries.len() as u64;
    header.subdirectories = entries
        .iter()
        .filter(|(_, entry)| entry.kind == Kind::Directory)
        .count() as u32;
    turn.state.put(Key::Header(directory, bucket), header);
}
