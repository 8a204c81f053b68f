//! A check of all records of all servers, which must be at rest: everything fits together.

use futago_base::{
    BucketStart, ChunkId, ClusterMap, FileId, Key, Kind, NameHash, ServerId, Value, View,
    record::{Entry, Header, Inode},
};
use futago_store::MemoryStore;
use std::collections::BTreeMap;

/// Faults, one line each.
pub fn audit(map: &ClusterMap, stores: &[&MemoryStore]) -> Vec<String> {
    let mut audit = Audit::default();
    for (server, store) in map.servers().zip(stores) {
        for (key, value) in store.records() {
            audit.collect(map, server, key, value);
        }
    }
    audit.directories(map);
    audit.links();
    audit.buckets();
    audit.data(map, stores);
    audit.damages
}

#[derive(Default)]
struct Audit<'a> {
    damages: Vec<String>,
    inodes: BTreeMap<FileId, &'a Inode>,
    headers: BTreeMap<(FileId, BucketStart), &'a Header>,
    entries: Vec<(ServerId, FileId, NameHash, Entry)>,
    open: Vec<FileId>,
    attached: Vec<FileId>,
    chunks: Vec<(ServerId, ChunkId)>,
    /// The files that servers other than their homes take chunks of, with the last truncation that
    /// each server has heard of.
    admitted: BTreeMap<(ServerId, FileId), u64>,
}

impl<'a> Audit<'a> {
    fn collect(&mut self, map: &ClusterMap, server: ServerId, key: &'a Key, value: &'a Value) {
        let home = match (key, value) {
            (Key::Inode(id), Value::Inode(inode)) => {
                self.inodes.insert(*id, inode);
                map.home(*id)
            }
            (Key::Header(id, bucket), Value::Header(header)) => {
                self.headers.insert((*id, *bucket), header);
                map.bucket_server(*id, *bucket)
            }
            (Key::Entry(id, hash, _), Value::Entry(entry)) => {
                self.entries.push((server, *id, *hash, *entry));
                server
            }
            (Key::Xattr(id, _) | Key::Locks(id) | Key::SessionFile(_, id), _) => {
                self.attached.push(*id);
                map.home(*id)
            }
            (Key::Opens(id), _) => {
                self.open.push(*id);
                self.attached.push(*id);
                map.home(*id)
            }
            (Key::Admitted(id), Value::Number(heard)) => {
                self.admitted.insert((server, *id), *heard);
                server
            }
            (Key::Chunk(chunk), _) => {
                self.chunks.push((server, *chunk));
                map.chunk_server(*chunk)
            }
            _ => server,
        };
        if home != server {
            self.damage(format!("{server}: {key:?} belongs to {home}"));
        }
    }

    fn damage(&mut self, text: String) {
        self.damages.push(text);
    }

    fn directories(&mut self, map: &ClusterMap) {
        let mut damages = Vec::new();
        for (&id, inode) in &self.inodes {
            let is_directory = inode.kind == Kind::Directory;
            if is_directory != inode.place.is_some() {
                damages.push(format!("{id}: kind and place disagree"));
            }
            if is_directory {
                damages.extend(self.tiling(id, inode));
            }
        }
        for &(id, bucket) in self.headers.keys() {
            let directory = self.inodes.get(&id);
            if directory.is_none_or(|inode| inode.kind != Kind::Directory) {
                damages.push(format!(
                    "{id} {bucket:?}: bucket of a directory that is gone"
                ));
            }
            if bucket.ordinal() >= u64::from(map.server_count()) {
                damages.push(format!("{id} {bucket:?}: more buckets than servers"));
            }
        }
        self.damages.extend(damages);
    }

    /// Whether a directory's buckets cover all hashes once, with the right attributes.
    fn tiling(&self, id: FileId, inode: &Inode) -> Vec<String> {
        let mut damages = Vec::new();
        let mut next = Some(BucketStart(0));
        while let Some(bucket) = next {
            let Some(header) = self.headers.get(&(id, bucket)) else {
                damages.push(format!("{id} {bucket:?}: there is no such bucket"));
                break;
            };
            if (header.mode, header.gid) != (inode.mode, inode.gid) {
                damages.push(format!(
                    "{id} {bucket:?}: {header:?} differs from {inode:?}"
                ));
            }
            if header.pending != 0 {
                damages.push(format!("{id} {bucket:?}: {} locators", header.pending));
            }
            next = bucket.end(header.level);
        }
        damages
    }

