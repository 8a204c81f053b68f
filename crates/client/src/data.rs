//! Requests to a file's home and to the servers of its chunks, side by side.

use crate::{
    Client, Context,
    client::UNEXPECTED,
    join::both,
    join_all,
    layout::{FileHint, Part},
};
use alloc::vec::Vec;
use core::pin::pin;
use futago_base::{ChunkId, Errno, FileId, Payload, ServerId, record::Truncations};
use futago_wire::{Failure, Reply, Request};

/// How a file stands, as its home says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where the request took place.
    pub offset: u64,
    /// How much of its data was stored.
    pub stored: usize,
    /// The file's size.
    pub size: u64,
    /// What is worth remembering.
    pub hint: FileHint,
}

/// A request about chunks that does not go to the file's home with the size, for any knowledge of the file's shrinkings.
pub trait ChunkRequest {
    fn server(&self) -> ServerId;
    fn request(&self, hint: &FileHint) -> (Request, Payload);
}

/// A request that changes chunks.
pub trait ChunkChange: ChunkRequest + Clone {
    /// Up to where the file must be writable for it, in bytes.
    fn reach(&self) -> u64;

    /// What is left of it for a file that was cut at `size` afterwards.
    fn cut(self, size: u64) -> Option<Self>;
}

impl<C: Context> Client<C> {
    /// What the client remembers of a file.
    pub(crate) fn hint(&self, id: FileId) -> Option<FileHint> {
        self.memory.borrow().files.get(id).cloned()
    }

    /// Remembers what a file's home has told.
    pub(crate) fn remember(&self, id: FileId, told: FileHint) {
        let files = &mut self.memory.borrow_mut().files;
        let read_end = files.get(id).map_or(0, |known| known.read_end);
        files.insert(id, FileHint { read_end, ..told });
    }

    /// Where the part of `offset..` ends that a file's home reads or writes together with the size: what
    /// lies in the same chunk as `offset`, if that is at home; `offset` if it is not.
    pub(crate) fn home_part_end(&self, id: FileId, hint: &FileHint, offset: u64) -> u64 {
        let width = u64::from(hint.chunk_bytes);
        let Some(index) = offset.checked_div(width) else {
            return offset;
        };
        let chunk = ChunkId { file: id, index };
        if self.map().chunk_server(chunk) == self.map().home(id) {
            (index + 1).saturating_mul(width)
        } else {
            offset
        }
    }

    /// Asks the home only.
    pub(crate) async fn ask_extent(
        &self,
        id: FileId,
        request: Request,
        data: Payload,
    ) -> Result<(Extent, Payload), Failure> {
        let (reply, data) = self.send(self.map().home(id), request, data).await?;
        let Reply::Extent {
            offset,
            stored,
            size,
            chunk_bytes,
            writable,
            reach,
            truncations,
            ..
        } = reply
        else {
            return Err(UNEXPECTED);
        };
        if chunk_bytes == 0 {
            return Err(UNEXPECTED);
        }
        let hint = FileHint {
            truncations,
            writable,
            reach,
            ..FileHint::new(chunk_bytes, size)
        };
        self.remember(id, hint.clone());
        let extent = Extent {
            offset,
            stored: stored as usize,
            size,
            hint,
        };
        Ok((extent, data))
    }

    /// The size and the layout of a file.
    pub(crate) async fn extent(&self, id: FileId) -> Result<Extent, Failure> {
        let request = Request::Read {
            id,
            offset: 0,
            length: 0,
        };
        let (extent, _) = self.ask_extent(id, request, Payload::empty()).await?;
        Ok(extent)
    }

    /// The layout of a file, from memory if possible.
    pub(crate) async fn known_hint(&self, id: FileId) -> Result<FileHint, Failure> {
        match self.hint(id) {
            Some(hint) => Ok(hint),
            None => Ok(self.extent(id).await?.hint),
        }
    }

