//! Changes of the data of a file, at its home and at the servers of further chunks.
//!
//! A write that makes the file grow writes the chunks first and notifies the home afterwards. So no
//! client sees a size whose data is still under way. A write within the size goes to the home and
//! the chunks in parallel. In both cases the write takes effect when the part of the home does: a
//! later truncation cuts the chunks, too. If a truncation comes between the two, the home refuses
//! its part, and the write begins anew.

use crate::{
    Client, Context,
    data::{ChunkChange, Extent, is_newer},
    join::{Transfer, both, transfer_all},
    layout::FileHint,
    leases::DataVersions,
};
use alloc::{boxed::Box, vec::Vec};
use core::pin::pin;
use futago_base::{Errno, FileId, Payload, Timestamp};
use futago_wire::{Failure, Request};

/// A write, as the home of the file sees it.
#[derive(Clone)]
pub struct HomeWrite {
    /// The file.
    pub id: FileId,
    /// The offset of the data for the home.
    pub offset: u64,
    /// The part of the data that the home stores.
    pub data: Payload,
    /// The end of the whole write.
    pub end: u64,
    /// The write covers all bytes from here to the end, with this request or with parallel ones.
    pub covered_from: u64,
    /// Whether the set-user-id bits are cleared.
    pub kill_privileges: bool,
    /// The time of the write; `None` for now.
    pub written: Option<Timestamp>,
    /// The versions of the data before it, if the caller caches what it writes.
    pub before: Option<DataVersions>,
}

impl HomeWrite {
    const fn request(&self, heard: Option<u64>) -> Request {
        Request::Write {
            id: self.id,
            offset: self.offset,
            end: self.end,
            covered_from: self.covered_from,
            kill_privileges: self.kill_privileges,
            written: self.written,
            heard,
        }
    }
}

/// The offset up to which a file must be writable for some changes.
fn reach<R: ChunkChange>(parts: &[R]) -> u64 {
    parts.iter().map(ChunkChange::reach).fold(0, u64::max)
}

impl<C: Context> Client<C> {
    /// Writes the parts of the home and of other chunks.
    pub(crate) async fn write_all<R: ChunkChange>(
        &self,
        home: &HomeWrite,
        parts: Vec<R>,
    ) -> Result<Extent, Errno> {
        // The state of a write beyond one chunk is boxed, because it is large and most requests
        // have none.
        let id = home.id;
        if parts.is_empty() {
            return self.change_after_home(home, parts).await;
        }
        let written = Box::pin(self.persist(|| self.try_write(home, &parts))).await;
        self.chunks_changed(id, home.before);
        match written {
            Ok(Some((extent, rest))) => {
                self.change_chunks(id, &extent.hint, rest, home.before)
                    .await?;
                Ok(extent)
            }
            // Only a session with the file open may leave data beyond the size. A client that meets
            // truncation after truncation must also come to an end.
            Ok(None) | Err(Errno::EBUSY) => Box::pin(self.change_after_home(home, parts)).await,
            Err(why) => {
                self.give_up(id, why).await;
                Err(why)
            }
        }
    }

    async fn change_after_home<R: ChunkChange>(
        &self,
        home: &HomeWrite,
        parts: Vec<R>,
    ) -> Result<Extent, Errno> {
        let (request, data) = (home.request(None), home.data.clone());
        self.change(home.id, request, data, parts, home.before)
            .await
    }

    /// Writes the chunks and then notifies the home. Returns the remaining parts, or `None` if the
    /// home must be asked first.
    async fn try_write<R: ChunkChange>(
        &self,
        home: &HomeWrite,
        parts: &[R],
    ) -> Result<Option<(Extent, Vec<R>)>, Failure> {
        let reach = reach(parts);
        let hint = self.writable_hint(home.id, reach).await?;
        if reach > hint.writable {
            return Ok(None);
        }
        let written = self.try_write_in_order(home, parts, &hint).await;
        if matches!(written, Err(Failure::Changed)) {
            self.memory.borrow_mut().files.remove(home.id);
        }
        written.map(Some)
    }

    async fn try_write_in_order<R: ChunkChange>(
        &self,
        home: &HomeWrite,
        parts: &[R],
        hint: &FileHint,
    ) -> Result<(Extent, Vec<R>), Failure> {
        let request = home.request(Some(hint.truncations.latest));
        let home_write = self.ask_extent(home.id, request, home.data.clone());
        let chunks = self.try_chunks(parts, hint);
        if reach(parts) <= hint.size_seen {
            let (extent, refused) = both(pin!(home_write), pin!(chunks)).await;
            return Ok((extent?.0, refused?));
        }
        if !chunks.await?.is_empty() {
            return Err(Failure::Changed);
        }
        Ok((home_write.await?.0, Vec::new()))
    }

    /// The layout of a file whose chunks are to be written up to `reach`, if its home allows that.
    async fn writable_hint(&self, id: FileId, reach: u64) -> Result<FileHint, Failure> {
        let hint = self.known_hint(id).await?;
        if reach <= hint.writable {
            return Ok(hint);
        }
        Box::pin(self.register_opens(id)).await?;
        let request = Request::PrepareWrite { id, reach };
        let (extent, _) = self.ask_extent(id, request, Payload::empty()).await?;
        Ok(extent.hint)
    }

    /// Has the home of a file allow writes up to an offset, so that the writes themselves need not
    /// ask.
    pub(crate) async fn prepare_write(&self, id: FileId, reach: u64) -> Result<(), Errno> {
        let hint = self.persist(|| self.known_hint(id)).await?;
        if reach > u64::from(hint.chunk_bytes) {
            self.persist(|| self.writable_hint(id, reach)).await?;
        }
        Ok(())
    }

