//! Repairs one piece of damage that a check has found.

use super::{chunks::check_chunk_bytes, inspect::key_of};
use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use crate::state::bucket::end_of;
use bytes::Bytes;
use futago_base::{
    BucketStart, Errno, FileId, Key, Kind, NameHash, Payload, View, limits, record::Inode,
};
use futago_wire::{
    Reply,
    inspection::{Inspected, InspectedKey, Repair},
};

pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, repair: &Repair) -> Result {
    match repair {
        Repair::Put(record) => put(builder, record)?,
        Repair::Remove(key) => remove(builder, key),
        Repair::MakeRoot => make_root(builder),
        Repair::RemoveFile(id) => builder.remove_file(*id),
        Repair::SetLinks(id, links) => builder
            .state
            .update_inode(*id, |inode| inode.links = *links),
        Repair::SetParent(id, parent) => builder.install_parent(*id, *parent),
        Repair::RecountBucket(directory, bucket) => recount(builder, *directory, *bucket),
        Repair::Cut {
            file,
            chunk_bytes,
            size,
        } => {
            check_chunk_bytes(*chunk_bytes)?;
            builder.cut_chunks(*file, *chunk_bytes, *size);
        }
    }
    Ok(Reply::Done.into())
}

/// Puts a record. Errors: `EINVAL` for an invalid record.
fn put<V: View>(builder: &mut DecisionBuilder<'_, V>, record: &Inspected) -> Checked<()> {
    let key = key_of(&record.key());
    match record {
        Inspected::Inode { inode, .. } if has_chunk_size(inode) => {
            builder.state.put(key, Inode::clone(inode));
        }
        Inspected::Header { bucket, header, .. } if bucket.is_range(header.level) => {
            builder.state.put(key, *header);
        }
        Inspected::Entry { entry, .. } => builder.state.put(key, *entry),
        Inspected::Chunk { chunk, end } if (1..=limits::CHUNK_BYTES_MAX).contains(end) => {
            let last = Payload::from(Bytes::from_static(&[0]));
            builder.write_chunk(*chunk, end - 1, last);
        }
        Inspected::Admitted { file, heard } => builder.admit_file(*file, *heard),
        _ => return Err(Errno::EINVAL.into()),
    }
    Ok(())
}

fn has_chunk_size(inode: &Inode) -> bool {
    inode.kind != Kind::File
        || (limits::CHUNK_BYTES_MIN..=limits::CHUNK_BYTES_MAX).contains(&inode.chunk_bytes)
}

fn remove<V: View>(builder: &mut DecisionBuilder<'_, V>, key: &InspectedKey) {
    match key {
        InspectedKey::Inode(id) => builder.remove_node(*id),
        InspectedKey::Chunk(chunk) => builder.remove_chunk(*chunk),
        InspectedKey::Header(..) | InspectedKey::Entry(..) | InspectedKey::Admitted(_) => {
            builder.state.delete(key_of(key))
        }
    }
}

/// Makes the inode of the root directory, and keeps the first bucket that the root may still have.
fn make_root<V: View>(builder: &mut DecisionBuilder<'_, V>) {
    let first = builder.state.header(FileId::ROOT, BucketStart(0));
    builder.put_root();
    if let Some(header) = first {
        builder
            .state
            .put(Key::Header(FileId::ROOT, BucketStart(0)), header);
    }
}

fn recount<V: View>(builder: &mut DecisionBuilder<'_, V>, directory: FileId, bucket: BucketStart) {
    let Some(mut header) = builder.state.header(directory, bucket) else {
        return;
    };
    let entries = builder.entries_between(directory, NameHash(bucket.0), end_of(bucket, &header));
    header.entries = entries.len() as u64;
    header.subdirectories = entries
        .iter()
        .filter(|(_, entry)| entry.kind == Kind::Directory)
        .count() as u32;
    builder.state.put(Key::Header(directory, bucket), header);
}
