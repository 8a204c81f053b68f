//! Writing back: under an exclusive lease a client keeps small writes and sends many of them at once.
//!
//! Nobody else is told anything of the file meanwhile. What the client itself asks of the file, except its data, it asks
//! after it has sent what it kept, so that sizes and times are those of the home. What is unsent is sent by `fsync`
//! and `close`, when the lease is called back, with every sign of life, and when there is too much of it.
//! Whoever sends has the turn of the file; so do reads while something is unsent, and writes that are kept.

use crate::{
    Client, Context, join_all,
    layout::{FileHint, Piece},
    leases::Leases,
    unsent::UnsentFile,
};
use alloc::{boxed::Box, vec::Vec};
use core::mem::take;
use futago_base::{Errno, FileId, Payload, Timestamp};
use futago_wire::Request;

/// Larger writes are not kept, in bytes: to send them costs little beside them.
const KEPT_WRITE_MAX: usize = 128 << 10;
/// How many runs are sent at once.
const RUNS_AT_ONCE: usize = 16;

impl<C: Context> Client<C> {
    /// Whether something of a file is unsent, or is being sent.
    pub(crate) fn has_unsent(&self, id: FileId) -> bool {
        self.turns.is_taken(id) || self.memory.borrow().unsent.file(id).is_some()
    }

    /// Keeps a write, if that is possible, and returns the file's size with it.
    pub(crate) async fn keep_write(
        &self,
        id: FileId,
        offset: u64,
        data: &Payload,
        kill_privileges: bool,
    ) -> Result<Option<u64>, Errno> {
        let most = self.config().unsent_bytes_max;
        if data.len() > KEPT_WRITE_MAX || most == 0 || !self.take_exclusive(id).await? {
            return Ok(None);
        }
        let _turn = self.turns.take(id).await;
        if !self.is_exclusive(id) {
            return Ok(None);
        }
        let Some(size) = self.keep_unsent(id, offset, data, kill_privileges) else {
            // Others wait for their turn meanwhile, and what is under way comes to its end.
            self.send_all(id).await;
            // Apart, as it is seldom and large.
            let written =
                Box::pin(self.write_at_servers(id, offset, data, (kill_privileges, None)));
            return written.await.map(Some);
        };
        if self.memory.borrow().unsent.bytes() > most {
            self.send_all(id).await;
            self.tell_lost(id)?;
        }
        Ok(Some(size))
    }

    /// Whether the client has an exclusive lease; if it keeps writing to a file it asks for one.
    async fn take_exclusive(&self, id: FileId) -> Result<bool, Errno> {
        let after = self.config().exclusive_after;
        if self.is_exclusive(id) {
            return Ok(true);
        }
        if self.with_leases(|leases| leases.writes(id, after)) != Some(true) {
            return Ok(false);
        }
        self.ask_home(id, Request::TakeExclusive(id)).await?;
        Ok(self.is_exclusive(id))
    }

    /// Whether nobody else is told of a file before its lease is called back.
    fn is_exclusive(&self, id: FileId) -> bool {
        let (home, now) = (self.map().home(id), self.context().now());
        let is_exclusive = |leases: &mut Leases| leases.is_exclusive(id, home, now);
        self.with_leases(is_exclusive) == Some(true)
    }

    /// Keeps a write to a file of which there is an exclusive lease, unless its size is not known: because something is
    /// under way that may change it.
    fn keep_unsent(
        &self,
        id: FileId,
        offset: u64,
        data: &Payload,
        kill_privileges: bool,
    ) -> Option<u64> {
        if self.with_leases(|leases| leases.is_changing(id)) != Some(false) {
            return None;
        }
        let unsent = self.memory.borrow().unsent.file(id);
        let size = match unsent {
            Some(file) => file.size,
            None => self.leased_state(id)?.attributes.size,
        };
        let written = Timestamp::from(self.context().stamp());
        let unsent = &mut self.memory.borrow_mut().unsent;
        let at = (id, offset);
        Some(unsent.put(at, data.clone().compact(), size, (written, kill_privileges)))
    }

