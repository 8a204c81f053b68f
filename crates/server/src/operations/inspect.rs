//! Lists records for a check of the file system.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use alloc::vec::Vec;
use futago_base::{FileId, Key, Overlay, Value, View};
use futago_wire::{
    Reply,
    inspection::{Inspected, InspectedKey},
};

/// The most records in one reply: even symbolic links of the largest size, about 4,500 bytes each,
/// fit in one message.
const RECORDS_MAX: usize = 200;

pub fn run<V: View>(
    builder: &DecisionBuilder<'_, V>,
    after: Option<&InspectedKey>,
    records_max: u32,
) -> Result {
    let from = after.map_or(Key::Inode(FileId(0)), key_of);
    let limit = (records_max as usize).clamp(1, RECORDS_MAX);
    let records: Vec<Inspected> = builder
        .state
        .range(from.clone(), Key::TreeVersion)
        .filter(|(key, _)| after.is_none() || **key != from)
        .filter_map(|(key, value)| inspected(&builder.state, key, value))
        .take(limit)
        .collect();
    let next = records
        .last()
        .filter(|_| records.len() == limit)
        .map(Inspected::key);
    Ok(Reply::Records { records, next }.into())
}

pub fn key_of(key: &InspectedKey) -> Key {
    match key {
        InspectedKey::Inode(id) => Key::Inode(*id),
        InspectedKey::Header(directory, bucket) => Key::Header(*directory, *bucket),
        InspectedKey::Entry(directory, name) => Key::Entry(*directory, name.hash(), name.clone()),
        InspectedKey::Chunk(chunk) => Key::Chunk(*chunk),
        InspectedKey::Admitted(file) => Key::Admitted(*file),
    }
}

/// A record in the form of a check, if a check reads its sort. `state` is the whole state of the
/// server.
pub fn inspected<V: View>(state: &Overlay<'_, V>, key: &Key, value: &Value) -> Option<Inspected> {
    match (key, value) {
        (Key::Inode(id), Value::Inode(inode)) => Some(Inspected::Inode {
            id: *id,
            inode: inode.clone(),
            open: state.get(&Key::Opens(*id)).is_some(),
        }),
        (Key::Header(directory, bucket), Value::Header(header)) => Some(Inspected::Header {
            directory: *directory,
            bucket: *bucket,
            header: *header,
        }),
        (Key::Entry(directory, _, name), Value::Entry(entry)) => Some(Inspected::Entry {
            directory: *directory,
            name: name.clone(),
            entry: *entry,
        }),
        (Key::Chunk(chunk), _) => Some(Inspected::Chunk {
            chunk: *chunk,
            end: state.data(*chunk).map_or(0, |extents| extents.end()),
        }),
        (Key::Admitted(file), Value::Number(heard)) => Some(Inspected::Admitted {
            file: *file,
            heard: *heard,
        }),
        _ => None,
    }
}
