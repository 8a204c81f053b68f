//! The size of a file, the reach of its chunks, and its truncations, as its home records them.
//!
//! Clients write chunks in parallel with the home, so a client that dies may leave data beyond the
//! size. Three rules bound it. First, a server takes chunks of a file only after the home has
//! admitted the file there. So every truncation and removal reaches that server. Second, a client
//! writes chunks beyond the size only while it has the file open. Third, the end of such a session,
//! or the last close of the file, truncates the file to its size. That removes the data beyond the
//! size. A late message is refused, because it does not know of this truncation.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use alloc::collections::BTreeSet;
use futago_base::{
    ChunkId, FileId, Key, ServerId, View, limits,
    record::{Inode, Truncation},
};
use futago_wire::{Failure, PeerChange};

impl<V: View> DecisionBuilder<'_, V> {
    /// Lets chunks reach to `end`. The home admits the file at the servers that get chunks of it
    /// for the first time; the reply waits for their confirmation.
    ///
    /// For a session that has the file open the reach doubles. So a sequential writer seldom waits,
    /// and may write before the size grows.
    pub fn reach_to(&mut self, id: FileId, inode: &mut Inode, end: u64) {
        if end <= u64::from(inode.chunk_bytes) {
            return;
        }
        let open = self.is_open_here(id);
        inode.ahead |= open;
        if end <= inode.reach {
            return;
        }
        let known = self.chunk_servers(id, inode);
        inode.reach = if open { end.saturating_mul(2) } else { end }.min(limits::FILE_BYTES);
        for server in self.chunk_servers(id, inode).difference(&known) {
            let heard = inode.truncations.latest;
            self.send(*server, PeerChange::Admit { file: id, heard });
        }
    }

    /// Raises the size to at least `size`. Errors: `Appended` while clients write earlier ranges.
    pub fn grow(&self, id: FileId, inode: &mut Inode, size: u64) -> Checked<()> {
        if size > inode.size {
            self.await_ranges(id, size)?;
            inode.size = size;
        }
        Ok(())
    }

    /// The offset up to which the session of the present request may write chunks before it
    /// notifies the home. It is beyond the size only while the session has the file open, because
    /// its end removes the rest.
    pub fn writable(&self, id: FileId, inode: &Inode) -> u64 {
        if inode.announced {
            0
        } else if inode.ahead && self.is_open_here(id) {
            inode.reach
        } else {
            inode.size.min(inode.reach)
        }
    }

    /// Whether the session of the present request has the file open.
    pub fn is_open_here(&self, id: FileId) -> bool {
        let mut openers = self.openers(id).iter();
        openers.any(|opener| opener.session == self.request.session)
    }

    /// Truncates a file: cuts the chunks on this server at once, and notifies every server that may
    /// hold other chunks. That includes servers whose chunks lie before `size`. So once
    /// `cuts_pending` is 0, all servers have applied every truncation, and joined steps affect none
    /// of them. Errors: `Busy` while too many earlier truncations are unconfirmed.
    pub fn truncate(&mut self, id: FileId, size: u64) -> Checked<()> {
        let Some(mut inode) = self.state.inode(id).cloned() else {
            return Ok(());
        };
        if inode.truncations.is_full() {
            if inode.cuts_pending > 0 {
                return Err(Failure::Busy.into());
            }
            inode.truncations.join_oldest();
        }
        let chunk_bytes = inode.chunk_bytes;
        let truncation = Truncation {
            sequence: inode.truncations.truncate(size),
            size,
        };
        self.drop_ranges(id);
        let servers = self.chunk_servers(id, &inode);
        inode.cuts_pending = inode.cuts_pending.saturating_add(servers.len() as u32);
        inode.size = size;
        inode.sparse &= size > 0;
        self.state.put_inode(id, inode);
        self.cut_chunks(id, chunk_bytes, size);
        for server in servers {
            let change = PeerChange::Cut {
                file: id,
                chunk_bytes,
                truncation,
            };
            self.send(server, change);
        }
        Ok(())
    }

    /// Requires clients to notify the home before they change chunks of a file. A new truncation to
    /// the same size makes earlier admissions obsolete. So servers of chunks refuse changes by
    /// clients that have not asked the home since. Nothing is done while too many earlier
    /// truncations are unconfirmed.
    pub fn announce_changes(&mut self, id: FileId) {
        let inode = self.state.inode(id);
        let inode = inode.filter(|inode| !is_one_chunk(inode) && !inode.announced);
        if let Some(size) = inode.map(|inode| inode.size) {
            self.announce_anew(id, size);
        }
    }

    fn announce_anew(&mut self, id: FileId, size: u64) -> bool {
        let is_done = self.truncate(id, size).is_ok();
        if is_done {
            self.state.update_inode(id, |inode| inode.announced = true);
        }
        is_done
    }

    /// Like [`DecisionBuilder::announce_changes`]. In addition, clients must ask again for chunks
    /// that they have cached, or have cached as missing below the size. Returns whether that is
    /// ensured.
    pub fn renumber(&mut self, id: FileId) -> bool {
        let width = |inode: &Inode| u64::from(inode.chunk_bytes);
        match self.state.inode(id) {
            Some(inode) if inode.size.max(inode.reach) > width(inode) => {
                self.announce_anew(id, inode.size)
            }
            _ => true,
        }
    }

    /// Ends writing beyond the size, and removes the data there. While too many truncations are
    /// unconfirmed, the removal waits for their confirmation.
    pub fn trim(&mut self, id: FileId) {
        let Some(inode) = self.state.inode(id).filter(|inode| inode.ahead) else {
            return;
        };
        let (size, reach) = (inode.size, inode.reach);
        if reach <= size || self.truncate(id, size).is_ok() {
            self.state.update_inode(id, |inode| inode.ahead = false);
        }
    }

    /// Trims a file without openers.
    pub fn trim_if_closed(&mut self, id: FileId) {
        if self.state.get(&Key::Opens(id)).is_none() {
            self.trim(id);
        }
    }

    /// A server has confirmed that it cut its chunks.
    pub fn settle_cut(&mut self, file: FileId) {
        self.state.update_inode(file, |inode| {
            inode.cuts_pending = inode.cuts_pending.saturating_sub(1);
        });
        self.trim_if_closed(file);
    }

    /// The other servers that may hold chunks of a file.
    pub fn chunk_servers(&self, id: FileId, inode: &Inode) -> BTreeSet<ServerId> {
        let mut servers = BTreeSet::new();
        if inode.chunk_bytes == 0 {
            return servers;
        }
        let end = inode.reach.div_ceil(u64::from(inode.chunk_bytes));
        let round = 1 + self.server.map.partition_count() as u64;
        for index in 1..end.min(round) {
            servers.insert(self.server.map.chunk_server(ChunkId { file: id, index }));
            if servers.len() == usize::from(self.server.map.server_count()) {
                break;
            }
        }
        servers.remove(&self.server.id());
        servers
    }
}

/// Whether a file has only its first chunk, which is at its home.
pub const fn is_one_chunk(inode: &Inode) -> bool {
    inode.reach <= inode.chunk_bytes as u64
}

/// Whether all changes of the data of a file are announced to its home first.
pub const fn changes_are_announced(inode: &Inode) -> bool {
    is_one_chunk(inode) || (inode.announced && inode.cuts_pending == 0)
}
