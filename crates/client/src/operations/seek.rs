//! Finds data and holes.

use crate::{
    Client, Context,
    client::UNEXPECTED,
    data::{ChunkRequest, Extent},
    layout::FileHint,
};
use alloc::vec::Vec;
use futago_base::{ChunkId, Errno, FileId, Payload, ServerId};
use futago_wire::{Failure, Reply, Request};

/// The most chunks that are searched for holes in parallel.
const CHUNKS_AT_ONCE: u64 = 64;

/// A request for the start of the next data on one server.
struct NextData {
    server: ServerId,
    file: FileId,
    from: u64,
}

impl ChunkRequest for NextData {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::NextData {
            file: self.file,
            from: self.from,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, Payload::empty())
    }
}

/// A request for the start of the next hole in one chunk.
struct NextHole {
    server: ServerId,
    file: FileId,
    from: u64,
}

impl ChunkRequest for NextHole {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::NextHole {
            file: self.file,
            from: self.from,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, Payload::empty())
    }
}

impl<C: Context> Client<C> {
    /// The first offset at or after `offset` that holds data. Errors: `ENXIO` beyond the last data.
    pub async fn seek_data(&self, id: FileId, offset: u64) -> Result<u64, Errno> {
        self.flush(id).await;
        self.persist(|| self.try_seek_data(id, offset)).await
    }

    async fn try_seek_data(&self, id: FileId, offset: u64) -> Result<u64, Failure> {
        let extent = self.extent_beyond(id, offset).await?;
        let asked: Vec<NextData> = self
            .data_servers(id, offset, &extent)
            .into_iter()
            .map(|server| NextData {
                server,
                file: id,
                from: offset,
            })
            .collect();
        let answers = self.ask_chunks(&asked, &extent.hint).await?;
        let mut nearest = None;
        for found in offsets(answers)?.into_iter().flatten() {
            nearest = Some(found.min(nearest.unwrap_or(u64::MAX)));
        }
        let nearest = nearest.filter(|&found| found < extent.size);
        nearest.ok_or_else(|| Errno::ENXIO.into())
    }

    /// The first hole at or after `offset`; the end of the file is a hole. Errors: `ENXIO` at or
    /// beyond the end.
    pub async fn seek_hole(&self, id: FileId, offset: u64) -> Result<u64, Errno> {
        self.flush(id).await;
        self.persist(|| self.try_seek_hole(id, offset)).await
    }

    async fn try_seek_hole(&self, id: FileId, offset: u64) -> Result<u64, Failure> {
        let extent = self.extent_beyond(id, offset).await?;
        let width = u64::from(extent.hint.chunk_bytes);
        let end = extent.size.min(extent.hint.chunks_end());
        let mut from = offset;
        while from < end {
            let first = from / width;
            let last = first + CHUNKS_AT_ONCE.min(end.div_ceil(width) - first);
            let asked: Vec<NextHole> = (first..last)
                .map(|index| NextHole {
                    server: self.map().chunk_server(ChunkId { file: id, index }),
                    file: id,
                    from: from.max(index * width),
                })
                .collect();
            let found = offsets(self.ask_chunks(&asked, &extent.hint).await?)?;
            for (index, found) in (first..).zip(found) {
                let found = found.ok_or(UNEXPECTED)?;
                if found < (index + 1) * width {
                    return Ok(found.min(extent.size));
                }
            }
            from = last * width;
        }
        Ok(from.min(extent.size))
    }

    /// The layout of a file that is longer than `offset`.
    async fn extent_beyond(&self, id: FileId, offset: u64) -> Result<Extent, Failure> {
        let extent = self.extent(id).await?;
        if offset >= extent.size {
            return Err(Errno::ENXIO.into());
        }
        Ok(extent)
    }
}

fn offsets(answers: Vec<(Reply, Payload)>) -> Result<Vec<Option<u64>>, Failure> {
    let offset = |(reply, _)| match reply {
        Reply::Offset(offset) => Ok(offset),
        _ => Err(UNEXPECTED),
    };
    answers.into_iter().map(offset).collect()
}
