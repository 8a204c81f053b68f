//! Writes file data.

use crate::{
    Client, Context,
    changes::HomeWrite,
    data::WritePart,
    layout::{FileHint, Piece, parts},
};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload, Timestamp, limits};

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
        self.report_lost(id)?;
        if data.is_empty() {
            self.flush(id).await;
            return Ok(self.persist(|| self.extent(id)).await?.size);
        }
        if let Some(size) = self
            .buffer_write(id, offset, &data, kill_privileges)
            .await?
        {
            return Ok(size);
        }
        self.flush(id).await;
        self.write_at_servers(id, offset, &data, (kill_privileges, None))
            .await
    }

    /// Writes data that ends within the largest size to a file without dirty data. `written` is the
    /// time of a buffered write.
    pub(crate) async fn write_at_servers(
        &self,
        id: FileId,
        offset: u64,
        data: &Payload,
        (kill_privileges, written): (bool, Option<Timestamp>),
    ) -> Result<u64, Errno> {
        let before = self.before_write(id).filter(|_| !data.is_empty());
        let size = self
            .send_write(
                id,
                (offset, data),
                (&[], offset),
                (kill_privileges, written),
            )
            .await?;
        if let Some(before) = before {
            self.cache_written(id, &before, &[(offset, data.clone())]);
        }
        Ok(size)
    }

    /// Like [`Client::write_at_servers`], without caching, and with `others`: further pieces
    /// without a part for the home. The home gets one request for all pieces. The client writes all
    /// bytes from `covered_from` to the end, with this request or with parallel ones.
    pub(crate) async fn send_write(
        &self,
        id: FileId,
        (offset, data): (u64, &Payload),
        (others, covered_from): (&[Piece], u64),
        (kill_privileges, written): (bool, Option<Timestamp>),
    ) -> Result<u64, Errno> {
        let first_end = offset + data.len() as u64;
        let ends = others
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
            covered_from,
            kill_privileges,
            written,
        };
        let mut parts = self.cut(id, &hint, with_home, &rest);
        for (offset, data) in others {
            parts.extend(self.cut(id, &hint, *offset, data));
        }
        Ok(self.write_all(&home, parts).await?.size)
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
