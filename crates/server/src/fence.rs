//! Fences: a session that this server gives up is served by no server any more.
//!
//! A client that was stopped or cut off for longer than a lease may resume at any time. Its open
//! files, locks and leases at one server protect data at other servers. Those may have heard of the
//! client later, or never. So the server first fences the session: every other server confirms that
//! it does not serve the session. Only then may another client get the released locks and files.
//! It also waits until it has not heard of the client for one lease, because the client may rely on
//! its leases here although another server has lost it.
//!
//! The server waits for an unreachable server for one more lease. After that time the unreachable
//! server has not heard of the client either, unless it is cut off from this server but not from
//! the client.

use crate::{Output, builder::DecisionBuilder};
use alloc::{collections::BTreeSet, vec::Vec};
use futago_base::{
    Key, ServerId, SessionId, Time, View,
    record::{Session, SessionState, Sort},
};
use futago_wire::Peer;

impl<V: View> DecisionBuilder<'_, V> {
    /// Stops serving a session, and fences it at all other servers before its locks and files are
    /// released.
    pub fn fence(&mut self, id: SessionId) {
        let known = self.session(id);
        let session = known.unwrap_or_else(|| self.new_session(SessionState::Living));
        if session.state != SessionState::Living {
            return;
        }
        // The leases of a contact server protect nothing at other servers.
        if !self.holds_anything(id) || self.is_contact(id) {
            return self.end_session(id);
        }
        self.forget_requests(id);
        for server in self.other_servers() {
            self.state.put(Key::Unfenced(id, server), ());
        }
        self.send_fences(id, session, self.now);
        self.end_if_fenced(id);
    }

    fn holds_anything(&self, id: SessionId) -> bool {
        self.is_any(Key::session_files(id)) || self.has_leases(id)
    }

    fn other_servers(&self) -> Vec<ServerId> {
        let me = self.server.id();
        let servers = self.server.map.servers();
        servers.filter(|&server| server != me).collect()
    }

    /// Another server has confirmed that it does not serve the session any more.
    pub fn note_fenced_at(&mut self, server: ServerId, id: SessionId) {
        let key = Key::Unfenced(id, server);
        if self.state.get(&key).is_some() {
            self.state.delete(key);
            self.end_if_fenced(id);
        }
    }

    /// Ends a fenced session if no server serves it and its client relies on no lease any more.
    pub fn end_if_fenced(&mut self, id: SessionId) {
        let lease = self.server.config().lease;
        let is_silent = |session: Session| self.now.since(session.seen) > lease;
        if self.unfenced(id).is_empty() && self.session(id).is_none_or(is_silent) {
            self.end_session(id);
        }
    }

    /// The servers that may still serve a session.
    fn unfenced(&self, id: SessionId) -> Vec<ServerId> {
        let (from, to) = Key::unfenced(id);
        let of = |key: &Key| match key {
            Key::Unfenced(_, server) => Some(*server),
            _ => None,
        };
        let servers = self.state.range(from, to);
        servers.filter_map(|(key, _)| of(key)).collect()
    }

    fn send_fences(&mut self, id: SessionId, session: Session, since: Time) {
        let sent = self.now;
        let state = SessionState::Fenced {
            since,
            notified: sent,
        };
        self.state
            .put(Key::Session(id), Session { state, ..session });
        let sender = self.server.id();
        for to in self.unfenced(id) {
            let session = id;
            let message = Peer::Fence { sender, session };
            self.output(Output::Peer { to, message });
        }
    }

    /// Resends fences that are not confirmed, and gives up on unconfirmed ones after one lease.
    pub fn retry_fences(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Unfenced);
        let of = |key: &Key| match key {
            Key::Unfenced(id, _) => Some(*id),
            _ => None,
        };
        let records = self.state.range(from, to);
        let waiting: BTreeSet<SessionId> = records.filter_map(|(key, _)| of(key)).collect();
        for id in waiting {
            self.retry_fence(id);
        }
    }

    fn retry_fence(&mut self, id: SessionId) {
        let config = self.server.config();
        let Some(session) = self.session(id) else {
            return;
        };
        let SessionState::Fenced {
            since,
            notified: sent,
        } = session.state
        else {
            return;
        };
        if self.now.since(since) > config.lease {
            for server in self.unfenced(id) {
                self.state.delete(Key::Unfenced(id, server));
            }
            self.end_session(id);
        } else if self.now.since(sent) >= config.resend {
            self.send_fences(id, session, since);
        }
    }
}
