//! Directories as a whole: their inode and first bucket.

use super::bucket::EntryLocation;
use crate::{PlantedDirectory, builder::DecisionBuilder};
use futago_base::{
    BucketStart, FileId, Key, Kind, Partition, Time, Timestamp, Value, View,
    record::{DirectoryPlace, Entry, Header, Inode, Truncations},
};
use futago_wire::NewDirectory;

impl<V: View> DecisionBuilder<'_, V> {
    /// Assigns the next file id of a partition of this server.
    pub fn draw_id(&mut self, partition: Partition) -> FileId {
        let counter = self.last_counter(partition) + 1;
        self.state.put(Key::Allocator(partition), counter);
        FileId::new(partition, counter)
    }

    /// The counter of the latest id in a partition.
    pub fn last_counter(&self, partition: Partition) -> u64 {
        let last = self.state.get(&Key::Allocator(partition));
        let first = self.server.incarnation().first_counter();
        last.and_then(Value::number).copied().unwrap_or(first)
    }

    /// Reserves the id of the root directory, which is the same in every incarnation of its home.
    pub fn reserve_root_id(&mut self) {
        let first = self.server.incarnation().first_counter();
        let key = Key::Allocator(FileId::ROOT.home());
        self.state.put(key, first.max(1));
    }

    /// Makes the inode and the first, empty bucket of a directory.
    pub fn put_directory(&mut self, id: FileId, new: &NewDirectory) {
        let now = Timestamp::from(self.stamp);
        let inode = Inode {
            kind: Kind::Directory,
            mode: new.mode,
            uid: new.uid,
            gid: new.gid,
            links: 1,
            linkable: false,
            device: 0,
            size: 0,
            reach: 0,
            ahead: false,
            sparse: false,
            announced: false,
            released: false,
            chunk_bytes: new.chunk_bytes,
            accessed: now,
            modified: now,
            changed: now,
            born: now,
            truncations: Truncations::default(),
            cuts_pending: 0,
            target: bytes::Bytes::new(),
            place: Some(DirectoryPlace {
                parent: new.parent,
                modified_set_at: now,
            }),
        };
        let header = new_header(new, 0, self.stamp);
        self.state.put_inode(id, inode);
        self.state.put(Key::Header(id, BucketStart(0)), header);
    }

    /// Puts the inode and the first bucket of the root directory.
    pub fn put_root(&mut self) {
        let config = self.server.config();
        let root = NewDirectory {
            home: FileId::ROOT.home(),
            parent: FileId::ROOT,
            mode: config.root_mode,
            uid: config.root_uid,
            gid: config.root_gid,
            chunk_bytes: 0,
            depth: 0,
        };
        self.put_directory(FileId::ROOT, &root);
    }

    /// Puts the part of an evenly split directory of the root that belongs to this server.
    pub fn plant(&mut self, planted: &PlantedDirectory) {
        let (id, level, now) = (planted.id, planted.level, self.stamp);
        let new = NewDirectory {
            home: id.home(),
            parent: FileId::ROOT,
            mode: self.server.config.root_mode,
            uid: self.server.config.root_uid,
            gid: self.server.config.root_gid,
            chunk_bytes: 0,
            depth: 1,
        };
        if self.server.map.home(id) == self.server.id {
            self.put_directory(id, &new);
        }
        let here =
            |&bucket: &BucketStart| self.server.map.bucket_server(id, bucket) == self.server.id;
        for bucket in BucketStart::tiling(level).filter(here) {
            let header = new_header(&new, level, now);
            self.state.put(Key::Header(id, bucket), header);
        }
        if self.server.map.home(FileId::ROOT) == self.server.id {
            let location = EntryLocation {
                directory: FileId::ROOT,
                bucket: BucketStart(0),
                hash: planted.name.hash(),
                name: planted.name.clone(),
            };
            let kind = Kind::Directory;
            self.set_entry(&location, Some(Entry { id, kind }));
        }
    }
}

/// The header of an empty bucket.
fn new_header(new: &NewDirectory, level: u8, now: Time) -> Header {
    Header {
        level,
        mode: new.mode,
        gid: new.gid,
        chunk_bytes: new.chunk_bytes,
        depth: new.depth,
        entries: 0,
        subdirectories: 0,
        pending: 0,
        modified: Timestamp::from(now),
    }
}
