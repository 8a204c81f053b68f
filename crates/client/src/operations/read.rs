//! Reads file data.

use crate::{
    Client, Context,
    data::ReadPart,
    layout::{FileHint, Part, parts},
    leases::DataVersions,
};
use alloc::{boxed::Box, vec::Vec};
use core::{mem::take, ops::Range};
use futago_base::{Errno, FileId, Gathered, Payload, limits};
use futago_wire::{Failure, Reply, Request};

/// Buffers of fewer bytes are not worth keeping, because allocators keep them.
const SPARE_BYTES_MIN: usize = 1 << 20;

impl<C: Context> Client<C> {
    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    pub async fn read(&self, id: FileId, offset: u64, length: u32) -> Result<Payload, Errno> {
        if offset >= limits::FILE_BYTES || length == 0 {
            return Ok(Payload::empty());
        }
        if self.is_dirty(id) {
            return self.read_dirty(id, offset, length).await;
        }
        self.read_cached(id, offset, length).await
    }

    /// Reads from the servers.
    pub(crate) async fn read_now(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let data = self.persist(|| self.try_read(id, offset, length)).await?;
        self.with_sharing(|sharing| sharing.counters.bytes_from_servers += data.len() as u64);
        Ok(data)
    }

    async fn try_read(&self, id: FileId, offset: u64, length: u32) -> Result<Payload, Failure> {
        let end = offset.saturating_add(u64::from(length));
        let end = end.min(limits::FILE_BYTES);
        if let Some(data) = self.read_without_home(id, offset..end).await? {
            return Ok(data);
        }
        let versions = self.data_versions(id);
        let (data, hint) = self.read_with_home(id, offset..end).await?;
        if let Some(versions) = versions.filter(|_| self.data_versions(id) == versions) {
            let read_version = Some(versions.now);
            self.remember(
                id,
                FileHint {
                    read_version,
                    ..hint
                },
            );
        }
        Ok(data)
    }

    /// Reads from the servers of chunks alone while no client changes the file. The home has
    /// reported the layout, and has noted a read for the access time. `None` if the home must be
    /// asked.
    async fn read_without_home(
        &self,
        id: FileId,
        range: Range<u64>,
    ) -> Result<Option<Payload>, Failure> {
        let Some((versions, hint)) = self.unchanged_hint(id) else {
            return Ok(None);
        };
        let Some(state) = self.clean_state(id) else {
            return Ok(None);
        };
        if self.home_part_end(id, &hint, range.start) > range.start {
            return Ok(None);
        }
        let end = range.end.min(state.attributes.size);
        let parts = self.read_parts(id, &hint, range.start, range.start..end);
        let mut whole = self.gather(range.start..end);
        self.read_chunks(&parts, &hint, end, &mut whole).await?;
        let data = self.finish(whole);
        let is_unchanged = self.data_versions(id) == Some(versions);
        Ok(is_unchanged.then_some(data))
    }

    /// The cached layout of a file that no client has changed since its home was asked to read.
    fn unchanged_hint(&self, id: FileId) -> Option<(DataVersions, FileHint)> {
        let versions = self.data_versions(id)?;
        let hint = self.hint(id)?;
        (hint.read_version == Some(versions.now)).then_some((versions, hint))
    }

    /// Reads with the home. Returns the layout in its reply, too.
    async fn read_with_home(
        &self,
        id: FileId,
        range: Range<u64>,
    ) -> Result<(Payload, FileHint), Failure> {
        let Range { start: offset, end } = range;
        let length = (end - offset) as u32;
        let home = Request::Read { id, offset, length };
        // The first chunks that probably exist are requested at once, the rest after the reply of
        // the home with the size. The data must have one point in time. So no part of a chunk may
        // come from an earlier reply than the rest.
        let hint = self.hint(id).unwrap_or_else(|| FileHint::new(0, 0));
        let known = end_of_chunks(&hint).min(hint.chunks_end());
        let known = known.min(self.end_of_first_chunks(&hint, offset));
        let known = end.min(known).max(offset);
        let mut parts = self.read_parts(id, &hint, offset, offset..known);
        let (extent, first, mut answers) =
            self.ask_home_and_chunks(id, home, &parts, &hint).await?;
        let end = end.min(extent.size);
        let known = if extent.size > hint.size_seen {
            forget_beyond(hint.size_seen, &mut parts, &mut answers).unwrap_or(known)
        } else {
            known
        };
        let first_end = end.min(self.home_part_end(id, &extent.hint, offset));
        let mut whole = self.gather(offset..end);
        push(&mut whole, first, length_of(offset..first_end));
        for (ReadPart { part, .. }, (_, data)) in parts.iter().zip(answers) {
            push(&mut whole, data, wanted(part, end));
        }
        let more = self.read_parts(id, &extent.hint, offset, known..end);
        self.read_chunks(&more, &extent.hint, end, &mut whole)
            .await?;
        Ok((self.finish(whole), extent.hint))
    }

