//! Writes at the end of a file.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Payload, limits};
use futago_wire::{Failure, Request};

impl<C: Context> Client<C> {
    /// Writes `data` at the end of the file, wherever that is when the request arrives, and returns
    /// the offset that it got. Errors: as [`Client::write`].
    pub async fn append(
        &self,
        id: FileId,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        let (offset, stored) = self
            .persist(|| self.try_append(id, &data, kill_privileges))
            .await?;
        let rest = data.slice(stored, data.len());
        if !rest.is_empty() {
            let at = offset + stored as u64;
            self.write(id, at, rest, kill_privileges).await?;
        }
        Ok(offset)
    }

    /// Takes a range at the end. Returns where it begins and how much of the data is there already.
    async fn try_append(
        &self,
        id: FileId,
        data: &Payload,
        kill_privileges: bool,
    ) -> Result<(u64, usize), Failure> {
        let length = u32::try_from(data.len()).map_err(|_| Errno::EFBIG)?;
        let request = Request::Append {
            id,
            length,
            kill_privileges,
        };
        // Beyond chunk 0 the home has no use for the data.
        let hint = self.hint(id);
        let beyond = hint.is_some_and(|hint| hint.size_seen >= u64::from(hint.chunk_bytes));
        let sent = if beyond {
            0
        } else {
            data.len().min(limits::PAYLOAD_BYTES)
        };
        let (extent, _) = self.ask_extent(id, request, data.slice(0, sent)).await?;
        Ok((extent.offset, extent.stored.min(sent)))
    }
}
