//! Write-back: under an exclusive lease a client buffers small writes and sends many of them at
//! once.
//!
//! Meanwhile the home discloses the state of the file to no other client. The client itself writes
//! back before it asks the home for anything but data, so that sizes and times are those of the
//! home. Dirty data is written back by `fsync` and `close`, by a recall, by every keep-alive, and
//! when there is too much of it. A write-back holds the lock of the file; so do reads of a dirty
//! file and buffered writes.

use crate::{
    Client, Context, join_all,
    layout::{FileHint, Piece},
    leases::{DataVersions, Leases},
    operations::PieceWrite,
    write_buffer::DirtyFile,
};
use alloc::{boxed::Box, vec::Vec};
use core::mem::take;
use futago_base::{Errno, FileId, Payload, Timestamp, limits};
use futago_wire::Request;

/// The largest buffered write, in bytes: larger ones cost little more when sent at once.
const BUFFERED_WRITE_MAX: usize = 128 << 10;
/// The most runs that are sent in parallel.
const RUNS_AT_ONCE: usize = 16;

/// Where a buffered write begins.
#[derive(Clone, Copy)]
pub(crate) enum Begin {
    At(u64),
    AtEnd,
}

impl<C: Context> Client<C> {
    /// Whether a file has dirty data, or is being written back.
    pub(crate) fn is_dirty(&self, id: FileId) -> bool {
        self.file_locks.is_locked(id) || self.memory.borrow().write_buffer.file(id).is_some()
    }

    /// Buffers a write if possible. Returns the size of the file with it; `None` if the caller must
    /// send the write.
    pub(crate) async fn buffer_write(
        &self,
        id: FileId,
        begin: Begin,
        data: &Payload,
        kill_privileges: bool,
    ) -> Result<Option<u64>, Errno> {
        let after = self.config().exclusive_after;
        if !self.may_buffer(id, data) || !self.take_exclusive(id, after).await? {
            return Ok(None);
        }
        let _lock = self.file_locks.take(id).await;
        if !self.is_exclusive(id) || !self.may_buffer(id, data) {
            return Ok(None);
        }
        let size = self.add_to_buffer(id, begin, data, kill_privileges);
        if size.is_none() || self.has_too_much() {
            self.write_back(id).await;
        }
        match (size, begin) {
            (None, Begin::At(offset)) => {
                // The lock keeps other tasks out until all pending requests have ended. Boxed,
                // because it is rare and large.
                let written = self.write_at_servers(id, offset, data, kill_privileges);
                Box::pin(written).await.map(Some)
            }
            (size, _) => Ok(size),
        }
    }

    fn may_buffer(&self, id: FileId, data: &Payload) -> bool {
        (1..=BUFFERED_WRITE_MAX).contains(&data.len())
            && self.config().dirty_bytes_max > 0
            && self.memory.borrow().write_buffer.accepts(id)
    }

    fn has_too_much(&self) -> bool {
        self.memory.borrow().write_buffer.bytes() > self.config().dirty_bytes_max
    }

    /// Whether the client has an exclusive lease. It asks for one at this write and then at growing
    /// intervals.
    pub(crate) async fn take_exclusive(&self, id: FileId, after: u32) -> Result<bool, Errno> {
        if self.is_exclusive(id) {
            return Ok(true);
        }
        let home = self.home_part(id);
        if self.with_leases(|leases| leases.writes(home, after)) != Some(true) {
            return Ok(false);
        }
        self.ask_home(id, Request::TakeExclusive(id)).await?;
        Ok(self.is_exclusive(id))
    }

    /// Whether the home recalls the lease before it discloses the state of the file to another
    /// client.
    pub(crate) fn is_exclusive(&self, id: FileId) -> bool {
        let (home, now) = (self.home_part(id), self.context().now());
        let is_exclusive = |leases: &mut Leases| leases.is_exclusive(home, now);
        self.with_leases(is_exclusive) == Some(true)
    }

    /// Buffers a write to a file under an exclusive lease. `None` if the size is unknown, because a
    /// pending request may change it, or if the file would be too large.
    fn add_to_buffer(
        &self,
        id: FileId,
        begin: Begin,
        data: &Payload,
        kill_privileges: bool,
    ) -> Option<u64> {
        let home = self.home_part(id);
        if self.with_leases(|leases| leases.is_changing(home)) != Some(false) {
            return None;
        }
        let write_buffer = self.memory.borrow().write_buffer.file(id);
        let size = match write_buffer {
            Some(file) => file.size,
            None => self.leased_state(id)?.attributes.size,
        };
        let offset = match begin {
            Begin::At(offset) => offset,
            Begin::AtEnd => size,
        };
        if offset + data.len() as u64 > limits::FILE_BYTES {
            return None;
        }
        let written = Timestamp::from(self.context().stamp());
        let write_buffer = &mut self.memory.borrow_mut().write_buffer;
        let data = data.clone().compact();
        Some(write_buffer.put(id, offset, data, size, written, kill_privileges))
    }

    /// Reads a file with dirty data.
    pub(crate) async fn read_dirty(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let _lock = self.file_locks.take(id).await;
        let end = offset.saturating_add(length.into());
        let is_exclusive = self.is_exclusive(id);
        let buffered = || self.memory.borrow().write_buffer.read(id, offset, end);
        if let Some(data) = is_exclusive.then(buffered).flatten() {
            return Ok(data);
        }
        let read = self.read_now(id, offset, length).await?;
        let write_buffer = &self.memory.borrow().write_buffer;
        Ok(write_buffer.overlay(id, offset, end, read))
    }

