//! Writes file data.

use crate::{
    Client, Context,
    data::WritePart,
    layout::{FileHint, parts},
};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload, limits};
use futago_wire::Request;

/// Data cut at the borders of chunks.
pub struct Cut {
    /// What belongs into chunk 0.
    pub first: Payload,
    /// The rest.
    pub others: Vec<WritePart>,
}

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
        let end = end.ok_or(Errno::EFBIG)?;
        if data.is_empty() {
            return Ok(self.persist(|| self.extent(id)).await?.size);
        }
        let request = Request::Write {
            id,
            offset,
            end,
            kill_privileges,
        };
        let hint = self.persist(|| self.known_hint(id)).await?;
        let cut = self.cut(id, &hint, offset, &data);
        let home = (request, cut.first);
        Ok(self.change(id, home, cut.others).await?.size)
    }

    /// Data that begins at `offset`, cut at the borders of chunks.
    pub(crate) fn cut(&self, id: FileId, hint: &FileHint, offset: u64, data: &Payload) -> Cut {
        let mut cut = Cut {
            first: Payload::empty(),
            others: Vec::new(),
        };
        let end = offset + data.len() as u64;
        for part in parts(id, hint.chunk_bytes, offset, end) {
            let at = (part.offset - offset) as usize;
            let data = data.slice(at, at + part.len());
            if part.chunk.index == 0 {
                cut.first = data;
            } else {
                cut.others.push(WritePart {
                    server: self.map().chunk_server(part.chunk),
                    part,
                    data,
                });
            }
        }
        cut
    }
}
