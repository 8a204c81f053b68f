//! Copies within and between files.
//!
//! If a chunk of the source and a chunk of the target are on one server, that server copies, and no
//! data moves. Files that were created in parallel have such chunks. The rest goes through the
//! client.

use crate::{
    Client, Context,
    changes::HomeWrite,
    data::{ChunkChange, ChunkRequest, Extent},
    layout::FileHint,
};
use alloc::vec::Vec;
use futago_base::{ChunkId, Errno, FileId, Payload, ServerId, limits};
use futago_wire::Request;

/// The most bytes under way through the client.
const STEP_BYTES: u64 = 4 << 20;
/// The most chunks that servers copy in parallel.
const COPIES_MAX: usize = 64;

/// The progress of a copy: the next offsets to read and to write, and the remaining bytes.
#[derive(Clone, Copy)]
struct Cursor {
    source: FileId,
    from: u64,
    target: FileId,
    to: u64,
    left: u64,
}

impl Cursor {
    const fn after(self, copied: u64) -> Self {
        Self {
            from: self.from + copied,
            to: self.to + copied,
            left: self.left - copied,
            ..self
        }
    }
}

/// A piece that one server copies from chunk to chunk.
#[derive(Clone)]
struct CopyPart {
    server: ServerId,
    source: ChunkId,
    from: u32,
    length: u32,
    source_hint: FileHint,
    target: ChunkId,
    offset: u32,
    /// The offset of the piece in the target.
    to: u64,
}

impl ChunkRequest for CopyPart {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::CopyChunk {
            source: self.source,
            from: self.from,
            to: self.from + self.length,
            source_truncations: self.source_hint.truncations.clone(),
            target: self.target,
            offset: self.offset,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, Payload::empty())
    }
}

impl ChunkChange for CopyPart {
    fn reach(&self) -> u64 {
        self.to + u64::from(self.length)
    }

    fn cut(mut self, size: u64) -> Option<Self> {
        let left = size.saturating_sub(self.to);
        self.length = left.min(u64::from(self.length)) as u32;
        (self.length > 0).then_some(self)
    }
}

impl<C: Context> Client<C> {
    /// Copies up to `length` bytes and returns how many; fewer only at the end of the source.
    /// Errors: `EINVAL` if the ranges overlap within one file, `EFBIG`.
    pub async fn copy_range(
        &self,
        source: FileId,
        source_offset: u64,
        target: FileId,
        target_offset: u64,
        length: u64,
    ) -> Result<u64, Errno> {
        let distance = source_offset.abs_diff(target_offset);
        if source == target && distance < length {
            return Err(Errno::EINVAL);
        }
        let room = limits::FILE_BYTES.checked_sub(target_offset);
        let length = length.min(room.ok_or(Errno::EFBIG)?);
        self.flush(source).await;
        self.flush(target).await;
        // The copy may make the source grow if it is the target, too.
        let size = self.persist(|| self.extent(source)).await?.size;
        let length = length.min(size.saturating_sub(source_offset));
        let start = Cursor {
            source,
            from: source_offset,
            target,
            to: target_offset,
            left: length,
        };
        let mut copied = 0;
        while copied < length {
            match self.copy_some(start.after(copied)).await {
                Ok(0) => break,
                Ok(count) => copied += count,
                Err(errno) => return partial(copied, errno),
            }
        }
        Ok(copied)
    }

    async fn copy_some(&self, at: Cursor) -> Result<u64, Errno> {
        match self.copy_on_servers(at).await? {
            0 => self.copy_through_client(at).await,
            copied => Ok(copied),
        }
    }

    /// Lets servers copy from here on as far as they can. Returns the number of copied bytes.
    async fn copy_on_servers(&self, at: Cursor) -> Result<u64, Errno> {
        let source = self.persist(|| self.extent(at.source)).await?;
        let target = self.persist(|| self.known_hint(at.target)).await?;
        let left = at.left.min(source.size.saturating_sub(at.from));
        let parts = self.parts_on_servers(Cursor { left, ..at }, &source, &target);
        let copied: u64 = parts.iter().map(|part| u64::from(part.length)).sum();
        if copied == 0 {
            return Ok(0);
        }
        let end = at.to + copied;
        let home = HomeWrite {
            id: at.target,
            offset: at.to,
            data: Payload::empty(),
            end,
            covered_from: at.to,
            kill_privileges: false,
            written: None,
            before: None,
        };
        self.write_all(&home, parts).await?;
        Ok(copied)
    }

    /// The pieces from here on that lie within one chunk of either file, with both chunks on one
    /// server and neither at a home.
    fn parts_on_servers(&self, at: Cursor, source: &Extent, target: &FileHint) -> Vec<CopyPart> {
        let mut parts = Vec::new();
        let width = u64::from(target.chunk_bytes);
        if source.hint.chunk_bytes != target.chunk_bytes || at.source == at.target {
            return parts;
        }
        let mut at = at;
        while at.left > 0 && parts.len() < COPIES_MAX {
            let chunk = |file, offset: u64| ChunkId {
                file,
                index: offset / width,
            };
            if at.from >= source.hint.chunks_end() {
                break;
            }
            let (from, to) = (chunk(at.source, at.from), chunk(at.target, at.to));
            let server = self.map().chunk_server(from);
            if from.index == 0 || to.index == 0 || server != self.map().chunk_server(to) {
                break;
            }
            let (from_offset, offset) = (at.from % width, at.to % width);
            let length = at.left.min(width - from_offset).min(width - offset);
            parts.push(CopyPart {
                server,
                source: from,
                from: from_offset as u32,
                length: length as u32,
                source_hint: source.hint.clone(),
                target: to,
                offset: offset as u32,
                to: at.to,
            });
            at = at.after(length);
        }
        parts
    }

    /// Reads one step and writes it.
    async fn copy_through_client(&self, at: Cursor) -> Result<u64, Errno> {
        let step = self.step(at).await?;
        let data = self.read(at.source, at.from, step).await?;
        if data.is_empty() {
            return Ok(0);
        }
        let read = data.len() as u64;
        self.write_at_servers(at.target, at.to, &data, false)
            .await?;
        Ok(read)
    }

    /// The length of one step through the client. It ends at the end of chunk 0 of either file, so
    /// that servers can continue from there.
    async fn step(&self, at: Cursor) -> Result<u32, Errno> {
        let width = self
            .persist(|| self.known_hint(at.target))
            .await?
            .chunk_bytes;
        let within = u64::from(width).checked_sub(at.from.min(at.to));
        let step = within.filter(|&rest| rest > 0).unwrap_or(STEP_BYTES);
        Ok(at.left.min(step).min(STEP_BYTES) as u32)
    }
}

/// Returns the copied bytes if there are any; the error then occurs again in the next call.
const fn partial(copied: u64, errno: Errno) -> Result<u64, Errno> {
    if copied > 0 { Ok(copied) } else { Err(errno) }
}