    /// Reads a file of which something is unsent.
    pub(crate) async fn read_unsent(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let _turn = self.turns.take(id).await;
        let end = offset.saturating_add(length.into());
        let is_exclusive = self.is_exclusive(id);
        let kept = || self.memory.borrow().unsent.read(id, offset, end);
        if let Some(data) = is_exclusive.then(kept).flatten() {
            return Ok(data);
        }
        let read = self.read_now(id, offset, length).await?;
        let unsent = &self.memory.borrow().unsent;
        Ok(unsent.lay_over(id, offset, end, read))
    }

    /// Sends what is unsent of a file, before the file is asked about or changed otherwise. If it is lost, whoever
    /// writes to the file, synchronizes or closes it next is told.
    pub(crate) async fn send_unsent(&self, id: FileId) {
        if self.has_unsent(id) {
            let _turn = self.turns.take(id).await;
            self.send_all(id).await;
        }
    }

    /// Sends all that is unsent.
    pub(crate) async fn send_all_unsent(&self) {
        let files = self.memory.borrow().unsent.files();
        join_all(files.into_iter().map(|id| self.send_unsent(id))).await;
    }

    /// What `fsync` does: what was written to the file is on its servers when it returns. Errors: why something of what
    /// was written before was lost, once.
    pub async fn synchronize(&self, id: FileId) -> Result<(), Errno> {
        self.send_unsent(id).await;
        self.tell_lost(id)
    }

    /// Tells whoever writes to a file, once, that something is lost.
    pub(crate) fn tell_lost(&self, id: FileId) -> Result<(), Errno> {
        match self.memory.borrow_mut().unsent.take_lost(id) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Sends what is unsent of a file whose turn the caller has.
    async fn send_all(&self, id: FileId) {
        let runs = self.memory.borrow().unsent.runs(id);
        for batch in runs.chunks(RUNS_AT_ONCE) {
            let hint = match self.persist(|| self.known_hint(id)).await {
                Ok(hint) => hint,
                Err(why) => return self.memory.borrow_mut().unsent.lose(id, why),
            };
            // The session may be over: what it wrote must not be sent by the next one.
            self.enter_session();
            let Some(file) = self.memory.borrow().unsent.file(id) else {
                break;
            };
            let before = self.before_write(id);
            if let Err(why) = self.send_runs(id, &hint, batch, &file).await {
                return self.memory.borrow_mut().unsent.lose(id, why);
            }
            if let Some(before) = before {
                self.keep_written(id, &before, batch);
            }
        }
        self.memory.borrow_mut().unsent.remove(id);
    }

    /// Sends runs side by side. The home hears of all those that begin elsewhere at once, with one that begins there if there
    /// is any.
    async fn send_runs(
        &self,
        id: FileId,
        hint: &FileHint,
        runs: &[Piece],
        file: &UnsentFile,
    ) -> Result<(), Errno> {
        let is_at_home = |(offset, _): &Piece| self.home_part_end(id, hint, *offset) > *offset;
        let (mut firsts, mut others): (Vec<Piece>, Vec<Piece>) =
            runs.iter().cloned().partition(is_at_home);
        if firsts.is_empty() {
            firsts.extend(others.pop());
        }
        let covered_from = last_stretch(runs);
        let how = (file.kill_privileges, Some(file.written));
        let sent = firsts.iter().map(|(offset, data)| {
            let others = take(&mut others);
            async move {
                self.send_write(id, (*offset, data), (&others, covered_from), how)
                    .await
            }
        });
        join_all(sent)
            .await
            .into_iter()
            .try_for_each(|sent| sent.map(drop))
    }
}

/// Where the last stretch without a gap begins, of pieces in order.
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
