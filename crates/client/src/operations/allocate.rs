//! Allocates space, punches holes and zeroes ranges.

use crate::{
    AllocateMode, Client, Context,
    data::{ChunkChange, ChunkRequest},
    layout::{FileHint, chunk_servers},
};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload, ServerId, limits};
use futago_wire::Request;

/// A hole in the chunks of one server.
#[derive(Clone)]
struct Hole {
    server: ServerId,
    file: FileId,
    from: u64,
    to: u64,
}

impl ChunkRequest for Hole {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::PunchChunks {
            file: self.file,
            from: self.from,
            to: self.to,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, Payload::empty())
    }
}

impl ChunkChange for Hole {
    fn reach(&self) -> u64 {
        1
    }

    fn cut(mut self, size: u64) -> Option<Self> {
        self.to = self.to.min(size);
        (self.from < self.to).then_some(self)
    }
}

impl<C: Context> Client<C> {
    /// The operation of `fallocate`. Errors: `EINVAL` for an empty range, `EFBIG`, `ENOSPC`.
    pub async fn allocate(
        &self,
        id: FileId,
        mode: AllocateMode,
        offset: u64,
        length: u64,
    ) -> Result<(), Errno> {
        if length == 0 {
            return Err(Errno::EINVAL);
        }
        let end = offset.checked_add(length);
        let end = end.filter(|&end| end <= limits::FILE_BYTES);
        let end = end.ok_or(Errno::EFBIG)?;
        let (hole_end, grow_to) = match mode {
            AllocateMode::Allocate { keep_size: true } => (offset, 0),
            AllocateMode::Allocate { keep_size: false } => (offset, end),
            AllocateMode::PunchHole | AllocateMode::ZeroRange { keep_size: true } => (end, 0),
            AllocateMode::ZeroRange { keep_size: false } => (end, end),
        };
        let request = Request::Punch {
            id,
            from: offset,
            to: hole_end,
            grow_to,
        };
        self.flush(id).await;
        let hint = self.persist(|| self.known_hint(id)).await?;
        if grow_to == 0 && hole_end > hint.size_seen {
            return self.punch_within_size(id, request, offset, hole_end).await;
        }
        let holes = self.holes(id, &hint, offset, hole_end);
        self.change(id, request, Payload::empty(), holes, None)
            .await?;
        Ok(())
    }

    /// Punches a hole that may end beyond the size. Chunks there are of writes under way, so the
    /// home is asked for the size first.
    async fn punch_within_size(
        &self,
        id: FileId,
        request: Request,
        from: u64,
        to: u64,
    ) -> Result<(), Errno> {
        let nowhere = Vec::<Hole>::new();
        let extent = self
            .change(id, request, Payload::empty(), nowhere, None)
            .await?;
        let holes = self.holes(id, &extent.hint, from, to.min(extent.size).max(from));
        if !holes.is_empty() {
            self.chunks_changed(id, None);
        }
        self.change_chunks(id, &extent.hint, holes, None).await
    }

    /// The parts of a hole on servers other than the home.
    fn holes(&self, id: FileId, hint: &FileHint, from: u64, to: u64) -> Vec<Hole> {
        let home = self.map().home(id);
        let servers = chunk_servers(self.map(), id, hint.chunk_bytes, from, to).into_iter();
        let holes = servers.filter(|&server| server != home).map(|server| Hole {
            server,
            file: id,
            from,
            to,
        });
        holes.collect()
    }
}
