//! Files that are open here and not registered at their homes.
//!
//! A home needs to know which files are open, so that they outlive their last name. A client with a
//! lease gets a recall before another client removes the name. So it registers the opens when it
//! returns the lease, or before it removes a name itself. Therefore a client does not register a
//! file that it has made and opened if the reply grants a lease.

use super::{Leases, PartId};
use futago_base::{FileId, Kind, Time};
use futago_wire::FileState;

impl Leases {
    /// Opens a file. Returns its state if the home need not be notified now. The home of a file
    /// without names must be notified.
    pub fn open(&mut self, home: PartId, now: Time) -> Option<FileState> {
        let state = self.state(home, now);
        let state = state.or_else(|| self.relayed_state_for_open(home.node, now))?;
        if state.attributes.kind != Kind::File || state.attributes.links == 0 {
            return None;
        }
        *self.opens.get_or_insert_with(home.node, || 0) += 1;
        Some(state)
    }

    /// Closes a file, or registers one of its opens. Returns whether the home did not know of the
    /// open.
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

    /// The files that are open here and not registered at their homes, and how often.
    pub fn opens(&self) -> impl Iterator<Item = (FileId, u32)> {
        self.opens.iter().map(|(id, opens)| (*id, *opens))
    }

    /// Whether a file is open here and not registered at its home.
    pub fn is_open(&self, id: FileId) -> bool {
        self.opens.contains_key(&id)
    }
}
