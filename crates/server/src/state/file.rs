//! Inodes: what they tell, their links and their end.

use crate::answer::Checked;
use crate::state::size::is_one_chunk;
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    Attributes, BucketStart, Errno, FileId, Key, Kind, Timestamp, View,
    record::{Inode, Target},
};
use futago_wire::{Failure, FileState, PeerChange, reply::DirectoryState};

impl<V: View> Turn<'_, V> {
    /// Whether the file's inode is kept by this server.
    pub fn is_at_home(&self, id: FileId) -> bool {
        self.server.map.home(id) == self.server.id()
    }

    /// A file's inode. Errors: `WrongServer`, and `ESTALE` if there is no such file (any more).
    pub fn file(&self, id: FileId) -> Checked<&Inode> {
        if !self.is_at_home(id) {
            return Err(Failure::WrongServer.into());
        }
        self.state.inode(id).ok_or_else(|| Errno::ESTALE.into())
    }

    /// A file's inode, once it is decided whether the file stays: one that nobody has open may be about to vanish with
    /// its last name, by a transaction that is not resolved here yet.
    pub fn lasting_file(&self, id: FileId) -> Checked<&Inode> {
        if self.state.get(&Key::Opens(id)).is_none() {
            self.unreserved(Target::Inode(id))?;
        }
        self.file(id)
    }

    /// A regular file's inode; others have no data.
    pub fn regular_file(&self, id: FileId) -> Checked<&Inode> {
        let inode = self.lasting_file(id)?;
        match inode.kind {
            Kind::File => Ok(inode),
            Kind::Directory => Err(Errno::EISDIR.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// What `stat` tells of a file, once no transaction is about to change it.
    pub fn file_state(&self, id: FileId) -> Checked<FileState> {
        self.unreserved(Target::Inode(id))?;
        let inode = self.file(id)?;
        let state = self.describe(id, inode);
        if let Some(directory) = &state.directory {
            self.no_pending_entries(id, BucketStart(0), &directory.header)?;
        }
        Ok(state)
    }

    /// The state of a file if it is at home here.
    pub fn file_state_if_at_home(&self, id: FileId) -> Checked<Option<FileState>> {
        if self.is_at_home(id) {
            self.file_state(id).map(Some)
        } else {
            Ok(None)
        }
    }

    pub fn describe(&self, id: FileId, inode: &Inode) -> FileState {
        let mut attributes = attributes(id, inode);
        attributes.allocated_bytes = self.allocated_bytes(id, inode);
        let directory = inode.place.and_then(|place| {
            let header = self.state.header(id, BucketStart(0))?;
            Some(DirectoryState {
                parent: place.parent,
                header,
                modified_set_at: place.modified_set_at,
                modified_set_to: inode.modified,
            })
        });
        if let Some(directory) = &directory {
            let header = directory.header;
            attributes.links = 2 + header.subdirectories;
            attributes.size = header.entries;
            attributes.changed = attributes.changed.max(header.modified);
            if header.modified > directory.modified_set_at {
                attributes.modified = header.modified;
            }
        }
        FileState {
            attributes,
            directory,
            leased: false,
            data_leased: false,
            exclusive: false,
        }
    }

    /// How much of a file is data, if that is known here.
    fn allocated_bytes(&self, id: FileId, inode: &Inode) -> Option<u64> {
        match inode.kind {
            Kind::File if !inode.sparse => Some(inode.size),
            Kind::File if is_one_chunk(inode) => {
                Some(self.data_bytes(id, inode.size, inode.chunk_bytes, &inode.truncations))
            }
            Kind::File => None,
            _ => Some(0),
        }
    }

    /// Takes a name from the count of links; without names and openers the file is gone.
    pub fn drop_link(&mut self, id: FileId) {
        let now = Timestamp::from(self.stamp);
        self.state.update_inode(id, |inode| {
            inode.links = inode.links.saturating_sub(1);
            inode.changed = now;
        });
        self.remove_if_unused(id);
    }

    /// Removes a file that has no name, no opener, and no transaction that would give it a name.
    pub fn remove_if_unused(&mut self, id: FileId) {
        let Some(inode) = self.state.inode(id) else {
            return;
        };
        let used = inode.links > 0
            || inode.kind == Kind::Directory
            || self.state.get(&Key::Opens(id)).is_some()
            || self.state.get(&Key::Locator(Target::Inode(id))).is_some();
        if used {
            return;
        }
        self.remove_file(id);
    }

    /// Removes an inode with everything that belongs to it, its chunks on all servers included.
    pub fn remove_file(&mut self, id: FileId) {
        let servers = self
            .state
            .inode(id)
            .map(|inode| self.chunk_servers(id, inode));
        for server in servers.into_iter().flatten() {
            self.send(server, PeerChange::RemoveChunks(id));
        }
        self.remove_chunks(id);
        self.remove_node(id);
    }

    /// Removes an inode with its extended attributes and locks.
    pub fn remove_node(&mut self, id: FileId) {
        let (from, to) = Key::xattrs(id);
        let xattrs: Vec<Key> = self
            .state
            .range(from, to)
            .map(|(key, _)| key.clone())
            .collect();
        for key in xattrs {
            self.state.delete(key);
        }
        self.drop_locks(id);
        self.state.delete(Key::Inode(id));
    }
}

const fn attributes(id: FileId, inode: &Inode) -> Attributes {
    Attributes {
        id,
        kind: inode.kind,
        mode: inode.mode,
        uid: inode.uid,
        gid: inode.gid,
        links: inode.links,
        size: inode.size,
        device: inode.device,
        accessed: inode.accessed,
        modified: inode.modified,
        changed: inode.changed,
        born: inode.born,
        chunk_bytes: inode.chunk_bytes,
        allocated_bytes: None,
    }
}

/// Takes set-user-id, and set-group-id of a group-executable file, away, as Linux does when a
/// caller without privileges writes.
pub const fn without_privileges(mode: u16) -> u16 {
    const SET_UID: u16 = 0o4000;
    const SET_GID: u16 = 0o2000;
    const GROUP_EXECUTE: u16 = 0o010;
    let mode = mode & !SET_UID;
    if mode & GROUP_EXECUTE != 0 {
        mode & !SET_GID
    } else {
        mode
    }
}
