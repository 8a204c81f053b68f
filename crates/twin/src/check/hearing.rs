//! Checks after every event that each server knows the truncations of its files. A server that has
//! missed one may cut its data too far, or serve it to nobody.

use futago_base::{ClusterMap, FileId, Key, Value, View, record::Inode};
use futago_store::MemoryStore;

/// The servers that have not heard of a file's latest truncation although no confirmation of one is
/// missing (I13), one line each.
pub fn missed_truncations(map: &ClusterMap, stores: &[&MemoryStore], file: FileId) -> Vec<String> {
    let home = stores[usize::from(map.home(file).0)];
    let inode = home.get(&Key::Inode(file)).and_then(Value::inode);
    let Some(inode) = inode.filter(|inode| inode.cuts_pending == 0) else {
        return Vec::new();
    };
    let latest = inode.truncations.latest;
    let heard = |store: &&MemoryStore| store.get(&Key::Admitted(file))?.number().copied();
    map.servers()
        .zip(stores)
        .filter_map(|(server, store)| Some((server, heard(store)?)))
        .filter(|(_, heard)| *heard != latest)
        .map(|(server, heard)| {
            format!(
                "{server}: counts as having heard of truncation {latest} of {file}, has of {heard}"
            )
        })
        .collect()
}

/// The file of which a record, as it is put, tells a truncation, or who has heard of one.
pub fn heard_of(key: &Key, value: Option<&Value>) -> Option<FileId> {
    match (key, value) {
        (Key::Admitted(file), Some(_)) => Some(*file),
        (Key::Inode(file), Some(Value::Inode(inode))) => has_shrunk(inode).then_some(*file),
        _ => None,
    }
}

const fn has_shrunk(inode: &Inode) -> bool {
    inode.truncations.latest > 0
}
