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
    /// Writes `data` at `offset` and returns the file's size after it. `kill_privileges` takes the
    /// set-user-id bits away, as writes of ordinary users do. Errors: `EFBIG`, `ENOSPC`.
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
        self.tell_lost(id)?;
        if data.is_empty() {
            self.send_unsent(id).await;
            return Ok(self.persist(|| self.extent(id)).await?.size);
        }
        if let Some(size) = self.keep_write(id, offset, &data, kill_privileges).await? {
            return Ok(size);
        }
        self.send_unsent(id).await;
        self.write_at_servers(id, offset, &data, (kill_privileges, None))
            .await
    }

    /// Writes data that ends within the largest size, and of which nothing is unsent. It may have been written by its
    /// caller some time ago.
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
            self.keep_written(id, &before, &[(offset, data.clone())]);
        }
        Ok(size)
    }

    /// The same without keeping it, with further pieces of which nothing needs to go to the home: it hears of all of them
    /// at once. From `covered_from` on the caller writes everything, with this and side by side.
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

    /// Data that begins at `offset`, cut at the borders of chunks.
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
