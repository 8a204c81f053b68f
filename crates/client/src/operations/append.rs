//! Writes at the end of a file.

use crate::{
    Client, Context,
    data::{Extent, WritePart, is_newer},
    write_back::Begin,
};
use alloc::{boxed::Box, vec::Vec};
use futago_base::{Errno, FileId, Payload, limits};
use futago_wire::{Failure, Request};

/// The data of an append.
#[derive(Clone, Copy)]
struct Appending<'a> {
    id: FileId,
    data: &'a Payload,
    kill_privileges: bool,
}

impl<C: Context> Client<C> {
    /// Writes `data` at the end of the file at the time when the request arrives, or when it is
    /// buffered. Returns the offset of the data. Errors: as [`Client::write`].
    pub async fn append(
        &self,
        id: FileId,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        let buffered = self.buffer_write(id, Begin::AtEnd, &data, kill_privileges);
        if let Some(size) = buffered.await? {
            return Ok(size - data.len() as u64);
        }
        self.flush(id).await;
        self.register_long(id, data.len()).await?;
        let appending = Appending {
            id,
            data: &data,
            kill_privileges,
        };
        // Boxed, because it is large and most requests append nothing.
        let appended = Box::pin(self.persist(|| self.try_append(appending))).await;
        self.chunks_changed(id, None);
        if let Err(why) = appended {
            self.give_up(id, why).await;
        }
        appended
    }

    /// Registers the opens of a file at its home if the append reaches beyond one chunk. Only a
    /// registered session may write beyond the size.
    async fn register_long(&self, id: FileId, length: usize) -> Result<(), Errno> {
        let is_long = self.leased_state(id).is_some_and(|state| {
            let end = state.attributes.size.saturating_add(length as u64);
            end > u64::from(state.attributes.chunk_bytes)
        });
        if is_long {
            self.register_opens(id).await?;
        }
        Ok(())
    }

    /// Only `Changed` may start the append anew once it has a range: every other start would leave
    /// a part of the data in the first range and all of it in a second one.
    async fn try_append(&self, appending: Appending<'_>) -> Result<u64, Failure> {
        let placed = self.take_range(appending).await?;
        match self.write_range(appending, &placed).await {
            Ok(()) => Ok(placed.offset),
            Err(failure @ (Failure::Changed | Failure::Errno(_))) => Err(failure),
            Err(_) => Err(Errno::EIO.into()),
        }
    }

    async fn write_range(&self, appending: Appending<'_>, placed: &Extent) -> Result<(), Failure> {
        let Appending { id, data, .. } = appending;
        let rest = data.slice(placed.stored, data.len());
        let rest = self.cut(
            id,
            &placed.hint,
            placed.offset + placed.stored as u64,
            &rest,
        );
        if placed.size >= placed.offset + data.len() as u64 {
            return Ok(self.change_chunks(id, &placed.hint, rest, None).await?);
        }
        self.fill_range(id, placed, rest).await?;
        self.finish_range(appending, placed).await
    }

    /// Requests a range at the end; the home stores its part of the data.
    async fn take_range(&self, appending: Appending<'_>) -> Result<Extent, Failure> {
        let Appending {
            id,
            data,
            kill_privileges,
        } = appending;
        let length = u32::try_from(data.len()).map_err(|_| Errno::EFBIG)?;
        let request = Request::Append {
            id,
            length,
            kill_privileges,
        };
        // Beyond chunk 0 the home needs no data.
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
                // The home needs more of the data if the file has become shorter.
                self.memory.borrow_mut().files.remove(id);
                Err(failure)
            }
        }
    }

    /// Writes the chunks of a range that the size does not cover yet. Errors: `Changed` if a
    /// truncation has dropped the range.
    async fn fill_range(
        &self,
        id: FileId,
        placed: &Extent,
        mut parts: Vec<WritePart>,
    ) -> Result<(), Failure> {
        let deadline = self.context().now() + self.config().retry;
        for pauses in 0.. {
            parts = self.try_chunks(&parts, &placed.hint).await?;
            if parts.is_empty() {
                break;
            }
            if self.context().now() >= deadline {
                return Err(Errno::EIO.into());
            }
            self.pause(pauses).await;
            let now = self.persist(|| self.extent(id)).await?.hint;
            if is_newer(&now.truncations, &placed.hint.truncations) {
                return Err(Failure::Changed);
            }
        }
        Ok(())
    }

    /// Makes the size of the file cover a range. Errors: as [`Client::fill_range`].
    async fn finish_range(&self, appending: Appending<'_>, placed: &Extent) -> Result<(), Failure> {
        let request = Request::FinishAppend {
            id: appending.id,
            from: placed.offset,
            to: placed.offset + appending.data.len() as u64,
            kill_privileges: appending.kill_privileges,
            heard: placed.hint.truncations.latest,
        };
        self.ask_extent(appending.id, request, Payload::empty())
            .await
            .map(drop)
    }
}
