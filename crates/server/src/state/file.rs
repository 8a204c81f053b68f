//! Inodes: their attributes, links and removal.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use crate::state::size::is_one_chunk;
use alloc::vec::Vec;
use futago_base::{
    Attributes, BucketStart, Errno, FileId, Key, Kind, Timestamp, View,
    record::{Inode, Target},
};
use futago_wire::{Failure, FileState, PeerChange, reply::DirectoryState};

impl<V: View> DecisionBuilder<'_, V> {
    /// Whether this server is the home of the file.
    pub fn is_at_home(&self, id: FileId) -> bool {
        self.server.map.home(id) == self.server.id()
    }

    /// The inode of a file. Errors: `WrongServer`, and `ESTALE` if the file does not exist.
    pub fn file(&self, id: FileId) -> Checked<&Inode> {
        if !self.is_at_home(id) {
            return Err(Failure::WrongServer.into());
        }
        self.state.inode(id).ok_or_else(|| Errno::ESTALE.into())
    }

    /// The inode of a file, once it is certain that the file stays. A file that no client has open
    /// may lose its last name by a transaction that is not resolved here yet.
    pub fn lasting_file(&self, id: FileId) -> Checked<&Inode> {
        if self.state.get(&Key::Opens(id)).is_none() {
            self.unreserved(Target::Inode(id))?;
        }
        self.file(id)
    }

    /// The inode of a regular file; other files have no data.
    pub fn regular_file(&self, id: FileId) -> Checked<&Inode> {
        let inode = self.lasting_file(id)?;
        match inode.kind {
            Kind::File => Ok(inode),
            Kind::Directory => Err(Errno::EISDIR.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// The state of a file, as `stat` reports it, while no transaction has reserved the file.
    pub fn file_state(&self, id: FileId) -> Checked<FileState> {
        self.unreserved(Target::Inode(id))?;
        let inode = self.file(id)?;
        let state = self.describe(id, inode);
        if state.directory.is_some() {
            self.no_pending_names(id)?;
        }
        Ok(state)
    }

    /// The state of a file if this server is its home.
    pub fn file_state_if_at_home(&self, id: FileId) -> Checked<Option<FileState>> {
        if self.is_at_home(id) {
            self.file_state(id).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The attributes of a file that is no directory, without the amount of its data; `None` if a
    /// transaction has reserved it.
    pub fn plain_attributes(&self, id: FileId) -> Option<Attributes> {
        self.unreserved(Target::Inode(id)).ok()?;
        let inode = self.state.inode(id)?;
        (inode.kind != Kind::Directory).then(|| attributes(id, inode))
    }

    pub fn describe(&self, id: FileId, inode: &Inode) -> FileState {
        let mut attributes = attributes(id, inode);
        attributes.allocated_bytes = self.allocated_bytes(id, inode);
        let directory = inode.place.and_then(|place| {
            let header = self.state.header(id, BucketStart(0))?;
            Some(DirectoryState {
                parent: place.parent,
                header,
                here: self.sum_here(id),
                modified_set_at: place.modified_set_at,
                modified_set_to: inode.modified,
            })
        });
        if let Some(directory) = &directory {
            let here = directory.here;
            attributes.links = here.subdirectories.saturating_add(2);
            attributes.size = here.entries;
            attributes.changed = attributes.changed.max(here.modified);
            if here.modified > directory.modified_set_at {
                attributes.modified = here.modified;
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

    /// The amount of data in a file, in bytes, if this server knows it.
    fn allocated_bytes(&self, id: FileId, inode: &Inode) -> Option<u64> {
        match inode.kind {
            Kind::File if inode.released => Some(0),
            Kind::File if !inode.sparse => Some(inode.size),
            Kind::File if is_one_chunk(inode) => {
                Some(self.data_bytes(id, inode.size, inode.chunk_bytes, &inode.truncations))
            }
            Kind::File => None,
            _ => Some(0),
        }
    }

    /// Removes one link; a file without names and openers is removed.
    pub fn drop_link(&mut self, id: FileId) {
        let now = Timestamp::from(self.stamp);
        self.state.update_inode(id, |inode| {
            inode.links = inode.links.saturating_sub(1);
            inode.changed = now;
        });
        self.remove_if_unused(id);
    }

    /// Removes a file without names and openers, unless a transaction has reserved it and may name
    /// it.
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

    /// Removes an inode and all that belongs to it, including its chunks on all servers.
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
        allocated_bytes: if inode.released { Some(0) } else { None },
    }
}

/// Clears set-user-id, and set-group-id of a group-executable file, as Linux does when an
/// unprivileged caller writes.
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
