//! Released files: their data is in the store behind the cluster until a client needs it.
//!
//! A home serves no request for the data of a released file. It notes that the file is wanted, and
//! the client asks again. A client of the store, the restorer, asks every server for wanted files,
//! writes their data, and reports it. Only its session is served meanwhile (invariant I16). Nobody
//! gets a lease on a released file, so that every request for its data comes to the home.

use crate::builder::DecisionBuilder;
use futago_base::{
    Errno, FileId, Key, Time, Value, View,
    record::{Restoration, SessionState},
};
use futago_wire::{Failure, Request};

impl<V: View> DecisionBuilder<'_, V> {
    /// The released file whose data a request needs, unless the requester restores it.
    pub fn released_file_of(&self, request: &Request) -> Option<FileId> {
        let file = request.needs_data_of()?;
        let inode = self.state.inode(file).filter(|inode| inode.released);
        (inode.is_some() && !self.is_restored_by_requester(file)).then_some(file)
    }

    /// Whether the session of the present request brings the data of a file.
    pub fn is_restored_by_requester(&self, file: FileId) -> bool {
        self.restoration(file) == Some(Restoration::By(self.request.session))
    }

    /// Notes that the data of a file is wanted. Returns the failure for the client that wants it:
    /// `EREMOTEIO` if nobody brings data, or the error of an attempt that has failed.
    pub fn want(&mut self, file: FileId) -> Failure {
        let key = Key::Restoration(file);
        match self.restoration(file) {
            Some(Restoration::Failed(errno)) => {
                self.state.delete(key);
                Failure::Errno(errno)
            }
            _ if !self.has_restorer() => Failure::Errno(Errno::EREMOTEIO),
            Some(_) => Failure::Released,
            None => {
                self.state.put(key, Restoration::Wanted);
                Failure::Released
            }
        }
    }

    fn restoration(&self, file: FileId) -> Option<Restoration> {
        let restoration = self.state.get(&Key::Restoration(file))?;
        restoration.restoration().copied()
    }

    /// Whether nobody brings the data: a session may have ended while it did.
    pub fn is_unattended(&self, restoration: Restoration) -> bool {
        match restoration {
            Restoration::Wanted => true,
            Restoration::By(session) => self
                .session(session)
                .is_none_or(|session| session.state == SessionState::Expired),
            Restoration::Failed(_) => false,
        }
    }

    /// Notes that a restorer is alive, to within an eighth of the lease.
    pub fn note_restorer(&mut self) {
        let precision_ns = self.server.config().lease.0 / 8;
        if self.now.since(self.restorer_seen().unwrap_or(Time(0))).0 > precision_ns {
            self.state.put(Key::RestorerSeen, self.now.0);
        }
    }

    /// Whether a restorer has asked for files within the time of a lease.
    fn has_restorer(&self) -> bool {
        let lease = self.server.config().lease;
        self.restorer_seen()
            .is_some_and(|seen| self.now.since(seen) <= lease)
    }

    fn restorer_seen(&self) -> Option<Time> {
        let seen = self.state.get(&Key::RestorerSeen);
        seen.and_then(Value::number).copied().map(Time)
    }
}