    /// Reads parts in order, of a file that ends at `end`. No server is asked beyond the last
    /// possible chunk.
    async fn read_chunks(
        &self,
        parts: &[ReadPart],
        hint: &FileHint,
        end: u64,
        whole: &mut Gathered,
    ) -> Result<(), Failure> {
        let held = parts.partition_point(|read| read.part.offset < hint.chunks_end());
        let (held, holes) = parts.split_at(held);
        // Boxed, because it is large and most reads have no such part.
        if !held.is_empty() {
            let mut lengths = held.iter().map(|read| wanted(&read.part, end));
            let take = |data| push(whole, data, lengths.next().unwrap_or(0));
            Box::pin(self.ask_chunks_in_order(held, hint, take)).await?;
        }
        for ReadPart { part, .. } in holes {
            push(whole, Payload::empty(), wanted(part, end));
        }
        Ok(())
    }

    /// The end of the chunks that a read from `offset` requests before it knows the size.
    fn end_of_first_chunks(&self, hint: &FileHint, offset: u64) -> u64 {
        let width = u64::from(hint.chunk_bytes).max(1);
        let chunks = self.window_bytes(hint) as u64 / width;
        (offset / width + chunks).saturating_mul(width)
    }

    /// Begins to join the data of a range.
    fn gather(&self, range: Range<u64>) -> Gathered {
        let spare = take(&mut *self.spare.borrow_mut());
        Gathered::new(length_of(range), spare)
    }

    /// Joined data, whose buffer is used again when the caller has dropped it.
    fn finish(&self, whole: Gathered) -> Payload {
        let (data, spare) = whole.finish();
        if spare.len() >= SPARE_BYTES_MIN {
            *self.spare.borrow_mut() = spare;
        }
        data
    }

    /// Drops the buffer of earlier reads.
    pub(crate) fn drop_spare(&self) {
        take(&mut *self.spare.borrow_mut());
    }

    /// The parts of a range of a read from `offset` on, except for the part that the home brings.
    fn read_parts(
        &self,
        id: FileId,
        hint: &FileHint,
        offset: u64,
        range: Range<u64>,
    ) -> Vec<ReadPart> {
        let from = range.start.max(self.home_part_end(id, hint, offset));
        let parts = parts(id, hint.chunk_bytes, from, range.end).into_iter();
        let with_server = parts.map(|part| ReadPart {
            server: self.map().chunk_server(part.chunk),
            part,
        });
        with_server.collect()
    }
}

/// The end of the last chunk that probably exists.
fn end_of_chunks(hint: &FileHint) -> u64 {
    let width = u64::from(hint.chunk_bytes).max(1);
    hint.size_seen.div_ceil(width).saturating_mul(width)
}

/// Drops the parts that reach beyond a size. The file has grown since, and they may have been read
/// before the write there. Returns the offset of the first dropped part.
fn forget_beyond(
    size: u64,
    parts: &mut Vec<ReadPart>,
    answers: &mut Vec<(Reply, Payload)>,
) -> Option<u64> {
    let within = parts.partition_point(|read| read.part.end() <= size);
    let begin = parts.get(within).map(|read| read.part.offset);
    parts.truncate(within);
    answers.truncate(within);
    begin
}

/// Adds the next `wanted` bytes. A hole shortens the data.
fn push(whole: &mut Gathered, data: Payload, wanted: usize) {
    whole.push(data.slice(0, data.len().min(wanted)), wanted);
}

const fn length_of(range: Range<u64>) -> usize {
    range.end.saturating_sub(range.start) as usize
}

/// The length of a part before the end of the file.
fn wanted(part: &Part, end: u64) -> usize {
    end.saturating_sub(part.offset).min(part.len() as u64) as usize
}