    /// Removes the data that was written beyond the end of a file before a server was full.
    pub(crate) async fn give_up(&self, id: FileId, why: Errno) {
        if why == Errno::ENOSPC {
            // If this fails, the close of the file removes the data.
            self.ask_home(id, Request::CutAhead(id)).await.ok();
        }
    }

    /// Changes the home and then other chunks, by requests of their own. The change takes effect
    /// when the part of the home does: a later truncation cuts the chunks, too. `before` is as in
    /// [`HomeWrite`].
    pub(crate) async fn change<R: ChunkChange>(
        &self,
        id: FileId,
        request: Request,
        data: Payload,
        parts: Vec<R>,
        before: Option<DataVersions>,
    ) -> Result<Extent, Errno> {
        let changed = self
            .persist(|| self.change_home(id, request.clone(), data.clone(), &parts))
            .await;
        if !parts.is_empty() {
            self.chunks_changed(id, before);
        }
        let (extent, rest) = changed?;
        self.change_chunks(id, &extent.hint, rest, before).await?;
        Ok(extent)
    }

    /// Notes that chunks of a file may have changed, even if the change failed. Data that was read
    /// meanwhile may be stale. `before` is as in [`HomeWrite`].
    pub(crate) fn chunks_changed(&self, id: FileId, before: Option<DataVersions>) {
        let home = self.home_part(id);
        self.with_leases(|leases| leases.data_changed(home, before));
    }

    /// Changes the home, in parallel with the chunks if it has allowed that before. Returns the
    /// remaining parts.
    async fn change_home<R: ChunkChange>(
        &self,
        id: FileId,
        request: Request,
        data: Payload,
        parts: &[R],
    ) -> Result<(Extent, Vec<R>), Failure> {
        let hint = self.known_hint(id).await?;
        if parts.is_empty() || reach(parts) > hint.writable {
            let (extent, _) = self.ask_extent(id, request, data).await?;
            return Ok((extent, parts.to_vec()));
        }
        let (home, refused) = both(
            pin!(self.ask_extent(id, request, data)),
            pin!(self.try_chunks(parts, &hint)),
        )
        .await;
        let ((extent, _), refused) = (home?, refused?);
        if is_newer(&extent.hint.truncations, &hint.truncations) {
            return Ok((extent, parts.to_vec()));
        }
        Ok((extent, refused))
    }

    /// Changes chunks of a file. `placed` is the state of the file when the home changed its part,
    /// and `before` is as in [`HomeWrite`].
    pub(crate) async fn change_chunks<R: ChunkChange>(
        &self,
        id: FileId,
        placed: &FileHint,
        parts: Vec<R>,
        before: Option<DataVersions>,
    ) -> Result<(), Errno> {
        if parts.is_empty() {
            return Ok(());
        }
        let changed = self.change_all_chunks(id, placed, parts).await;
        self.chunks_changed(id, before);
        changed
    }

    async fn change_all_chunks<R: ChunkChange>(
        &self,
        id: FileId,
        placed: &FileHint,
        mut parts: Vec<R>,
    ) -> Result<(), Errno> {
        let mut hint = placed.clone();
        let deadline = self.context().now() + self.config().retry;
        let mut tries = 0;
        while !parts.is_empty() {
            parts = self.persist(|| self.try_chunks(&parts, &hint)).await?;
            if parts.is_empty() {
                break;
            }
            if self.context().now() >= deadline {
                return Err(Errno::EIO);
            }
            if tries > 0 {
                self.pause(tries).await;
            }
            tries += 1;
            hint = match self.persist(|| self.ask_to_write(id, &parts)).await {
                // The file was removed after it was changed.
                Err(Errno::ESTALE) => break,
                extent => extent?.hint,
            };
            if let Some(size) = hint.truncations.limit_since(placed.truncations.latest) {
                let left = parts.into_iter().filter_map(|part| part.cut(size));
                parts = left.collect();
            }
        }
        Ok(())
    }

    /// Asks the home for the state of a file before the remaining chunks change. Notifies the home
    /// of the change if it requires that.
    async fn ask_to_write<R: ChunkChange>(
        &self,
        id: FileId,
        parts: &[R],
    ) -> Result<Extent, Failure> {
        let extent = self.extent(id).await?;
        let reach = reach(parts);
        if reach <= extent.hint.writable {
            return Ok(extent);
        }
        let request = Request::PrepareWrite { id, reach };
        let (extent, _) = self.ask_extent(id, request, Payload::empty()).await?;
        Ok(extent)
    }

    /// Changes chunks in parallel, as many as the window has room for. Returns the refused parts,
    /// whose servers know more or less of the file than its home has reported. The client must ask
    /// the home again for them.
    pub(crate) async fn try_chunks<R: ChunkChange>(
        &self,
        parts: &[R],
        hint: &FileHint,
    ) -> Result<Vec<R>, Failure> {
        let sent = parts.iter().map(|part| {
            let (request, data) = part.request(hint);
            Transfer {
                bytes: data.len(),
                future: self.request(part.server(), request, data),
            }
        });
        let mut of_answers = parts.iter();
        let mut refused = Vec::new();
        transfer_all(self.window_bytes(hint), sent, |answer| {
            let part = of_answers.next();
            match answer {
                // The part of the home may be done and must not be repeated; only this one is.
                Err(Failure::Changed | Failure::NotAdmitted | Failure::Busy) => {
                    refused.extend(part.cloned());
                    Ok(())
                }
                answer => answer.map(drop),
            }
        })
        .await?;
        Ok(refused)
    }
}
