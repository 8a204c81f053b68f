//! Requests to the home of a file and to the servers of its chunks: shared parts, and requests that
//! read.

use crate::{
    Client, Context,
    client::{CallResult, UNEXPECTED},
    join::{Transfer, both, transfer_all},
    join_all,
    layout::{FileHint, Part, chunk_servers},
};
use alloc::{collections::BTreeSet, vec::Vec};
use core::pin::pin;
use futago_base::{ChunkId, Errno, FileId, Payload, ServerId, record::Truncations};
use futago_wire::{Failure, Reply, Request};

/// The state of a file, as its home reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The offset at which the request took place.
    pub offset: u64,
    /// How many bytes of its data were stored.
    pub stored: usize,
    /// The size of the file, in bytes.
    pub size: u64,
    /// The part of the reply to cache.
    pub hint: FileHint,
}

/// A request about chunks that does not go to the home with the size. It works with any known
/// truncations of the file.
pub trait ChunkRequest {
    fn server(&self) -> ServerId;
    fn request(&self, hint: &FileHint) -> (Request, Payload);
}

/// A request that changes chunks.
pub trait ChunkChange: ChunkRequest + Clone {
    /// The offset up to which the file must be writable for it, in bytes.
    fn reach(&self) -> u64;

    /// The part that remains after a truncation of the file to `size`.
    fn cut(self, size: u64) -> Option<Self>;
}

impl<C: Context> Client<C> {
    /// The cached layout of a file.
    pub(crate) fn hint(&self, id: FileId) -> Option<FileHint> {
        self.memory.borrow().files.get(id).cloned()
    }

    /// Caches the layout that the home of a file has reported.
    pub(crate) fn remember(&self, id: FileId, hint: FileHint) {
        let files = &mut self.memory.borrow_mut().files;
        let read_end = files.get(id).map_or(0, |known| known.read_end);
        files.insert(id, FileHint { read_end, ..hint });
    }

    /// The end of the part from `offset` that the home of a file reads or writes together with the
    /// size. That part is in the same chunk as `offset`. It is empty if that chunk is not at the
    /// home.
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

    /// Asks only the home.
    pub(crate) async fn ask_extent(
        &self,
        id: FileId,
        request: Request,
        data: Payload,
    ) -> Result<(Extent, Payload), Failure> {
        let (reply, data) = self.request(self.map().home(id), request, data).await?;
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

    /// The layout of a file, from the cache if possible.
    pub(crate) async fn known_hint(&self, id: FileId) -> Result<FileHint, Failure> {
        match self.hint(id) {
            Some(hint) => Ok(hint),
            None => Ok(self.extent(id).await?.hint),
        }
    }

    /// The chunk size of a file, in bytes, from the cache if possible. Errors: `ESTALE` if the file
    /// does not exist.
    pub async fn chunk_bytes(&self, id: FileId) -> Result<u32, Errno> {
        let hint = self.persist(|| self.known_hint(id)).await?;
        Ok(hint.chunk_bytes)
    }

    /// Asks the servers of chunks in parallel.
    pub(crate) async fn ask_chunks<R: ChunkRequest>(
        &self,
        requests: &[R],
        hint: &FileHint,
    ) -> Result<Vec<(Reply, Payload)>, Failure> {
        let sent = requests.iter().map(|chunk| {
            let (request, data) = chunk.request(hint);
            self.request(chunk.server(), request, data)
        });
        join_all(sent).await.into_iter().collect()
    }

    /// Asks the servers of the chunks of one large read, some at a time. `take` gets the data in
    /// order.
    pub(crate) async fn ask_chunks_in_order(
        &self,
        parts: &[ReadPart],
        hint: &FileHint,
        mut take: impl FnMut(Payload),
    ) -> Result<(), Failure> {
        let asked = parts.iter().map(|read| {
            let (request, data) = read.request(hint);
            Transfer {
                bytes: read.part.len(),
                future: self.request(read.server, request, data),
            }
        });
        let take = |answer: CallResult| answer.map(|(_, data)| take(data));
        transfer_all(self.window_bytes(hint), asked, take).await
    }

    /// How much data of one transfer is under way at a time.
    pub(crate) fn window_bytes(&self, hint: &FileHint) -> usize {
        match self.config().transfer_bytes_max {
            0 => 0,
            most => most.max(2 * hint.chunk_bytes as usize),
        }
    }

    /// Asks the home and the servers of chunks in parallel. Chunks that were asked with obsolete
    /// truncations are asked again.
    pub(crate) async fn ask_home_and_chunks<R: ChunkRequest>(
        &self,
        id: FileId,
        home: Request,
        requests: &[R],
        hint: &FileHint,
    ) -> Result<(Extent, Payload, Vec<(Reply, Payload)>), Failure> {
        if requests.is_empty() {
            let (extent, data) = self.ask_extent(id, home, Payload::empty()).await?;
            return Ok((extent, data, Vec::new()));
        }
        let (home, chunks) = both(
            pin!(self.ask_extent(id, home, Payload::empty())),
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

/// Whether the home knows a later truncation than the chunks were asked with.
pub const fn is_newer(home: &Truncations, asked: &Truncations) -> bool {
    home.latest > asked.latest
}

/// A part to read.
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

/// A part to write.
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
