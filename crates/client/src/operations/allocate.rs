//! Allocates, makes holes, zeroes.

use crate::{
    AllocateMode, Client, Context,
    data::ChunkRequest,
    layout::{FileHint, chunk_servers},
};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload, ServerId, limits};
use futago_wire::{Failure, Request};

/// A hole in the chunks of one server.
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

impl<C: Context> Client<C> {
    /// What `fallocate` does. Errors: `EINVAL` for an empty range, `EFBIG`, `ENOSPC`.
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
        self.persist(|| self.try_punch(id, (offset, hole_end), grow_to))
            .await
    }

    async fn try_punch(
        &self,
        id: FileId,
        (from, to): (u64, u64),
        grow_to: u64,
    ) -> Result<(), Failure> {
        let request = Request::Punch {
            id,
            from,
            to,
            grow_to,
        };
        let hint = self.known_hint(id).await?;
        let home = self.map().home(id);
        let holes: Vec<Hole> = chunk_servers(self.map(), id, hint.chunk_bytes, from, to)
            .into_iter()
            .filter(|&server| server != home)
            .map(|server| Hole {
                server,
                file: id,
                from,
                to,
            })
            .collect();
        self.ask_home_and_chunks(id, (request, Payload::empty()), &holes, &hint)
            .await?;
        Ok(())
    }
}
