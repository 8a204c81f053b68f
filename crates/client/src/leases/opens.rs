//! Files that are open without their homes' knowing.
//!
//! A home needs to know who has a file open so that the file outlives its last name. A client that has a lease on a file is
//! told before others remove that name: it is early enough to tell the home then, before the lease is given back, and before
//! the client removes a name itself. So a file that a client has made and opened is not registered if a lease comes with it.

use super::Leases;
use futago_base::{FileId, Kind, ServerId, Time};
use futago_wire::FileState;

impl Leases {
    /// A file is opened. Returns how it stands if its home need not hear of that now. It must hear of a file that has no name.
    pub fn open(&mut self, id: FileId, home: ServerId, now: Time) -> Option<FileState> {
        let state = self.state(id, home, now)?;
        if state.attributes.kind != Kind::File || state.attributes.links == 0 {
            return None;
        }
        *self.opens.get_or_insert_with(id, || 0) += 1;
        Some(state)
    }

    /// A file is closed, or its home has heard that it is open. Returns whether the home did not know of it.
    pub fn close(&mut self, id: FileId) -> bool {
        let Some(opens) = self.opens.get_mut(&id) else {
            return false;
        };
        *opens -= 1;
        if *opens == 0 {
            self.opens.remove(&id);
        }
        true
    }

    /// The files that are open without their homes' knowing, and how often.
    pub fn opens(&self) -> impl Iterator<Item = (FileId, u32)> {
        self.opens.iter().map(|(id, opens)| (*id, *opens))
    }

    /// Whether a file is open without its home's knowing.
    pub fn is_open(&self, id: FileId) -> bool {
        self.opens.contains_key(&id)
    }
}