    /// Writes back a file before another request asks for it or changes it. A lost write is
    /// reported to the next `fsync` or `close`.
    pub(crate) async fn flush(&self, id: FileId) {
        if self.is_dirty(id) {
            let _lock = self.file_locks.take(id).await;
            self.write_back(id).await;
        }
    }

    /// Writes back all files.
    pub(crate) async fn flush_all(&self) {
        let files = self.memory.borrow().write_buffer.files();
        join_all(files.into_iter().map(|id| self.flush(id))).await;
    }

    /// Writes back all files, and sends later writes at once, before a program ends that others
    /// write through. Returns the files of which a write is lost, and why.
    pub async fn stop_buffering(&self) -> Vec<(FileId, Errno)> {
        self.memory.borrow_mut().write_buffer.close();
        self.flush_all().await;
        self.memory.borrow().write_buffer.lost()
    }

    /// The operation of `fsync`: all earlier writes to the file are on its servers when it returns.
    /// Errors: the reason of an earlier lost write, reported once.
    pub async fn synchronize(&self, id: FileId) -> Result<(), Errno> {
        self.flush(id).await;
        self.report_lost(id)
    }

    /// Reports a lost write of a file to the writer, once.
    pub(crate) fn report_lost(&self, id: FileId) -> Result<(), Errno> {
        match self.memory.borrow_mut().write_buffer.take_lost(id) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Writes back a file whose lock the caller holds.
    async fn write_back(&self, id: FileId) {
        let runs = self.memory.borrow().write_buffer.runs(id);
        let mut left = &runs[..];
        while !left.is_empty() {
            let hint = match self.persist(|| self.known_hint(id)).await {
                Ok(hint) => hint,
                Err(why) => return self.memory.borrow_mut().write_buffer.lose(id, why),
            };
            // The session may have ended: its writes must not be sent by the next session.
            self.enter_session();
            let Some(file) = self.memory.borrow().write_buffer.file(id) else {
                break;
            };
            let (batch, rest) = left.split_at(self.batch_length(id, &hint, left));
            let written = Box::pin(self.write_batch(id, &hint, batch, &file));
            if let Err(why) = written.await {
                return self.memory.borrow_mut().write_buffer.lose(id, why);
            }
            left = rest;
        }
        self.memory.borrow_mut().write_buffer.remove(id);
    }

    /// How many runs are sent in parallel. If all of them stay in the cache, the home gets one
    /// request for them: of several, one could begin after another has ended, and the client would
    /// not know that these are its only changes.
    fn batch_length(&self, id: FileId, hint: &FileHint, runs: &[Piece]) -> usize {
        let most = runs.len().min(RUNS_AT_ONCE);
        if !self.caches_chunks(id) {
            return most;
        }
        let mut later = runs[1..most].iter();
        let next = later.position(|(offset, _)| self.is_at_home(id, hint, *offset));
        next.map_or(most, |at| at + 1)
    }

    /// Whether a run begins in a chunk of the home.
    fn is_at_home(&self, id: FileId, hint: &FileHint, offset: u64) -> bool {
        self.home_part_end(id, hint, offset) > offset
    }

    /// Writes back runs and caches them.
    async fn write_batch(
        &self,
        id: FileId,
        hint: &FileHint,
        runs: &[Piece],
        file: &DirtyFile,
    ) -> Result<(), Errno> {
        if self.caches_chunks(id) {
            let end = runs.last().map_or(0, |(at, data)| at + data.len() as u64);
            self.prepare_write(id, end).await?;
        }
        let before = self.before_write(id);
        let versions = self.versions_to_cache(id, before.as_ref());
        let requests = self.send_runs(id, hint, runs, file, versions).await?;
        if let Some(before) = before {
            self.cache_written(id, &before, runs, requests);
        }
        Ok(())
    }

    /// Sends runs in parallel. The home gets one request for all runs that begin elsewhere,
    /// together with a run that begins at the home if there is one. Returns how many requests the
    /// home has got.
    async fn send_runs(
        &self,
        id: FileId,
        hint: &FileHint,
        runs: &[Piece],
        file: &DirtyFile,
        before: Option<DataVersions>,
    ) -> Result<usize, Errno> {
        let is_at_home = |(offset, _): &Piece| self.is_at_home(id, hint, *offset);
        let (mut firsts, mut others): (Vec<Piece>, Vec<Piece>) =
            runs.iter().cloned().partition(is_at_home);
        if firsts.is_empty() {
            firsts.extend(others.pop());
        }
        let covered_from = last_stretch(runs);
        let sent = firsts.iter().map(|(offset, data)| {
            let others = take(&mut others);
            async move {
                let write = PieceWrite {
                    offset: *offset,
                    data,
                    others: &others,
                    covered_from,
                    kill_privileges: file.kill_privileges,
                    written: Some(file.written),
                    before,
                };
                self.send_write(id, write).await
            }
        });
        let sent = join_all(sent).await;
        let requests = sent.len();
        sent.into_iter().try_for_each(|sent| sent.map(drop))?;
        Ok(requests)
    }
}

/// The start of the last run without gaps, of pieces in order.
fn last_stretch(pieces: &[Piece]) -> u64 {
    let mut begin = 0;
    let mut end = None;
    for (offset, data) in pieces {
        if end != Some(*offset) {
            begin = *offset;
        }
        end = Some(offset + data.len() as u64);
    }
    begin
}
