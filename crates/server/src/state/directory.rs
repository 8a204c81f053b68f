//! Directories as a whole: their inode and first bucket.

use crate::turn::Turn;
use futago_base::{
    BucketStart, FileId, Key, Kind, Partition, Timestamp, View,
    record::{DirectoryPlace, Header, Inode, Truncations},
};
use futago_wire::NewDirectory;

impl<V: View> Turn<'_, V> {
    /// Draws the next identity of a partition of this server.
    pub fn draw_id(&mut self, partition: Partition) -> FileId {
        let key = Key::Allocator(partition);
        let counter = self.state.number(&key) + 1;
        self.state.put(key, counter);
        FileId::new(partition, counter)
    }

    /// Makes a directory's inode and its first, empty bucket.
    pub fn put_directory(&mut self, id: FileId, new: &NewDirectory) {
        let now = Timestamp::from(self.now);
        let inode = Inode {
            kind: Kind::Directory,
            mode: new.mode,
            uid: new.uid,
            gid: new.gid,
            links: 1,
            linkable: false,
            device: 0,
            size: 0,
            size_max: 0,
            chunk_bytes: 0,
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
        let header = Header {
            level: 0,
            mode: new.mode,
            gid: new.gid,
            depth: new.depth,
            entries: 0,
            subdirectories: 0,
            pending: 0,
            modified: now,
        };
        self.state.put_inode(id, inode);
        self.state.put(Key::Header(id, BucketStart(0)), header);
    }
}
