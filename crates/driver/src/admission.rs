//! The server's half of flow control: how much a client may ask for at once.

use crate::is_express;
use alloc::vec::Vec;
use futago_base::{
    RequestId, SessionId,
    reversible::{Changes, ReversibleMap},
};
use futago_wire::Request;
use serde::Serialize;

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
#[derive(Debug, Serialize)]
pub struct Admission {
    #[serde(skip)]
    config: AdmissionConfig,
    /// The requests under way, and whether they are express.
    requests: ReversibleMap<RequestId, bool>,
}

/// What it takes to bring [`Admission`] back to where it was.
#[derive(Debug, Default)]
pub struct AdmissionUndo(Changes<RequestId, bool>);

impl Admission {
    /// Nothing is under way.
    pub const fn new(config: AdmissionConfig) -> Self {
        Self {
            config,
            requests: ReversibleMap::new(),
        }
    }

    /// From now on, remembers how changes are taken back.
    pub fn keep_changes(&mut self) {
        self.requests.keep_changes();
    }

    /// What takes back the changes since the last time, if they are kept.
    pub fn take_changes(&mut self) -> AdmissionUndo {
        AdmissionUndo(self.requests.take_changes())
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: AdmissionUndo) {
        self.requests.take_back(undo.0);
    }

    /// The window that a client should keep.
    pub const fn credits(&self) -> u32 {
        self.config.session_max
    }

    /// How many requests are under way.
    pub fn under_way(&self) -> u32 {
        self.requests.len() as u32
    }

    /// Whether a request is under way.
    pub fn is_under_way(&self, id: RequestId) -> bool {
        self.requests.contains_key(&id)
    }

    /// Whether the request may be handled. A copy of one that is under way always may: it takes no
    /// place of its own.
    pub fn admit(&mut self, id: RequestId, request: &Request) -> bool {
        if self.is_under_way(id) {
            return true;
        }
        let express = is_express(request);
        let of_session = self.of_session(id.session);
        let taken = of_session.filter(|&(_, other)| other == express).count() as u32;
        let most = if express {
            self.config.express_max
        } else {
            self.config.session_max
        };
        if taken >= most || (!express && self.under_way() >= self.config.total_max) {
            return false;
        }
        self.requests.insert(id, express);
        true
    }

    /// The request has been answered.
    pub fn answered(&mut self, id: RequestId) {
        self.requests.remove(&id);
    }

    /// The session is gone, or its connection is: nobody waits for its answers.
    pub fn forget(&mut self, session: SessionId) {
        let requests: Vec<RequestId> = self.of_session(session).map(|(id, _)| id).collect();
        for id in requests {
            self.requests.remove(&id);
        }
    }

    /// The requests of a session that are under way, and whether they are express.
    fn of_session(&self, session: SessionId) -> impl Iterator<Item = (RequestId, bool)> {
        let id = |sequence| RequestId { session, sequence };
        let requests = self.requests.range(id(0)..=id(u64::MAX));
        requests.map(|(&id, &express)| (id, express))
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
        let admitted: Vec<bool> = [(1, 1), (1, 2), (1, 2), (1, 3), (2, 1), (2, 2)]
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
