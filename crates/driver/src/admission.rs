//! The server's half of flow control: how much a client may ask for at once.

use crate::is_express;
use alloc::collections::BTreeMap;
use futago_base::{RequestId, SessionId};
use futago_wire::Request;

/// How much a server takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// How many requests of one session may be under way; it is told so with `Push::Credits`.
    /// Default: 256.
    pub session_max: u32,
    /// How many requests of all sessions may be under way. Default: 16,384.
    pub total_max: u32,
    /// How many requests of one session may be under way that go past its window, such as waits for
    /// locks. Default: 4,096.
    pub express_max: u32,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            session_max: 256,
            total_max: 16_384,
            express_max: 4096,
        }
    }
}

/// Counts the requests under way and refuses what is too much. A refused request is to be answered
/// with `Busy` without being looked at.
#[derive(Debug)]
pub struct Admission {
    config: AdmissionConfig,
    /// The requests under way, and whether they are express.
    sessions: BTreeMap<SessionId, BTreeMap<u64, bool>>,
    total: u32,
}

impl Admission {
    /// Nothing is under way.
    pub const fn new(config: AdmissionConfig) -> Self {
        Self {
            config,
            sessions: BTreeMap::new(),
            total: 0,
        }
    }

    /// The window that a client should keep.
    pub const fn credits(&self) -> u32 {
        self.config.session_max
    }

    /// How many requests are under way.
    pub const fn under_way(&self) -> u32 {
        self.total
    }

    /// Whether the request may be handled. A copy of one that is under way always may: it takes no
    /// place of its own.
    pub fn admit(&mut self, id: RequestId, request: &Request) -> bool {
        let express = is_express(request);
        let session = self.sessions.entry(id.session).or_default();
        if session.contains_key(&id.sequence) {
            return true;
        }
        let taken = session.values().filter(|&&other| other == express).count() as u32;
        let most = if express {
            self.config.express_max
        } else {
            self.config.session_max
        };
        if taken >= most || (!express && self.total >= self.config.total_max) {
            return false;
        }
        session.insert(id.sequence, express);
        self.total += 1;
        true
    }

    /// The request has been answered.
    pub fn answered(&mut self, id: RequestId) {
        let Some(session) = self.sessions.get_mut(&id.session) else {
            return;
        };
        if session.remove(&id.sequence).is_some() {
            self.total -= 1;
        }
        if session.is_empty() {
            self.sessions.remove(&id.session);
        }
    }

    /// The session is gone, or its connection is: nobody waits for its answers.
    pub fn forget(&mut self, session: SessionId) {
        if let Some(requests) = self.sessions.remove(&session) {
            self.total -= requests.len() as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::FileId;

    fn id(session: u64, sequence: u64) -> RequestId {
        RequestId {
            session: SessionId(session),
            sequence,
        }
    }

    #[test]
    fn a_session_and_all_together_are_bounded_and_copies_are_free() {
        let mut admission = Admission::new(AdmissionConfig {
            session_max: 2,
            total_max: 3,
            express_max: 1,
        });
        let open = Request::Open(FileId(1));
        let admitted: alloc::vec::Vec<bool> = [(1, 1), (1, 2), (1, 2), (1, 3), (2, 1), (2, 2)]
            .map(|(session, sequence)| admission.admit(id(session, sequence), &open))
            .to_vec();
        assert_eq!(admitted, [true, true, true, false, true, false]);
        assert!(admission.admit(id(1, 9), &Request::KeepAlive));
        assert!(!admission.admit(id(1, 10), &Request::KeepAlive));
        admission.answered(id(1, 1));
        admission.answered(id(1, 1));
        assert_eq!(admission.under_way(), 3);
        admission.forget(SessionId(1));
        assert_eq!(admission.under_way(), 1);
        assert!(admission.admit(id(2, 2), &open));
    }
}
