//! Whether a server that comes back has the records and data that it had.

use futago_base::{ChunkId, Key, Value, data::Extents};
use futago_store::MemoryStore;
use std::collections::BTreeMap;

/// The differences of two stores, one line each.
pub fn differences(former: &MemoryStore, latter: &MemoryStore) -> Vec<String> {
    let mut found = Vec::new();
    let [before, after] = [former, latter].map(|store| store.records().collect::<BTreeMap<_, _>>());
    for key in before.keys().chain(after.keys()) {
        if before.get(key) != after.get(key) && found.is_empty() {
            found.push(changed(key, before.get(key), after.get(key)));
        }
    }
    let [before, after] = [former, latter].map(data);
    if before != after {
        found.push(String::from("has other data after the end of its process"));
    }
    found
}

fn changed(key: &Key, before: Option<&&Value>, after: Option<&&Value>) -> String {
    format!("has {key:?} {after:?} after the end of its process, not {before:?}")
}

/// Pieces of data that do not touch, by their offsets.
type Pieces = BTreeMap<u32, Vec<u8>>;

/// The data of all chunks.
fn data(store: &MemoryStore) -> Vec<(ChunkId, Pieces)> {
    let chunks = store.chunks();
    let chunks = chunks.map(|(chunk, extents)| (chunk, joined(extents)));
    chunks.collect()
}

fn joined(extents: &Extents) -> Pieces {
    let mut joined = Pieces::new();
    for (offset, piece) in extents.read(0, u32::MAX) {
        let bytes = piece.bytes();
        match joined.last_entry() {
            Some(mut last) if *last.key() as usize + last.get().len() == offset as usize => {
                last.get_mut().extend_from_slice(&bytes);
            }
            _ => drop(joined.insert(offset, bytes.to_vec())),
        }
    }
    joined
}
