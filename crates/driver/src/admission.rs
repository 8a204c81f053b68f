//! The server's half of flow control: how many requests a client may have under way.
//!
//! Requests that wait for other clients take at most half of the places. A client returns a lease
//! with requests, such as writes of the data that it has cached. If waiting requests could take all
//! places, two clients that wait for each other's leases would do so until their sessions end. One
//! request too many that would wait is refused, as if it had not come.

use crate::is_express;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use futago_base::{
    RequestId, SessionId,
    reversible::{Changes, ReversibleMap},
};
use futago_wire::Request;
use serde::Serialize;

/// How many requests a server admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// How many requests of one session may be under way, half of them waiting for other clients.
    /// `Push::Credits` tells the client. At least 2; default: 256.
    pub session_max: u32,
    /// How many requests of all sessions may be under way, half of them waiting. Requests that
    /// bypass windows do not count. At least 2; default: 16,384.
    pub total_max: u32,
    /// How many requests of one session may be under way that bypass its window, such as waits for
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

/// Counts the requests under way and refuses those beyond the limits. The server answers a refused
/// request with `Busy` and does not handle it.
#[derive(Debug, Serialize)]
pub struct Admission {
    #[serde(skip)]
    config: AdmissionConfig,
    /// The requests under way in the windows of their sessions.
    windowed: ReversibleMap<RequestId, ()>,
    /// The requests under way that bypass the windows. They are apart, because waits for locks may
    /// be many and must not keep other requests out.
    express: ReversibleMap<RequestId, ()>,
    /// The requests in the window that wait for other clients.
    waiting: ReversibleMap<RequestId, ()>,
}

/// The changes of [`Admission`] to undo.
#[derive(Debug, Default)]
pub struct AdmissionUndo {
    windowed: Changes<RequestId, ()>,
    express: Changes<RequestId, ()>,
    waiting: Changes<RequestId, ()>,
}

impl Admission {
    /// An admission with no request under way.
    pub const fn new(config: AdmissionConfig) -> Self {
        Self {
            config,
            windowed: ReversibleMap::new(),
            express: ReversibleMap::new(),
            waiting: ReversibleMap::new(),
        }
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.windowed.record_changes();
        self.express.record_changes();
        self.waiting.record_changes();
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> AdmissionUndo {
        AdmissionUndo {
            windowed: self.windowed.take_changes(),
            express: self.express.take_changes(),
            waiting: self.waiting.take_changes(),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: AdmissionUndo) {
        self.windowed.take_back(undo.windowed);
        self.express.take_back(undo.express);
        self.waiting.take_back(undo.waiting);
    }

    /// The window that a client may use, in requests.
    pub const fn credits(&self) -> u32 {
        self.config.session_max
    }

    /// How many requests are under way.
    pub fn under_way(&self) -> u32 {
        (self.windowed.len() + self.express.len()) as u32
    }

    /// Whether a request is under way.
    pub fn is_under_way(&self, id: RequestId) -> bool {
        self.windowed.contains_key(&id) || self.express.contains_key(&id)
    }

    /// Whether the server may handle the request. A copy of a request that is under way is always
    /// admitted, because it takes no place of its own.
    pub fn admit(&mut self, id: RequestId, request: &Request) -> bool {
        if self.is_under_way(id) {
            return true;
        }
        let AdmissionConfig {
            session_max,
            total_max,
            express_max,
        } = self.config;
        let (requests, session_max, total_max) = if is_express(request) {
            (&mut self.express, express_max, u32::MAX)
        } else {
            (&mut self.windowed, session_max, total_max)
        };
        let all = requests.len() as u32;
        let has_room = all < total_max && of_session(requests, id.session) < session_max;
        if has_room {
            requests.insert(id, ());
        }
        has_room
    }

    /// Whether a request that was admitted may wait for other clients. If not, it is refused, and
    /// nothing of what was decided about it may take effect.
    pub fn may_wait(&mut self, id: RequestId) -> bool {
        if self.waiting.contains_key(&id) || !self.windowed.contains_key(&id) {
            return true;
        }
        let all = self.waiting.len() as u32;
        let of_session = of_session(&self.waiting, id.session);
        let room = of_session < half(self.config.session_max) && all < half(self.config.total_max);
        if room {
            self.waiting.insert(id, ());
        } else {
            self.windowed.remove(&id);
        }
        room
    }

    /// The request has been answered.
    pub fn answered(&mut self, id: RequestId) {
        self.windowed.remove(&id);
        self.express.remove(&id);
        self.waiting.remove(&id);
    }

    /// The session or its connection has ended: no client waits for its replies.
    pub fn forget(&mut self, session: SessionId) {
        let range = || every_request(session);
        let windowed = self.windowed.range(range());
        let requests = windowed.chain(self.express.range(range()));
        let requests: Vec<RequestId> = requests.map(|(id, ())| *id).collect();
        for id in requests {
            self.answered(id);
        }
    }
}

/// How many of some requests are of a session.
fn of_session(requests: &ReversibleMap<RequestId, ()>, session: SessionId) -> u32 {
    requests.range(every_request(session)).count() as u32
}

/// The range of all request ids of a session.
fn every_request(session: SessionId) -> RangeInclusive<RequestId> {
    let id = |sequence| RequestId { session, sequence };
    id(0)..=id(u64::MAX)
}

/// How many of `most` requests may wait for other clients.
fn half(most: u32) -> u32 {
    (most / 2).max(1)
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

    #[test]
    fn half_of_the_places_are_left_for_requests_that_need_not_wait() {
        let mut admission = Admission::new(AdmissionConfig {
            session_max: 4,
            total_max: 6,
            express_max: 1,
        });
        let open = Request::Open(FileId(1));
        let mut waits = |session, sequence| {
            assert!(admission.admit(id(session, sequence), &open));
            admission.may_wait(id(session, sequence))
        };
        assert!(waits(1, 1) && waits(1, 2) && waits(1, 2), "copies are free");
        assert!(!waits(1, 3) && !waits(1, 3), "two of four places are taken");
        assert!(waits(2, 1));
        assert!(!waits(2, 2), "three of six places are taken");
        assert_eq!(admission.under_way(), 3, "nothing is left of a refusal");
        assert!(admission.admit(id(1, 4), &Request::KeepAlive));
        assert!(
            admission.may_wait(id(1, 4)),
            "it takes another kind of place"
        );
        admission.answered(id(1, 1));
        assert!(admission.admit(id(1, 3), &open));
        assert!(admission.may_wait(id(1, 3)));
        admission.forget(SessionId(1));
        assert_eq!(admission.waiting.len(), 1);
    }

    #[test]
    fn requests_that_bypass_windows_take_no_place_of_others() {
        let mut admission = Admission::new(AdmissionConfig {
            session_max: 2,
            total_max: 2,
            express_max: 4,
        });
        assert!((0..4).all(|number| admission.admit(id(1, number), &Request::KeepAlive)));
        assert!(admission.admit(id(2, 1), &Request::Open(FileId(1))));
        assert_eq!(admission.under_way(), 5);
    }
}
