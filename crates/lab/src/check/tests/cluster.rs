//! The records of a small cluster, which tests damage.

use super::*;

/// The records of a small cluster, which a test damages.
pub struct Cluster {
    pub map: ClusterMap,
    listings: Vec<Listing>,
}

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

pub fn id(partition: u16, counter: u64) -> FileId {
    FileId::new(Partition(partition), counter)
}

pub const DIRECTORY: FileId = FileId::new(Partition(1), 1);
pub const BELOW: FileId = FileId::new(Partition(3), 9);
pub const FILE: FileId = FileId::new(Partition(1), 2);

impl Cluster {
    /// `/directory/{file,below/}` and `/link`, a second name of the file, on four servers; the
    /// directory has two buckets.
    pub fn new() -> Self {
        let map = ClusterMap::new(1, Policy::Modular, 16, 4).unwrap();
        let listing = |server| Listing {
            server,
            records: Vec::new(),
        };
        let listings = map.servers().map(listing).collect();
        let mut cluster = Self { map, listings };
        cluster.add_directory(FileId::ROOT, FileId::ROOT, &[(BucketStart(0), 0)]);
        cluster.add_directory(DIRECTORY, FileId::ROOT, &[(BucketStart(0), 1), (HALF, 1)]);
        cluster.add_directory(BELOW, DIRECTORY, &[(BucketStart(0), 0)]);
        cluster.add_inode(FILE, inode(Kind::File, 2, 9000), false);
        cluster.name(FileId::ROOT, "directory", DIRECTORY, Kind::Directory);
        cluster.name(FileId::ROOT, "link", FILE, Kind::File);
        cluster.name(DIRECTORY, "file", FILE, Kind::File);
        cluster.name(DIRECTORY, "below", BELOW, Kind::Directory);
        for index in 0..3 {
            cluster.chunk(FILE, index);
        }
        cluster.admit(FILE, 2, 0);
        cluster.admit(FILE, 3, 0);
        cluster.recount();
        cluster
    }

    pub fn add_inode(&mut self, id: FileId, inode: Inode, open: bool) {
        let inode = Box::new(inode);
        self.put(self.map.home(id), Inspected::Inode { id, inode, open });
    }

    pub fn add_directory(&mut self, id: FileId, parent: FileId, buckets: &[(BucketStart, u8)]) {
        self.add_inode(id, directory(parent), false);
        for &(bucket, level) in buckets {
            let server = self.map.bucket_server(id, bucket);
            self.put_header(server, id, bucket, level);
        }
    }

    pub fn put_header(
        &mut self,
        server: ServerId,
        directory: FileId,
        bucket: BucketStart,
        level: u8,
    ) {
        let record = Inspected::Header {
            directory,
            bucket,
            header: header(level),
        };
        self.put(server, record);
    }

    /// The server of the bucket that covers a name.
    pub fn server_of(&self, directory: FileId, text: &str) -> ServerId {
        let hash = name(text).hash();
        let covers = |record: &Inspected| match record {
            Inspected::Header {
                directory: of,
                bucket,
                header,
            } => *of == directory && bucket.covers(header.level, hash),
            _ => false,
        };
        let found = self.listings.iter().find(|l| l.records.iter().any(covers));
        found.unwrap().server
    }

    pub fn name(&mut self, directory: FileId, text: &str, id: FileId, kind: Kind) {
        let server = self.server_of(directory, text);
        self.name_at(server, directory, text, Entry { id, kind });
    }

    pub fn name_at(&mut self, server: ServerId, directory: FileId, text: &str, entry: Entry) {
        let record = Inspected::Entry {
            directory,
            name: name(text),
            entry,
        };
        self.put(server, record);
    }

    pub fn lose(&mut self, directory: FileId, text: &str) {
        let server = self.server_of(directory, text);
        self.remove(server, &InspectedKey::Entry(directory, name(text)));
    }

    /// The entry of a name.
    pub fn entry(&self, directory: FileId, text: &str) -> Option<Entry> {
        let server = self.server_of(directory, text);
        let key = InspectedKey::Entry(directory, name(text));
        match self.records(server).iter().find(|r| r.key() == key) {
            Some(Inspected::Entry { entry, .. }) => Some(*entry),
            _ => None,
        }
    }

    pub fn chunk(&mut self, file: FileId, index: u64) {
        let chunk = ChunkId { file, index };
        let record = Inspected::Chunk { chunk, end: 100 };
        self.put(self.map.chunk_server(chunk), record);
    }

    /// A server admits chunks of a file and has applied a truncation.
    pub fn admit(&mut self, file: FileId, server: u16, heard: u64) {
        self.put(ServerId(server), Inspected::Admitted { file, heard });
    }

    /// The end of the data of a chunk, if the chunk exists.
    pub fn end_of(&self, chunk: ChunkId) -> Option<u32> {
        let records = self.records(self.map.chunk_server(chunk)).iter();
        let mut ends = records.filter_map(|record| match record {
            Inspected::Chunk { chunk: of, end } if *of == chunk => Some(*end),
            _ => None,
        });
        ends.next()
    }

    fn cut(&mut self, server: ServerId, file: FileId, size: u64) {
        let records = &mut self.listings[server.0 as usize].records;
        for record in records {
            if let Inspected::Chunk { chunk, end } = record
                && chunk.file == file
            {
                let start = chunk.index * u64::from(CHUNK_BYTES);
                *end = size.saturating_sub(start).min(u64::from(*end)) as u32;
            }
        }
    }

    pub fn chunks(&self) -> usize {
        let all = self.listings.iter().flat_map(|listing| &listing.records);
        all.filter(|record| matches!(record, Inspected::Chunk { .. }))
            .count()
    }

