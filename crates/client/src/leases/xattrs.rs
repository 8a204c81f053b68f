//! Nodes that have no extended attributes.
//!
//! Linux asks for the capabilities of a file before it changes the file's data or owner. A node
//! that this client has made has none, and no other client can set one before the lease is
//! recalled.

use super::{Leases, PartId};
use futago_base::Time;

impl Leases {
    /// Whether a node is known to exist and to have no extended attributes.
    pub fn lacks_xattrs(&self, home: PartId, now: Time) -> bool {
        let held = self.held.get(home);
        held.is_some_and(|held| held.lacks_xattrs) && self.state(home, now).is_some()
    }

    /// Notes whether a node is known to have no extended attributes.
    pub(super) fn note_xattrs(&mut self, home: PartId, lacks_xattrs: bool) {
        if let Some(held) = self.held.get_mut(home) {
            held.lacks_xattrs = lacks_xattrs;
        }
    }
}
