//! Requests to a file's home and to the servers of its chunks: what they have in common, and those
//! that ask.

use crate::{
    Client, Context,
    client::UNEXPECTED,
    join::both,
    join_all,
    layout::{FileHint, Part, chunk_servers},
};
use alloc::{collections::BTreeSet, vec::Vec};
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

    /// The servers that may hold data at or after `from`.
    pub(crate) fn data_servers(
        &self,
        id: FileId,
        from: u64,
        extent: &Extent,
    ) -> BTreeSet<ServerId> {
        let chunk_bytes = extent.hint.chunk_bytes;
        let end = extent.size.min(extent.hint.chunks_end());
        let mut servers = chunk_servers(self.map(), id, chunk_bytes, from, end);
        if from < u64::from(chunk_bytes) {
            servers.insert(self.map().home(id));
        }
        servers
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
