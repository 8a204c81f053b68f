//! The records of all servers, indexed for the rules.

use super::tiles;
use futago_base::{
    BucketStart, ChunkId, ClusterMap, FileId, Kind, Name, NameHash, ServerId, Timestamp,
    record::{Entry, Header, Inode, Truncations},
};
use futago_wire::inspection::{Inspected, InspectedKey, Repair};
use std::collections::{BTreeMap, BTreeSet};

/// The records of one server.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The server.
    pub server: ServerId,
    /// All its records.
    pub records: Vec<Inspected>,
}

/// A node, from its inode.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its home.
    pub server: ServerId,
    /// The kind of the node.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u16,
    /// Group.
    pub gid: u32,
    /// The number of names that it counts.
    pub links: u32,
    /// The size in bytes.
    pub size: u64,
    /// The offset up to which it may have chunks, in bytes.
    pub reach: u64,
    /// The chunk size in bytes.
    pub chunk_bytes: u32,
    /// The truncations.
    pub truncations: Truncations,
    /// How many confirmations of truncations are missing.
    pub cuts_pending: u32,
    /// The recorded parent of a directory.
    pub parent: Option<FileId>,
    /// The last change of the contents; for a directory, only the time that a user has set.
    pub modified: Timestamp,
    /// Whether a client has it open.
    pub open: bool,
}

impl Node {
    fn new(server: ServerId, inode: &Inode, open: bool) -> Self {
        Self {
            server,
            kind: inode.kind,
            mode: inode.mode,
            gid: inode.gid,
            links: inode.links,
            size: inode.size,
            reach: inode.reach,
            chunk_bytes: inode.chunk_bytes,
            truncations: inode.truncations.clone(),
            cuts_pending: inode.cuts_pending,
            parent: inode.place.map(|place| place.parent),
            modified: inode.modified,
            open,
        }
    }

    /// A new root directory, whose inode is missing.
    fn new_root(server: ServerId) -> Self {
        Self {
            server,
            kind: Kind::Directory,
            mode: 0o755,
            gid: 0,
            links: 1,
            size: 0,
            reach: 0,
            chunk_bytes: 0,
            truncations: Truncations::default(),
            cuts_pending: 0,
            parent: Some(FileId::ROOT),
            modified: Timestamp::default(),
            open: false,
        }
    }
}

/// An inode on another server than its home.
#[derive(Clone, Copy, Debug)]
pub struct MisplacedInode<'a> {
    /// The server that has it.
    pub server: ServerId,
    /// The file.
    pub id: FileId,
    /// The inode.
    pub inode: &'a Inode,
    /// Whether it is the only inode of its file and so belongs at the home.
    pub only: bool,
}

/// A bucket as it should be, and its entries.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// The server that should hold it.
    pub server: ServerId,
    /// The present header; `None` if the bucket is missing.
    pub found: Option<Header>,
    /// The header as it should be, except for its counts.
    pub header: Header,
    /// The number of entries.
    pub entries: u64,
    /// The number of entries of directories.
    pub subdirectories: u32,
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
    /// The recorded node.
    pub entry: Entry,
    /// The server and the bucket that should hold the entry. `None` without a directory, or if
    /// another entry has the name there.
    pub location: Option<(ServerId, BucketStart)>,
}

impl NamedEntry<'_> {
    /// Whether the entry is in its bucket.
    pub fn is_in_bucket(&self) -> bool {
        self.location
            .is_some_and(|(server, _)| server == self.server)
    }

    /// Puts an entry of this name into its bucket, if there is one.
    pub(super) fn put(&self, entry: Entry) -> Vec<(ServerId, Repair)> {
        let put =
            |(server, start)| put_entry(server, self.directory, start, self.name.clone(), entry);
        self.location.map(put).into_iter().flatten().collect()
    }

    /// Removes the entry from its present server.
    pub(super) fn remove_here(&self) -> Vec<(ServerId, Repair)> {
        self.remove_from(self.server)
    }

    /// Removes the name from its bucket.
    pub(super) fn remove_name(&self) -> Vec<(ServerId, Repair)> {
        self.remove_from(self.location.map_or(self.server, |(server, _)| server))
    }

    fn remove_from(&self, server: ServerId) -> Vec<(ServerId, Repair)> {
        let key = InspectedKey::Entry(self.directory, self.name.clone());
        let mut repairs = vec![(server, Repair::Remove(key))];
        if let Some((at, start)) = self.location
            && at == server
        {
            repairs.push((at, Repair::RecountBucket(self.directory, start)));
        }
        repairs
    }
}

/// Puts an entry into its bucket.
pub(super) fn put_entry(
    server: ServerId,
    directory: FileId,
    start: BucketStart,
    name: Name,
    entry: Entry,
) -> [(ServerId, Repair); 2] {
    let record = Inspected::Entry {
        directory,
        name,
        entry,
    };
    [
        (server, Repair::Put(record)),
        (server, Repair::RecountBucket(directory, start)),
    ]
}

/// A chunk: its server and the end of its data.
#[derive(Clone, Copy, Debug)]
pub struct StoredChunk {
    /// The server that has it.
    pub server: ServerId,
    /// The chunk.
    pub chunk: ChunkId,
    /// The end of its data, within the chunk.
    pub end: u32,
}

