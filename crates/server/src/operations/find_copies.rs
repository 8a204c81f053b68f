//! Finds clients that probably have pieces of a file in their caches.
//!
//! The home knows which clients hold a lease on the file, and notes which one has asked for which
//! piece. It names one of them to the next reader of a piece. The reader is noted as a holder at
//! once, because it is about to have the piece. So a broadcast is a chain or a tree from the first
//! moment. The table holds hints. A client that has not got a piece, or has evicted it, says so,
//! and the reader asks a server. The holders of a file are forgotten with the last lease on it.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use crate::copies::{self, Reader};
use crate::state::size::changes_are_announced;
use alloc::vec::Vec;
use futago_base::{
    Errno, FileId, Key, SessionId, Value, View,
    record::{Copies, CopyHolder, Door},
};
use futago_wire::{CopySource, Holder, Reply};

/// The most pieces of one request, and the most clients that it may report.
pub const PIECES_MAX: u32 = 1024;

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    file: FileId,
    first: u64,
    pieces: u32,
    door: &Door,
    failed: &[SessionId],
) -> Result {
    if pieces > PIECES_MAX || failed.len() > PIECES_MAX as usize {
        return Err(Errno::EINVAL.into());
    }
    let is_covered = changes_are_announced(builder.regular_file(file)?);
    let mut plan = Plan::default();
    if is_covered && builder.holds_lease(file, builder.request.session) {
        builder.note_sharer(door);
        for piece in first..first.saturating_add(pieces.into()) {
            let source = builder.place_reader(file, piece, door, failed, &mut plan);
            plan.sources.push(source);
        }
    }
    let Plan { holders, sources } = plan;
    Ok(Reply::Copies { holders, sources }.into())
}

/// The part of the reply that is ready.
#[derive(Default)]
struct Plan {
    holders: Vec<Holder>,
    sources: Vec<Option<CopySource>>,
}

impl Plan {
    /// The position of a client in the list of holders.
    fn position(&mut self, holder: Holder) -> u16 {
        let known = |it: &Holder| it.session == holder.session;
        let position = self.holders.iter().position(known).unwrap_or_else(|| {
            self.holders.push(holder);
            self.holders.len() - 1
        });
        position as u16
    }
}

impl<V: View> DecisionBuilder<'_, V> {
    fn holds_lease(&self, file: FileId, session: SessionId) -> bool {
        self.state.get(&Key::Lease(file, session)).is_some()
    }

    /// Notes that the client shares its cache, and where it listens.
    pub fn note_sharer(&mut self, door: &Door) {
        let key = Key::Sharer(self.request.session);
        if self.state.get(&key).and_then(Value::door) != Some(door) {
            self.state.put(key, door.clone());
        }
    }

    /// Chooses the client that the requester asks for a piece, and notes the requester as the next
    /// holder.
    fn place_reader(
        &mut self,
        file: FileId,
        piece: u64,
        door: &Door,
        failed: &[SessionId],
        plan: &mut Plan,
    ) -> Option<CopySource> {
        let key = copies::slot(file, piece);
        let mut holders = self.holders_of_piece(&key, file, piece);
        holders.retain(|holder| !failed.contains(&holder.session));
        let reader = Reader {
            session: self.request.session,
            host: door.host,
            now: self.now,
        };
        let host = |session| self.door_of(session).map(|door| door.host);
        let chosen = copies::place(&mut holders, &reader, host);
        self.state.put(key, Copies { piece, holders });
        let (session, depth) = chosen?;
        let door = self.door_of(session)?.clone();
        let holder = plan.position(Holder { session, door });
        Some(CopySource { holder, depth })
    }

    /// The clients that may have a piece and still hold a lease on the file. The writer has all
    /// pieces, and is noted with a piece when the first reader asks for it.
    fn holders_of_piece(&self, key: &Key, file: FileId, piece: u64) -> Vec<CopyHolder> {
        let copies = self.state.get(key).and_then(Value::copies);
        let known = copies.filter(|copies| copies.piece == piece);
        let mut holders = match known {
            Some(known) => known.holders.clone(),
            None => self.writer_as_holder(file).into_iter().collect(),
        };
        let holds = |session| self.holds_lease(file, session) && self.door_of(session).is_some();
        holders.retain(|holder| holds(holder.session));
        holders
    }

    fn writer_as_holder(&self, file: FileId) -> Option<CopyHolder> {
        let session = self.writer(file)?;
        Some(CopyHolder {
            session,
            depth: 1,
            readers: 0,
            since: self.now,
        })
    }

    fn door_of(&self, session: SessionId) -> Option<&Door> {
        self.state.get(&Key::Sharer(session)).and_then(Value::door)
    }
}
