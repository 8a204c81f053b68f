//! The records of all servers, indexed for the rules.

use futago_base::{
    BucketStart, ChunkId, ClusterMap, FileId, Kind, Name, NameHash, ServerId,
    record::{Entry, Header},
};
use futago_wire::step::Inspected;
use std::collections::BTreeMap;

/// What one server has listed.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The server.
    pub server: ServerId,
    /// All its records.
    pub records: Vec<Inspected>,
}

/// A node, from its inode.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The server that has the inode.
    pub server: ServerId,
    /// What the node is.
    pub kind: Kind,
    /// The number of names that it counts.
    pub links: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes a chunk.
    pub chunk_bytes: u32,
    /// The directory that it believes to lie in, if it is a directory.
    pub parent: Option<FileId>,
    /// Whether somebody has it open.
    pub open: bool,
}

/// A bucket and what is counted in it.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// The server that has the header.
    pub server: ServerId,
    /// The header.
    pub header: Header,
    /// How many entries lie in it.
    pub entries: u64,
    /// How many of them lead to directories.
    pub subdirectories: u32,
}

impl Bucket {
    /// Whether `start` and the header's level name a range of hashes that halving can lead to.
    pub(super) fn is_range(&self, start: BucketStart) -> bool {
        let level = self.header.level;
        level <= BucketStart::LEVEL_MAX
            && start.0 < 1 << 63
            && start.0.is_multiple_of(BucketStart::width(level))
    }

    fn covers(&self, start: BucketStart, hash: NameHash) -> bool {
        self.is_range(start) && start.covers(self.header.level, hash)
    }
}

/// A name, from its entry.
#[derive(Clone, Copy, Debug)]
pub struct NamedEntry<'a> {
    /// The server that has the entry.
    pub server: ServerId,
    /// The directory.
    pub directory: FileId,
    /// The name.
    pub name: &'a Name,
    /// What it leads to.
    pub entry: Entry,
    /// The bucket that it lies in, if there is one on its server.
    pub bucket: Option<BucketStart>,
}

/// A chunk: where it is and the byte after its last one.
#[derive(Clone, Copy, Debug)]
pub struct StoredChunk {
    /// The server that has it.
    pub server: ServerId,
    /// The chunk.
    pub chunk: ChunkId,
    /// The byte after its last one, within the chunk.
    pub end: u32,
}

/// The records of all servers.
#[derive(Debug)]
pub struct Records<'a> {
    pub(super) map: &'a ClusterMap,
    pub(super) nodes: BTreeMap<FileId, Node>,
    pub(super) misplaced_nodes: Vec<(FileId, Node)>,
    /// By directory, then first hash, then server: a bucket may wrongly be on two servers.
    pub(super) buckets: BTreeMap<(FileId, BucketStart, ServerId), Bucket>,
    pub(super) entries: Vec<NamedEntry<'a>>,
    pub(super) chunks: Vec<StoredChunk>,
    /// The positions in `entries` of the names of each node, as far as they count.
    pub(super) names: BTreeMap<FileId, Vec<usize>>,
}

impl<'a> Records<'a> {
    /// Indexes what all servers of `map` have listed.
    pub fn new(map: &'a ClusterMap, listings: &'a [Listing]) -> Self {
        let mut records = Self {
            map,
            nodes: BTreeMap::new(),
            misplaced_nodes: Vec::new(),
            buckets: BTreeMap::new(),
            entries: Vec::new(),
            chunks: Vec::new(),
            names: BTreeMap::new(),
        };
        for listing in listings {
            for record in &listing.records {
                records.add(listing.server, record);
            }
        }
        records.place_entries();
        records.collect_names();
        records
    }

    /// How many nodes, buckets, entries and chunks there are.
    pub fn counts(&self) -> [(&'static str, usize); 4] {
        [
            ("inodes", self.nodes.len() + self.misplaced_nodes.len()),
            ("buckets", self.buckets.len()),
            ("entries", self.entries.len()),
            ("chunks", self.chunks.len()),
        ]
    }

    fn add(&mut self, server: ServerId, record: &'a Inspected) {
        match record {
            Inspected::Inode { id, .. } => self.add_node(server, *id, record),
            Inspected::Header {
                directory,
                bucket,
                header,
            } => {
                let found = Bucket {
                    server,
                    header: *header,
                    entries: 0,
                    subdirectories: 0,
                };
                self.buckets.insert((*directory, *bucket, server), found);
            }
            Inspected::Entry {
                directory,
                name,
                entry,
            } => self.entries.push(NamedEntry {
                server,
                directory: *directory,
                name,
                entry: *entry,
                bucket: None,
            }),
            Inspected::Chunk { chunk, end } => self.chunks.push(StoredChunk {
                server,
                chunk: *chunk,
                end: *end,
            }),
        }
    }

    fn add_node(&mut self, server: ServerId, id: FileId, record: &Inspected) {
        let &Inspected::Inode {
            kind,
            links,
            size,
            chunk_bytes,
            parent,
            open,
            ..
        } = record
        else {
            return;
        };
        let node = Node {
            server,
            kind,
            links,
            size,
            chunk_bytes,
            parent,
            open,
        };
        if self.map.home(id) == server {
            self.nodes.insert(id, node);
        } else {
            self.misplaced_nodes.push((id, node));
        }
    }

    /// Finds the bucket of each entry on the entry's own server and counts what lies in it.
    fn place_entries(&mut self) {
        for entry in &mut self.entries {
            let hash = entry.name.hash();
            let last = (entry.directory, BucketStart(hash.0), ServerId(u16::MAX));
            let first = (entry.directory, BucketStart(0), ServerId(0));
            let covering =
                self.buckets
                    .range_mut(first..=last)
                    .rev()
                    .find(|((_, start, server), bucket)| {
                        *server == entry.server && bucket.covers(*start, hash)
                    });
            if let Some(((_, start, _), bucket)) = covering {
                entry.bucket = Some(*start);
                bucket.entries += 1;
                bucket.subdirectories += u32::from(entry.entry.kind == Kind::Directory);
            }
        }
    }

    /// Only a name in a sound bucket of an existing directory counts.
    fn collect_names(&mut self) {
        for (position, entry) in self.entries.iter().enumerate() {
            if self.counts_as_name(entry) {
                self.names.entry(entry.entry.id).or_default().push(position);
            }
        }
    }

    fn counts_as_name(&self, entry: &NamedEntry<'_>) -> bool {
        let directory_exists = self
            .nodes
            .get(&entry.directory)
            .is_some_and(|node| node.kind == Kind::Directory);
        directory_exists
            && entry
                .bucket
                .is_some_and(|start| self.map.bucket_server(entry.directory, start) == entry.server)
    }

    /// The names that lead to a node.
    pub(super) fn names_of(&self, id: FileId) -> impl Iterator<Item = &NamedEntry<'a>> {
        let positions = self.names.get(&id).map_or(&[][..], Vec::as_slice);
        positions.iter().map(|&position| &self.entries[position])
    }

    /// Where a new name of the directory belongs: the sound bucket that covers its hash.
    pub(super) fn bucket_for(
        &self,
        directory: FileId,
        hash: NameHash,
    ) -> Option<(BucketStart, ServerId)> {
        let first = (directory, BucketStart(0), ServerId(0));
        let last = (directory, BucketStart(hash.0), ServerId(u16::MAX));
        self.buckets
            .range(first..=last)
            .rev()
            .find(|((_, start, server), bucket)| {
                bucket.covers(*start, hash) && self.map.bucket_server(directory, *start) == *server
            })
            .map(|((_, start, server), _)| (*start, *server))
    }
}