/// The records of all servers.
#[derive(Debug)]
pub struct Records<'a> {
    pub(super) map: &'a ClusterMap,
    /// All nodes, including those whose inodes must move first.
    pub(super) nodes: BTreeMap<FileId, Node>,
    pub(super) misplaced_inodes: Vec<MisplacedInode<'a>>,
    pub(super) root_is_missing: bool,
    /// Indexed by directory, first hash and server: a faulty bucket may be on two servers.
    pub(super) headers: BTreeMap<(FileId, BucketStart, ServerId), Header>,
    /// The buckets of all directories as they should be: they tile the hashes.
    pub(super) buckets: BTreeMap<(FileId, BucketStart), Bucket>,
    pub(super) entries: Vec<NamedEntry<'a>>,
    pub(super) chunks: Vec<StoredChunk>,
    /// The servers that take chunks of a file, with the latest truncation that each has applied.
    pub(super) admissions: BTreeMap<(FileId, ServerId), u64>,
    /// The names on each server, in the right bucket or not.
    taken: BTreeSet<(FileId, &'a Name, ServerId)>,
    /// The positions in `entries` of the valid names of each node.
    names: BTreeMap<FileId, Vec<usize>>,
}

impl<'a> Records<'a> {
    /// Indexes the records of all servers of `map`.
    pub fn new(map: &'a ClusterMap, listings: &'a [Listing]) -> Self {
        let mut records = Self {
            map,
            nodes: BTreeMap::new(),
            misplaced_inodes: Vec::new(),
            root_is_missing: false,
            headers: BTreeMap::new(),
            buckets: BTreeMap::new(),
            entries: Vec::new(),
            chunks: Vec::new(),
            admissions: BTreeMap::new(),
            taken: BTreeSet::new(),
            names: BTreeMap::new(),
        };
        for listing in listings {
            for record in &listing.records {
                records.add(listing.server, record);
            }
        }
        records.adopt_inodes();
        records.buckets = tiles::of_all(&records);
        records.locate_entries();
        records.collect_names();
        records
    }

    /// The numbers of inodes, buckets, entries and chunks.
    pub fn counts(&self) -> [(&'static str, usize); 4] {
        let away = self.misplaced_inodes.iter().filter(|inode| !inode.only);
        let made = usize::from(self.root_is_missing);
        [
            ("inodes", self.nodes.len() + away.count() - made),
            ("buckets", self.headers.len()),
            ("entries", self.entries.len()),
            ("chunks", self.chunks.len()),
        ]
    }

    fn add(&mut self, server: ServerId, record: &'a Inspected) {
        match record {
            Inspected::Inode { id, inode, open } => self.add_inode(server, *id, inode, *open),
            Inspected::Header {
                directory,
                bucket,
                header,
            } => {
                self.headers.insert((*directory, *bucket, server), *header);
            }
            Inspected::Entry {
                directory,
                name,
                entry,
            } => {
                self.taken.insert((*directory, name, server));
                self.entries.push(NamedEntry {
                    server,
                    directory: *directory,
                    name,
                    entry: *entry,
                    location: None,
                });
            }
            Inspected::Chunk { chunk, end } => self.chunks.push(StoredChunk {
                server,
                chunk: *chunk,
                end: *end,
            }),
            Inspected::Admitted { file, heard } => {
                self.admissions.insert((*file, server), *heard);
            }
        }
    }

    fn add_inode(&mut self, server: ServerId, id: FileId, inode: &'a Inode, open: bool) {
        if self.map.home(id) == server {
            self.nodes.insert(id, Node::new(server, inode, open));
        } else {
            self.misplaced_inodes.push(MisplacedInode {
                server,
                id,
                inode,
                only: false,
            });
        }
    }

    /// Adopts a misplaced inode if its home has none for the file.
    fn adopt_inodes(&mut self) {
        for misplaced in &mut self.misplaced_inodes {
            let home = self.map.home(misplaced.id);
            self.nodes.entry(misplaced.id).or_insert_with(|| {
                misplaced.only = true;
                Node::new(home, misplaced.inode, false)
            });
        }
        self.nodes.entry(FileId::ROOT).or_insert_with(|| {
            self.root_is_missing = true;
            Node::new_root(self.map.home(FileId::ROOT))
        });
    }

    /// Finds the bucket of each entry and counts the entries that are in it already.
    fn locate_entries(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        for entry in &mut entries {
            let hash = entry.name.hash();
            let Some((server, start)) = self.location_of(entry.directory, hash) else {
                continue;
            };
            if server == entry.server {
                self.count(entry.directory, start, entry.entry.kind);
                entry.location = Some((server, start));
            } else if self.taken.insert((entry.directory, entry.name, server)) {
                entry.location = Some((server, start));
            }
        }
        self.entries = entries;
    }

    fn count(&mut self, directory: FileId, start: BucketStart, kind: Kind) {
        if let Some(bucket) = self.buckets.get_mut(&(directory, start)) {
            bucket.entries += 1;
            bucket.subdirectories += u32::from(kind == Kind::Directory);
        }
    }

    fn collect_names(&mut self) {
        for (position, entry) in self.entries.iter().enumerate() {
            if entry.location.is_some() {
                self.names.entry(entry.entry.id).or_default().push(position);
            }
        }
    }

    /// The names of a node.
    pub(super) fn names_of(&self, id: FileId) -> impl Iterator<Item = &NamedEntry<'a>> {
        let positions = self.names.get(&id).map_or(&[][..], Vec::as_slice);
        positions.iter().map(|&position| &self.entries[position])
    }

    /// Whether a directory has an entry with a name, on any server.
    pub(super) fn is_taken(&self, directory: FileId, name: &Name) -> bool {
        self.map
            .servers()
            .any(|server| self.taken.contains(&(directory, name, server)))
    }

    /// The server and the bucket that a name belongs to; `None` without such a directory.
    pub(super) fn location_of(
        &self,
        directory: FileId,
        hash: NameHash,
    ) -> Option<(ServerId, BucketStart)> {
        let first = (directory, BucketStart(0));
        let last = (directory, BucketStart(hash.0));
        let (&(_, start), bucket) = self.buckets.range(first..=last).next_back()?;
        Some((bucket.server, start))
    }
}
