//! A file's size, how far its chunks may reach, and its shrinkings, as its home keeps them.
//!
//! Chunks are written side by side with the home, so a client that dies may leave data that its file
//! does not know of. Three rules bound it. A server takes chunks of a file only after the home has
//! told it of the file, so that whatever is cut or removed is cut or removed there too. Chunks are
//! written ahead of the size only while the file is open. And when a session that has the file open
//! ends, or the file is closed by the last one, it is shrunk to its size: that takes away what was
//! written ahead, and a late message is refused, because it does not know of this shrinking.

use crate::answer::Checked;
use crate::turn::Turn;
use alloc::collections::BTreeSet;
use futago_base::{
    ChunkId, FileId, Key, ServerId, View, limits,
    record::{Inode, Truncation},
};
use futago_wire::{Failure, PeerChange};

impl<V: View> Turn<'_, V> {
    /// Lets chunks reach to `end`. The servers that get chunks of the file for the first time are
    /// told; the reply waits until they know.
    ///
    /// For a session that has the file open the reach doubles, so that somebody who writes one piece
    /// after the other seldom waits, and may write before the size is raised.
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

    /// Raises the size to at least `size`. Errors: `Appended` while somebody appends what comes
    /// before.
    pub fn grow(&self, id: FileId, inode: &mut Inode, size: u64) -> Checked<()> {
        if size > inode.size {
            self.await_ranges(id, size)?;
            inode.size = size;
        }
        Ok(())
    }

    /// Up to where the present request's session may write chunks before the home has been told:
    /// beyond the size only while it has the file open, because the end of that takes the rest away.
    pub fn writable(&self, id: FileId, inode: &Inode) -> u64 {
        if inode.announced {
            0
        } else if inode.ahead && self.is_open_here(id) {
            inode.reach
        } else {
            inode.size.min(inode.reach)
        }
    }

    /// Whether the present request's session has the file open.
    pub fn is_open_here(&self, id: FileId) -> bool {
        let mut openers = self.openers(id).iter();
        openers.any(|opener| opener.session == self.request.session)
    }

    /// Shrinks a file: cuts what is here at once and tells every server that may hold other chunks,
    /// also one whose chunks lie before `size`. So once `cuts_pending` is 0, all of them have heard
    /// of every shrinking, and joined steps concern none of them. Errors: `Busy` while servers have
    /// not confirmed too many earlier ones.
    pub fn shrink(&mut self, id: FileId, size: u64) -> Checked<()> {
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
        inode.cuts_pending += servers.len() as u32;
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

    /// Has everybody tell the home before they change chunks of a file. What servers of chunks were told of the
    /// file before is not enough any more: they refuse changes by those who have not asked the home since.
    /// Nothing is done while servers have not confirmed too many earlier shrinkings.
    pub fn announce_changes(&mut self, id: FileId) {
        let inode = self.state.inode(id);
        let inode = inode.filter(|inode| !is_one_chunk(inode) && !inode.announced);
        if let Some(size) = inode.map(|inode| inode.size) {
            self.announce_anew(id, size);
        }
    }

    fn announce_anew(&mut self, id: FileId, size: u64) -> bool {
        let is_done = self.shrink(id, size).is_ok();
        if is_done {
            self.state.update_inode(id, |inode| inode.announced = true);
        }
        is_done
    }

    /// As [`Turn::announce_changes`], and whoever knows of the file's shrinkings so far asks anew for the chunks that he
    /// has read, or has found missing below the size. Returns whether it is so.
    pub fn renumber(&mut self, id: FileId) -> bool {
        let width = |inode: &Inode| u64::from(inode.chunk_bytes);
        match self.state.inode(id) {
            Some(inode) if inode.size.max(inode.reach) > width(inode) => {
                self.announce_anew(id, inode.size)
            }
            _ => true,
        }
    }

    /// Takes back that chunks may be written ahead of the size, with what has been. If too many
    /// shrinkings are under way, it happens when they are confirmed.
    pub fn trim(&mut self, id: FileId) {
        let Some(inode) = self.state.inode(id).filter(|inode| inode.ahead) else {
            return;
        };
        let (size, reach) = (inode.size, inode.reach);
        if reach <= size || self.shrink(id, size).is_ok() {
            self.state.update_inode(id, |inode| inode.ahead = false);
        }
    }

    /// Trims a file that nobody has open.
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

/// Whether there are no chunks of a file but the first, which is at its home.
pub const fn is_one_chunk(inode: &Inode) -> bool {
    inode.reach <= inode.chunk_bytes as u64
}

/// Whether nobody changes a file's data before its home was told of it.
pub const fn changes_are_announced(inode: &Inode) -> bool {
    is_one_chunk(inode) || (inode.announced && inode.cuts_pending == 0)
}
