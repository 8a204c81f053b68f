//! Writes file data.

use crate::{
    Client, Context,
    changes::HomeWrite,
    data::WritePart,
    layout::{FileHint, Piece, parts},
    leases::DataVersions,
    write_back::Begin,
};
use alloc::{boxed::Box, vec::Vec};
use futago_base::{Errno, FileId, Payload, Timestamp, limits};

/// Pieces that are written with one request to the home.
pub struct PieceWrite<'a> {
    /// Where the piece begins that may have a part for the home.
    pub offset: u64,
    /// That piece.
    pub data: &'a Payload,
    /// Further pieces, without a part for the home.
    pub others: &'a [Piece],
    /// The client writes all bytes from here to the end, with this request or with parallel ones.
    pub covered_from: u64,
    /// Whether the set-user-id and set-group-id bits are cleared.
    pub kill_privileges: bool,
    /// The time of a buffered write; `None` for now.
    pub written: Option<Timestamp>,
    /// The versions of the data before the write, if the caller caches the pieces.
    pub before: Option<DataVersions>,
}

impl<C: Context> Client<C> {
    /// Writes `data` at `offset` and returns the size of the file after it. `kill_privileges`
    /// clears the set-user-id bits, as a write of an unprivileged user does. Errors: `EFBIG`,
    /// `ENOSPC`.
    pub async fn write(
        &self,
        id: FileId,
        offset: u64,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        let end = offset.checked_add(data.len() as u64);
        let end = end.filter(|&end| end <= limits::FILE_BYTES);
        end.ok_or(Errno::EFBIG)?;
        if data.is_empty() {
            self.flush(id).await;
            return Ok(self.persist(|| self.extent(id)).await?.size);
        }
        if let Some(size) = self
            .buffer_write(id, Begin::At(offset), &data, kill_privileges)
            .await?
        {
            return Ok(size);
        }
        self.flush(id).await;
        if self.may_share_writes(offset + data.len() as u64) {
            // Boxed, because it is rare and large.
            Box::pin(self.take_exclusive(id, 1)).await?;
        }
        self.write_at_servers(id, offset, &data, kill_privileges)
            .await
    }

    /// Writes data that ends within the largest size to a file without dirty data.
    pub(crate) async fn write_at_servers(
        &self,
        id: FileId,
        offset: u64,
        data: &Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        let before = self.before_write(id).filter(|_| !data.is_empty());
        let write = PieceWrite {
            offset,
            data,
            others: &[],
            covered_from: offset,
            kill_privileges,
            written: None,
            before: self.versions_to_cache(id, before.as_ref()),
        };
        let size = self.send_write(id, write).await?;
        if let Some(before) = before {
            self.cache_written(id, &before, &[(offset, data.clone())], 1);
        }
        Ok(size)
    }

    /// Writes pieces without caching them, with one request to the home. Returns the size of the
    /// file after it.
    pub(crate) async fn send_write(&self, id: FileId, write: PieceWrite<'_>) -> Result<u64, Errno> {
        let PieceWrite { offset, data, .. } = write;
        let first_end = offset + data.len() as u64;
        let ends = write
            .others
            .iter()
            .map(|(offset, data)| offset + data.len() as u64);
        let hint = self.persist(|| self.known_hint(id)).await?;
        let with_home = self.home_part_end(id, &hint, offset).min(first_end);
        let (first, rest) = data.split_at((with_home - offset) as usize);
        let home = HomeWrite {
            id,
            offset,
            data: first,
            end: ends.fold(first_end, u64::max),
            covered_from: write.covered_from,
            kill_privileges: write.kill_privileges,
            written: write.written,
            before: write.before,
        };
        let mut parts = self.cut(id, &hint, with_home, &rest);
        for (offset, data) in write.others {
            parts.extend(self.cut(id, &hint, *offset, data));
        }
        // Boxed, because it is large.
        let written = Box::pin(self.write_all(&home, parts));
        Ok(written.await?.size)
    }

    /// Divides data that begins at `offset` into chunks.
    pub(crate) fn cut(
        &self,
        id: FileId,
        hint: &FileHint,
        offset: u64,
        data: &Payload,
    ) -> Vec<WritePart> {
        let end = offset + data.len() as u64;
        let parts = parts(id, hint.chunk_bytes, offset, end).into_iter();
        let with_data = parts.map(|part| {
            let at = (part.offset - offset) as usize;
            WritePart {
                server: self.map().chunk_server(part.chunk),
                part,
                data: data.slice(at, at + part.len()),
            }
        });
        with_data.collect()
    }
}
