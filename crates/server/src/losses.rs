//! The reaction to a loss of power that has undone the latest batches.
//!
//! Other servers have seen nothing of these batches, because messages between servers leave only
//! when they are durable. Clients may have seen them: what they hold and believe is not what this
//! server knows. So all sessions are given up, with their locks and open files, as after a silence
//! of a lease; and nothing that was lost is mistaken for something new.

use crate::builder::DecisionBuilder;
use alloc::vec::Vec;
use futago_base::{
    FileId, Key, Partition, SessionId, Time, Value, View,
    record::{Inode, Session, SessionState, Sort},
};

/// More identities than a server assigns in a partition while it is not synchronized.
const SKIPPED_IDS: u64 = 1 << 20;

impl<V: View> DecisionBuilder<'_, V> {
    /// Settles what is lost.
    pub fn settle_losses(&mut self) {
        self.skip_ids();
        for (id, session) in self.living_sessions() {
            self.silence(id, session);
            self.fence(id);
        }
        for file in self.files_with_chunks() {
            self.expect_data_beyond(file);
            self.trim(file);
        }
    }

    /// Clients may still use the identities of lost files.
    fn skip_ids(&mut self) {
        let map = &self.server.map;
        let all = (0..map.partition_count()).map(|number| Partition(number as u16));
        for partition in all.filter(|&it| map.owner(it) == self.server.id()) {
            let counter = self.last_counter(partition) + SKIPPED_IDS;
            self.state.put(Key::Allocator(partition), counter);
        }
    }

    /// The client was silent for a lease before this server was set back to serve again.
    fn silence(&mut self, id: SessionId, session: Session) {
        let silent = self.server.config().lease.0.saturating_add(1);
        let seen = Time(self.now.0.saturating_sub(silent));
        self.state
            .put(Key::Session(id), Session { seen, ..session });
    }

    fn living_sessions(&self) -> Vec<(SessionId, Session)> {
        let (from, to) = Key::whole_sort(Sort::Session);
        let of = |(key, value): (&Key, &Value)| match (key, value.session()?) {
            (Key::Session(id), session) if session.state == SessionState::Living => {
                Some((*id, *session))
            }
            _ => None,
        };
        self.state.range(from, to).filter_map(of).collect()
    }

    /// The files that may have chunks on other servers.
    fn files_with_chunks(&self) -> Vec<FileId> {
        let (from, to) = Key::whole_sort(Sort::Inode);
        let has_chunks =
            |inode: &Inode| inode.chunk_bytes > 0 && inode.reach > u64::from(inode.chunk_bytes);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Inode(id) if has_chunks(value.inode()?) => Some(*id),
            _ => None,
        };
        self.state.range(from, to).filter_map(of).collect()
    }

    /// A write that is lost here may have brought data to other servers.
    fn expect_data_beyond(&mut self, file: FileId) {
        self.state.update_inode(file, |inode| {
            inode.ahead = true;
            inode.reach = inode.reach.max(inode.size.saturating_add(1));
        });
    }
}