    fn links(&mut self) {
        let mut damages = Vec::new();
        let mut names: BTreeMap<FileId, u32> = BTreeMap::new();
        for (_, directory, _, entry) in &self.entries {
            *names.entry(entry.id).or_default() += 1;
            match self.inodes.get(&entry.id) {
                None => damages.push(format!("{directory}: {entry:?} leads nowhere")),
                Some(inode) => {
                    let parent = inode.place.map_or(*directory, |place| place.parent);
                    if inode.kind != entry.kind || parent != *directory {
                        damages.push(format!("{directory}: {entry:?} leads to {inode:?}"));
                    }
                }
            }
        }
        for (id, inode) in &self.inodes {
            let count = names.get(id).copied().unwrap_or(0);
            let expected = match inode.kind {
                Kind::Directory => u32::from(*id != FileId::ROOT),
                _ => inode.links,
            };
            if count != expected {
                damages.push(format!("{id}: {count} names for {inode:?}"));
            }
            if count == 0 && *id != FileId::ROOT && !self.open.contains(id) {
                damages.push(format!("{id}: neither named nor open"));
            }
        }
        let inodes = &self.inodes;
        let stray = self.attached.iter().filter(|id| !inodes.contains_key(id));
        damages.extend(stray.map(|id| format!("{id}: attached to a file that is gone")));
        self.damages.extend(damages);
    }

    /// Whether every entry lies in a bucket of its server, and the headers count right.
    fn buckets(&mut self) {
        let mut counts: BTreeMap<(FileId, BucketStart), (u64, u32)> = BTreeMap::new();
        for &(server, directory, hash, entry) in &self.entries {
            let buckets = self
                .headers
                .range((directory, BucketStart(0))..=(directory, BucketStart(hash.0)));
            match buckets.last() {
                Some((&key, header)) if key.1.covers(header.level, hash) => {
                    let count = counts.entry(key).or_default();
                    count.0 += 1;
                    count.1 += u32::from(entry.kind == Kind::Directory);
                }
                _ => self
                    .damages
                    .push(format!("{server}: {directory}: {entry:?} is in no bucket")),
            }
        }
        for (&(id, bucket), header) in &self.headers {
            let count = counts.get(&(id, bucket)).copied().unwrap_or_default();
            if count != (header.entries, header.subdirectories) {
                self.damages
                    .push(format!("{id} {bucket:?}: {count:?} entries, {header:?}"));
            }
        }
    }

    fn data(&mut self, map: &ClusterMap, stores: &[&MemoryStore]) {
        for (server, store) in map.servers().zip(stores) {
            for (chunk, extents) in store.chunks() {
                let Some(inode) = self.inodes.get(&chunk.file) else {
                    self.damage(format!("{server}: {chunk:?}: data of a file that is gone"));
                    continue;
                };
                let start = chunk.index * u64::from(inode.chunk_bytes);
                let end = extents
                    .read(0, u32::MAX)
                    .last()
                    .map_or(0, |(offset, piece)| {
                        start + u64::from(*offset) + piece.len() as u64
                    });
                // While it is open, a client that is gone may have written ahead.
                if end > inode.size && !inode.ahead {
                    let size = inode.size;
                    self.damage(format!(
                        "{server}: {chunk:?}: data up to {end} of {size} bytes"
                    ));
                }
                if chunk.index > 0 && store.get(&Key::Chunk(chunk)).is_none() {
                    self.damage(format!("{server}: {chunk:?}: data without a record"));
                }
            }
        }
        self.admissions(map);
        let inodes = &self.inodes;
        let stray = self
            .chunks
            .iter()
            .filter(|(_, chunk)| !inodes.contains_key(&chunk.file));
        let stray = stray.map(|(server, chunk)| format!("{server}: {chunk:?} of no file"));
        self.damages.extend(stray.collect::<Vec<_>>());
    }
}

impl Audit<'_> {
    /// Whether chunks are where the home knows of them: else they would outlive their file.
    fn admissions(&mut self, map: &ClusterMap) {
        let reached = |server: ServerId, chunk: ChunkId| {
            let inode = self.inodes.get(&chunk.file);
            let reach = inode.map_or(0, |inode| inode.reach);
            let width = inode.map_or(1, |inode| u64::from(inode.chunk_bytes));
            let admitted = self.admitted.contains_key(&(server, chunk.file));
            chunk.index == 0
                || chunk.index * width < reach && (admitted || map.home(chunk.file) == server)
        };
        let stray = self.chunks.iter().filter(|(s, c)| !reached(*s, *c));
        let mut damages: Vec<String> = stray
            .map(|(server, chunk)| format!("{server}: {chunk:?} is unknown to its home"))
            .collect();
        for ((server, id), heard) in &self.admitted {
            match self.inodes.get(id) {
                None => damages.push(format!("{server}: takes chunks of {id}, which is gone")),
                Some(inode) if inode.ahead && !self.open.contains(id) => {
                    damages.push(format!("{id}: written ahead though nobody has it open"));
                }
                Some(inode) if inode.truncations.latest != *heard => {
                    let latest = inode.truncations.latest;
                    damages.push(format!(
                        "{server}: has heard of truncation {heard} of {latest} of {id}"
                    ));
                }
                Some(_) => {}
            }
        }
        self.damages.extend(damages);
    }
}