    /// How large the chunks of a file are, in bytes; its home is asked only if the client does not
    /// remember. Errors: `ESTALE` if the file is gone.
    pub async fn chunk_bytes(&self, id: FileId) -> Result<u32, Errno> {
        let hint = self.persist(|| self.known_hint(id)).await?;
        Ok(hint.chunk_bytes)
    }

    /// Asks the servers of chunks, side by side.
    pub(crate) async fn ask_chunks<R: ChunkRequest>(
        &self,
        requests: &[R],
        hint: &FileHint,
    ) -> Result<Vec<(Reply, Payload)>, Failure> {
        let sent = requests.iter().map(|chunk| {
            let (request, data) = chunk.request(hint);
            self.send(chunk.server(), request, data)
        });
        join_all(sent).await.into_iter().collect()
    }

    /// Asks the home and the servers of chunks side by side. Chunks that were asked with old knowledge
    /// of the file's shrinkings are asked again.
    pub(crate) async fn ask_home_and_chunks<R: ChunkRequest>(
        &self,
        id: FileId,
        home: (Request, Payload),
        requests: &[R],
        hint: &FileHint,
    ) -> Result<(Extent, Payload, Vec<(Reply, Payload)>), Failure> {
        if requests.is_empty() {
            let (extent, data) = self.ask_extent(id, home.0, home.1).await?;
            return Ok((extent, data, Vec::new()));
        }
        let (home, chunks) = both(
            pin!(self.ask_extent(id, home.0, home.1)),
            pin!(self.ask_chunks(requests, hint)),
        )
        .await;
        let ((extent, data), mut chunks) = (home?, chunks?);
        if is_newer(&extent.hint.truncations, &hint.truncations) {
            chunks = self.ask_chunks(requests, &extent.hint).await?;
        }
        Ok((extent, data, chunks))
    }

    /// Changes what goes to a file's home, and chunks, which get messages of their own. All of it happens when the
    /// home's part does: what is cut off later is cut off here, too.
    pub(crate) async fn change<R: ChunkChange>(
        &self,
        id: FileId,
        home: (Request, Payload),
        parts: Vec<R>,
    ) -> Result<Extent, Errno> {
        let changed = self
            .persist(|| self.change_home(id, home.clone(), &parts))
            .await;
        if !parts.is_empty() {
            self.chunks_changed(id);
        }
        let (extent, rest) = changed?;
        self.change_chunks(id, &extent.hint, rest).await?;
        Ok(extent)
    }

    /// Chunks of a file may have been changed, also if that failed: what was read meanwhile may be older than they are now.
    fn chunks_changed(&self, id: FileId) {
        self.with_leases(|leases| leases.data_changed(id));
    }

    /// Changes what lies at the home, side by side with the chunks if it has allowed that before.
    /// Returns the parts that are still to be done.
    async fn change_home<R: ChunkChange>(
        &self,
        id: FileId,
        (request, data): (Request, Payload),
        parts: &[R],
    ) -> Result<(Extent, Vec<R>), Failure> {
        let hint = self.known_hint(id).await?;
        if parts.is_empty() || parts.iter().any(|part| part.reach() > hint.writable) {
            let (extent, _) = self.ask_extent(id, request, data).await?;
            return Ok((extent, parts.to_vec()));
        }
        let (home, refused) = both(
            pin!(self.ask_extent(id, request, data)),
            pin!(self.try_chunks(parts, &hint)),
        )
        .await;
        let ((extent, _), refused) = (home?, refused?);
        if is_newer(&extent.hint.truncations, &hint.truncations) {
            return Ok((extent, parts.to_vec()));
        }
        Ok((extent, refused))
    }

    /// Changes chunks of a file whose home's part was done when the home told `placed`.
    pub(crate) async fn change_chunks<R: ChunkChange>(
        &self,
        id: FileId,
        placed: &FileHint,
        parts: Vec<R>,
    ) -> Result<(), Errno> {
        if parts.is_empty() {
            return Ok(());
        }
        let changed = self.change_all_chunks(id, placed, parts).await;
        self.chunks_changed(id);
        changed
    }

