//! Fences: a session that is given up here is served nowhere any more.
//!
//! A client that was away for longer than a lease, because it was stopped or cut off, may come back
//! at any time and go on where it was. What it held at one server (open files, locks, leases)
//! concerns data at others, which may have heard of it a little later, or never. So before anybody
//! else gets what it held, every other server has answered that it does not serve the session. One
//! that cannot be reached is waited for during one more lease: by then it has not heard of the
//! client either, unless it is cut off from this server and not from the client.

use crate::{Output, turn::Turn};
use alloc::{collections::BTreeSet, vec::Vec};
use futago_base::{
    Key, ServerId, SessionId, Time, View,
    record::{Session, SessionState, Sort},
};
use futago_wire::Peer;

impl<V: View> Turn<'_, V> {
    /// Serves a session no more, and has others do the same before what it holds is given up.
    pub fn fence(&mut self, id: SessionId) {
        let known = self.session(id);
        let session = known.unwrap_or_else(|| self.new_session(SessionState::Living));
        if session.state != SessionState::Living {
            return;
        }
        if !self.holds_anything(id) {
            return self.end_session(id);
        }
        self.forget_requests(id);
        for server in self.other_servers() {
            self.state.put(Key::Unfenced(id, server), ());
        }
        self.tell_unfenced(id, session, self.now);
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

    /// Another server does not serve a session any more.
    pub fn is_fenced_at(&mut self, server: ServerId, id: SessionId) {
        let key = Key::Unfenced(id, server);
        if self.state.get(&key).is_some() {
            self.state.delete(key);
            self.end_if_fenced(id);
        }
    }

    fn end_if_fenced(&mut self, id: SessionId) {
        if self.unfenced(id).is_empty() {
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

    fn tell_unfenced(&mut self, id: SessionId, session: Session, since: Time) {
        let notified = self.now;
        let state = SessionState::Fenced { since, notified };
        self.state
            .put(Key::Session(id), Session { state, ..session });
        let sender = self.server.id();
        for to in self.unfenced(id) {
            let session = id;
            let message = Peer::Fence { sender, session };
            self.output(Output::Peer { to, message });
        }
    }

    /// Tells servers again that have not answered, and waits for them no longer when a lease has
    /// passed.
    pub fn press_fences(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Unfenced);
        let of = |key: &Key| match key {
            Key::Unfenced(id, _) => Some(*id),
            _ => None,
        };
        let records = self.state.range(from, to);
        let waiting: BTreeSet<SessionId> = records.filter_map(|(key, _)| of(key)).collect();
        for id in waiting {
            self.press_fence(id);
        }
    }

    fn press_fence(&mut self, id: SessionId) {
        let config = self.server.config();
        let Some(session) = self.session(id) else {
            return;
        };
        let SessionState::Fenced { since, notified } = session.state else {
            return;
        };
        if self.now.since(since) > config.lease {
            for server in self.unfenced(id) {
                self.state.delete(Key::Unfenced(id, server));
            }
            self.end_session(id);
        } else if self.now.since(notified) >= config.resend {
            self.tell_unfenced(id, session, since);
        }
    }
}