    pub fn inode(&mut self, id: FileId) -> Option<&mut Inode> {
        let home = self.map.home(id);
        let records = self.listings[home.0 as usize].records.iter_mut();
        records
            .filter_map(|record| match record {
                Inspected::Inode { id: of, inode, .. } if *of == id => Some(&mut **inode),
                _ => None,
            })
            .next()
    }

    pub fn parent(&mut self, id: FileId) -> FileId {
        self.inode(id).unwrap().place.unwrap().parent
    }

    pub fn set_parent(&mut self, id: FileId, parent: FileId) {
        let place = &mut self.inode(id).unwrap().place;
        place.as_mut().unwrap().parent = parent;
    }

    pub fn records(&self, server: ServerId) -> &[Inspected] {
        &self.listings[server.0 as usize].records
    }

    pub fn put(&mut self, server: ServerId, record: Inspected) {
        self.remove(server, &record.key());
        self.listings[server.0 as usize].records.push(record);
    }

    pub fn remove(&mut self, server: ServerId, key: &InspectedKey) {
        let records = &mut self.listings[server.0 as usize].records;
        records.retain(|record| record.key() != *key);
    }

    pub fn recount(&mut self) {
        for server in self.map.servers() {
            for record in self.records(server).to_vec() {
                if let InspectedKey::Header(directory, bucket) = record.key() {
                    self.recount_bucket(server, directory, bucket);
                }
            }
        }
    }

    pub fn recount_bucket(&mut self, server: ServerId, directory: FileId, bucket: BucketStart) {
        let records = self.records(server);
        let key = InspectedKey::Header(directory, bucket);
        let Some(Inspected::Header { mut header, .. }) =
            records.iter().find(|r| r.key() == key).cloned()
        else {
            return;
        };
        let lies_in =
            |of: FileId, hash: NameHash| of == directory && bucket.covers(header.level, hash);
        let kinds: Vec<Kind> = records
            .iter()
            .filter_map(|record| match record {
                Inspected::Entry {
                    directory,
                    name,
                    entry,
                } if lies_in(*directory, name.hash()) => Some(entry.kind),
                _ => None,
            })
            .collect();
        header.entries = kinds.len() as u64;
        header.subdirectories = kinds.iter().filter(|k| **k == Kind::Directory).count() as u32;
        self.put(
            server,
            Inspected::Header {
                directory,
                bucket,
                header,
            },
        );
    }

    /// The effect of a repair on a server, in its simplest form.
    pub fn apply(&mut self, server: ServerId, repair: &Repair) {
        match repair {
            Repair::Put(record) => self.put(server, record.clone()),
            Repair::Remove(key) => self.remove(server, key),
            Repair::MakeRoot => self.add_inode(FileId::ROOT, directory(FileId::ROOT), false),
            Repair::RemoveFile(id) => {
                for listing in &mut self.listings {
                    listing.records.retain(|record| match record.key() {
                        InspectedKey::Inode(of) => of != *id,
                        InspectedKey::Chunk(chunk) => chunk.file != *id,
                        _ => true,
                    });
                }
            }
            Repair::SetLinks(id, links) => self.inode(*id).unwrap().links = *links,
            Repair::SetParent(id, parent) => self.set_parent(*id, *parent),
            Repair::RecountBucket(directory, bucket) => {
                self.recount_bucket(server, *directory, *bucket);
            }
            Repair::Cut { file, size, .. } => self.cut(server, *file, *size),
        }
    }

    pub fn check(&self) -> Vec<Finding> {
        check(&Records::new(&self.map, &self.listings))
    }

    /// The present findings, without repeats; after the repairs there are none.
    pub fn found_and_repaired(&mut self) -> Vec<FaultKind> {
        let findings = self.check();
        for (server, repair) in repair_plan(&findings) {
            self.apply(server, &repair);
        }
        assert_eq!(self.check(), [], "after the repair of {findings:?}");
        let mut kinds: Vec<FaultKind> = findings.iter().map(|f| f.fault.kind()).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// Checks that all nodes still have their first names.
    pub fn assert_names(&self) {
        let names = [
            (FileId::ROOT, "directory", DIRECTORY),
            (FileId::ROOT, "link", FILE),
            (DIRECTORY, "file", FILE),
            (DIRECTORY, "below", BELOW),
        ];
        for (directory, name, id) in names {
            let entry = self.entry(directory, name);
            assert_eq!(entry.map(|entry| entry.id), Some(id), "{name}");
        }
    }
}

pub fn header(level: u8) -> Header {
    Header {
        level,
        mode: 0o755,
        gid: 0,
        chunk_bytes: 0,
        depth: 0,
        entries: 0,
        subdirectories: 0,
        pending: 0,
        modified: Timestamp::default(),
    }
}

pub fn directory(parent: FileId) -> Inode {
    Inode {
        place: Some(DirectoryPlace {
            parent,
            modified_set_at: Timestamp::default(),
        }),
        ..inode(Kind::Directory, 1, 0)
    }
}

pub fn inode(kind: Kind, links: u32, size: u64) -> Inode {
    Inode {
        kind,
        mode: 0o755,
        uid: 0,
        gid: 0,
        links,
        linkable: false,
        device: 0,
        size,
        reach: size,
        ahead: false,
        sparse: false,
        announced: false,
        released: false,
        chunk_bytes: CHUNK_BYTES,
        accessed: Timestamp::default(),
        modified: Timestamp::default(),
        changed: Timestamp::default(),
        born: Timestamp::default(),
        truncations: Truncations::default(),
        cuts_pending: 0,
        target: Vec::new().into(),
        place: None,
    }
}

/// A server other than `server`.
pub fn beside(server: ServerId) -> ServerId {
    ServerId((server.0 + 1) % 4)
}
