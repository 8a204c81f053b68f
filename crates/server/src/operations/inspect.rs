//! Lists records for a check of the file system.

use crate::answer::Result;
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{ChunkId, FileId, Key, Value, View};
use futago_wire::{
    Reply,
    step::{InspectCursor, Inspected},
};

/// The most records of one answer.
const RECORDS_MAX: usize = 2048;

pub fn run<V: View>(turn: &Turn<'_, V>, after: Option<&InspectCursor>, records_max: u32) -> Result {
    let from = after.map_or(Key::Inode(FileId(0)), key_of);
    let end = Key::Chunk(ChunkId {
        file: FileId(u64::MAX),
        index: u64::MAX,
    });
    let limit = (records_max as usize).clamp(1, RECORDS_MAX);
    let mut records = Vec::new();
    let mut last = None;
    for (key, value) in turn.state.range(from.clone(), end) {
        if after.is_some() && *key == from {
            continue;
        }
        if let Some((record, cursor)) = inspect(turn, key, value) {
            records.push(record);
            last = Some(cursor);
        }
        if records.len() == limit {
            return Ok(Reply::Records {
                records,
                next: last,
            }
            .into());
        }
    }
    Ok(Reply::Records {
        records,
        next: None,
    }
    .into())
}

fn key_of(cursor: &InspectCursor) -> Key {
    match cursor {
        InspectCursor::Inode(id) => Key::Inode(*id),
        InspectCursor::Header(directory, bucket) => Key::Header(*directory, *bucket),
        InspectCursor::Entry(directory, hash, name) => Key::Entry(*directory, *hash, name.clone()),
        InspectCursor::Chunk(chunk) => Key::Chunk(*chunk),
    }
}

fn inspect<V: View>(
    turn: &Turn<'_, V>,
    key: &Key,
    value: &Value,
) -> Option<(Inspected, InspectCursor)> {
    match (key, value) {
        (Key::Inode(id), Value::Inode(inode)) => {
            let record = Inspected::Inode {
                id: *id,
                kind: inode.kind,
                links: inode.links,
                size: inode.size,
                chunk_bytes: inode.chunk_bytes,
                parent: inode.place.map(|place| place.parent),
                open: turn.state.get(&Key::Opens(*id)).is_some(),
            };
            Some((record, InspectCursor::Inode(*id)))
        }
        (Key::Header(directory, bucket), Value::Header(header)) => {
            let (directory, bucket) = (*directory, *bucket);
            let record = Inspected::Header {
                directory,
                bucket,
                header: *header,
            };
            Some((record, InspectCursor::Header(directory, bucket)))
        }
        (Key::Entry(directory, hash, name), Value::Entry(entry)) => {
            let record = Inspected::Entry {
                directory: *directory,
                name: name.clone(),
                entry: *entry,
            };
            Some((
                record,
                InspectCursor::Entry(*directory, *hash, name.clone()),
            ))
        }
        (Key::Chunk(chunk), _) => {
            let end = turn
                .state
                .data(*chunk)
                .map_or(0, futago_base::data::Extents::end);
            Some((
                Inspected::Chunk { chunk: *chunk, end },
                InspectCursor::Chunk(*chunk),
            ))
        }
        _ => None,
    }
}
