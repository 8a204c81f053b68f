//! Sessions of clients: the time of their last request, their open files, and the replies that they
//! have acknowledged.

use crate::builder::{DecisionBuilder, NO_REQUEST};
use alloc::vec::Vec;
use futago_base::{
    Duration, FileId, Key, RequestId, SessionId, Value, View,
    record::{Opener, Opens, Session, SessionState, Sort},
};
use futago_wire::Failure;

/// How long a server remembers that it has ended a session.
const EXPIRED_MEMORY: Duration = Duration::from_secs(24 * 3600);

impl<V: View> DecisionBuilder<'_, V> {
    /// Notes that the client is alive and which replies it has acknowledged. An unknown session
    /// must be introduced as new: otherwise this server has served and forgotten it. Errors:
    /// `SessionExpired` for an ended or forgotten session and for the one that no client has,
    /// `Late` for an acknowledged request.
    pub fn meet_session(
        &mut self,
        id: RequestId,
        acknowledged: u64,
        introduces: bool,
    ) -> Result<(), Failure> {
        let known = self.session(id.session);
        let mut session = match known {
            Some(session) if session.state == SessionState::Living => session,
            None if introduces && id.session != NO_REQUEST.session => {
                self.new_session(SessionState::Living)
            }
            _ => return Err(Failure::SessionExpired),
        };
        if id.sequence <= session.acknowledged {
            return Err(Failure::Late);
        }
        if acknowledged > session.acknowledged {
            self.forget_replies(id.session, session.acknowledged, acknowledged);
            session.acknowledged = acknowledged;
        }
        if self.now.since(session.seen).0 > self.server.config().lease.0 / 8 {
            session.seen = self.now;
        }
        if known != Some(session) {
            self.state.put(Key::Session(id.session), session);
        }
        Ok(())
    }

    pub fn session(&self, id: SessionId) -> Option<Session> {
        let known = self.state.get(&Key::Session(id));
        known.and_then(Value::session).copied()
    }

    pub const fn new_session(&self, state: SessionState) -> Session {
        Session {
            seen: self.now,
            acknowledged: 0,
            leases: 0,
            state,
            contact: None,
        }
    }

    fn forget_replies(&mut self, session: SessionId, after: u64, up_to: u64) {
        let (from, to) = Key::replies(session, after + 1, up_to);
        let keys: Vec<Key> = self
            .state
            .range(from, to)
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.state.delete(key);
        }
    }

    /// Fences the sessions that have sent nothing for one lease, and ends those that were fenced
    /// before.
    pub fn expire_sessions(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Session);
        let silent: Vec<(SessionId, Session)> = self
            .state
            .range(from, to)
            .filter_map(|(key, value)| match (key, value) {
                (Key::Session(id), Value::Session(session)) => Some((*id, *session)),
                _ => None,
            })
            .filter(|(_, session)| self.now.since(session.seen) > self.server.config().lease)
            .collect();
        for (id, session) in silent {
            match session.state {
                SessionState::Living => self.fence(id),
                SessionState::Fenced { .. } => self.end_if_fenced(id),
                SessionState::Expired => self.forget_session(id, session),
            }
        }
    }

    fn forget_session(&mut self, id: SessionId, expired: Session) {
        if self.now.since(expired.seen) > EXPIRED_MEMORY {
            self.state.delete(Key::Session(id));
        }
    }

    /// Releases all resources of a session.
    pub fn end_session(&mut self, id: SessionId) {
        let (from, to) = Key::session_files(id);
        let files: Vec<FileId> = self
            .state
            .range(from, to)
            .filter_map(|(key, _)| match key {
                Key::SessionFile(_, file) => Some(*file),
                _ => None,
            })
            .collect();
        for file in files {
            self.state.delete(Key::SessionFile(id, file));
            self.change_opens(file, |opens| opens.retain(|opener| opener.session != id));
            self.drop_session_locks(file, id);
            self.remove_if_unused(file);
            self.trim(file);
        }
        self.end_leases(id);
        self.state.delete(Key::Sharer(id));
        self.forget_requests(id);
        let ended = self.new_session(SessionState::Expired);
        self.state.put(Key::Session(id), ended);
    }

    /// Forgets the waiting requests of a session: they must not run after its end, and get no
    /// reply.
    pub fn forget_requests(&mut self, id: SessionId) {
        self.forget_waiting(id);
        self.forget_replies(id, 0, u64::MAX - 1);
    }

    /// The sessions that have a file open.
    pub fn openers(&self, file: FileId) -> &[Opener] {
        let opens = self.state.get(&Key::Opens(file)).and_then(Value::opens);
        opens.map(Vec::as_slice).unwrap_or_default()
    }

    /// Changes the openers of a file.
    pub fn change_opens(&mut self, file: FileId, change: impl FnOnce(&mut Opens)) {
        let key = Key::Opens(file);
        let mut opens = self
            .state
            .get(&key)
            .and_then(Value::opens)
            .cloned()
            .unwrap_or_default();
        let ranges = |opens: &Opens| {
            opens
                .iter()
                .map(|opener| opener.appends.len())
                .sum::<usize>()
        };
        let before = ranges(&opens);
        change(&mut opens);
        if ranges(&opens) < before {
            self.effects.unblocked_nodes.push(file);
        }
        if opens.is_empty() {
            self.state.delete(key);
        } else {
            self.state.put(key, opens);
        }
    }

    /// Registers the file as open by the session of the present request.
    pub fn register_open(&mut self, file: FileId) {
        let session = self.request.session;
        self.state.put(Key::SessionFile(session, file), ());
        self.change_opens(file, |opens| {
            match opens.iter_mut().find(|opener| opener.session == session) {
                Some(opener) => opener.count += 1,
                None => opens.push(Opener {
                    session,
                    count: 1,
                    appends: Vec::new(),
                }),
            }
        });
    }

    /// Removes one registration of the session of the present request.
    pub fn unregister_open(&mut self, file: FileId) {
        let session = self.request.session;
        self.change_opens(file, |opens| {
            for opener in opens.iter_mut() {
                if opener.session == session {
                    opener.count -= 1;
                }
            }
            opens.retain(|opener| opener.count > 0);
        });
        self.forget_file_of_session(session, file);
    }

    /// Deletes the link from a session to a file without its opens and locks.
    pub fn forget_file_of_session(&mut self, session: SessionId, file: FileId) {
        let mut openers = self.openers(file).iter();
        let is_open = openers.any(|opener| opener.session == session);
        if !is_open && !self.has_locks(session, file) {
            self.state.delete(Key::SessionFile(session, file));
        }
    }
}
