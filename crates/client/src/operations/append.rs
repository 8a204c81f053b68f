//! Writes at the end of a file.

use crate::{Client, Context, data::Extent};
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
        self.synchronize(id).await?;
        let extent = self
            .persist(|| self.try_append(id, &data, kill_privileges))
            .await?;
        let rest = data.slice(extent.stored, data.len());
        let at = extent.offset + extent.stored as u64;
        let rest = self.cut(id, &extent.hint, at, &rest);
        self.change_chunks(id, &extent.hint, rest).await?;
        Ok(extent.offset)
    }

    /// Takes a range at the end, and stores what of the data belongs at the home.
    async fn try_append(
        &self,
        id: FileId,
        data: &Payload,
        kill_privileges: bool,
    ) -> Result<Extent, Failure> {
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
        match self.ask_extent(id, request, data.slice(0, sent)).await {
            Ok((extent, _)) => Ok(extent),
            Err(failure) => {
                // The home wants more of the data if the file is shorter than it was.
                self.memory.borrow_mut().files.remove(id);
                Err(failure)
            }
        }
    }
}