    async fn change_all_chunks<R: ChunkChange>(
        &self,
        id: FileId,
        placed: &FileHint,
        mut parts: Vec<R>,
    ) -> Result<(), Errno> {
        let mut hint = placed.clone();
        let deadline = self.context().now() + self.config().retry;
        let mut tries = 0;
        while !parts.is_empty() {
            parts = self.persist(|| self.try_chunks(&parts, &hint)).await?;
            if parts.is_empty() {
                break;
            }
            if self.context().now() >= deadline {
                return Err(Errno::EIO);
            }
            if tries > 0 {
                self.pause(tries).await;
            }
            tries += 1;
            hint = match self.persist(|| self.ask_leave(id, &parts)).await {
                // The file was removed after it was changed.
                Err(Errno::ESTALE) => break,
                extent => extent?.hint,
            };
            if let Some(size) = hint.truncations.limit_since(placed.truncations.latest) {
                let left = parts.into_iter().filter_map(|part| part.cut(size));
                parts = left.collect();
            }
        }
        Ok(())
    }

    /// Asks the home how a file stands of which chunks are still to be changed. If it wants to hear of that first, it
    /// hears of it.
    async fn ask_leave<R: ChunkChange>(&self, id: FileId, parts: &[R]) -> Result<Extent, Failure> {
        let extent = self.extent(id).await?;
        if parts
            .iter()
            .all(|part| part.reach() <= extent.hint.writable)
        {
            return Ok(extent);
        }
        let change = Request::Write {
            id,
            offset: 0,
            end: 0,
            kill_privileges: false,
            written: None,
        };
        let (extent, _) = self.ask_extent(id, change, Payload::empty()).await?;
        Ok(extent)
    }

    /// Changes chunks, side by side. Returns the parts whose servers know more, or less, of the file
    /// than its home told: it must be asked anew.
    async fn try_chunks<R: ChunkChange>(
        &self,
        parts: &[R],
        hint: &FileHint,
    ) -> Result<Vec<R>, Failure> {
        let sent = parts.iter().map(|part| {
            let (request, data) = part.request(hint);
            self.send(part.server(), request, data)
        });
        let mut refused = Vec::new();
        for (part, answer) in parts.iter().zip(join_all(sent).await) {
            match answer {
                Ok(_) => {}
                // The home's part may be done and must not be repeated: only this one is.
                Err(Failure::Changed | Failure::NotAdmitted | Failure::Busy) => {
                    refused.push(part.clone())
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(refused)
    }
}

/// Whether the home knows of a shrinking that the chunks were not told of.
pub const fn is_newer(home: &Truncations, told: &Truncations) -> bool {
    home.latest > told.latest
}

/// A part that is read.
pub struct ReadPart {
    pub server: ServerId,
    pub part: Part,
}

impl ChunkRequest for ReadPart {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::ReadChunk {
            chunk: self.part.chunk,
            from: self.part.from,
            to: self.part.to,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, Payload::empty())
    }
}

/// A part that is written.
#[derive(Clone)]
pub struct WritePart {
    pub server: ServerId,
    pub part: Part,
    pub data: Payload,
}

impl ChunkRequest for WritePart {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::WriteChunk {
            chunk: self.part.chunk,
            offset: self.part.from,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, self.data.clone())
    }
}

impl ChunkChange for WritePart {
    fn reach(&self) -> u64 {
        self.part.end()
    }

    fn cut(mut self, size: u64) -> Option<Self> {
        let left = size.saturating_sub(self.part.offset);
        let length = left.min(self.part.len() as u64) as u32;
        self.part.to = self.part.from + length;
        self.data = self.data.slice(0, self.part.len());
        (length > 0).then_some(self)
    }
}
