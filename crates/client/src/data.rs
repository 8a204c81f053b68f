//! Requests to a file's home and to the servers of its chunks, side by side.

use crate::{
    Client, Context,
    client::UNEXPECTED,
    join_all,
    layout::{FileHint, Part},
};
use alloc::vec::Vec;
use futago_base::{FileId, Payload, ServerId, record::Truncations};
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

/// A request about chunks other than chunk 0, for any knowledge of the file's shrinkings.
pub trait ChunkRequest {
    fn server(&self) -> ServerId;
    fn request(&self, hint: &FileHint) -> (Request, Payload);
}

impl<C: Context> Client<C> {
    /// What the client remembers of a file.
    pub(crate) fn hint(&self, id: FileId) -> Option<FileHint> {
        self.memory.borrow().files.get(id).cloned()
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
            truncations,
        } = reply
        else {
            return Err(UNEXPECTED);
        };
        if chunk_bytes == 0 {
            return Err(UNEXPECTED);
        }
        let hint = FileHint {
            chunk_bytes,
            truncations,
            size_seen: size,
        };
        self.memory.borrow_mut().files.insert(id, hint.clone());
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
        let asked = (
            self.ask_extent(id, home.0, home.1),
            self.ask_chunks(requests, hint),
        );
        let (home, chunks) = crate::join::both(asked.0, asked.1).await;
        let ((extent, data), mut chunks) = (home?, chunks?);
        if is_newer(&extent.hint.truncations, &hint.truncations) && !requests.is_empty() {
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
