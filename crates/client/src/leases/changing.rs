//! Requests of this client that change a node or a name.

use super::parts::changed;
use futago_wire::Part;
use serde::Serialize;

/// The pending requests of this client that may change a subject.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Changing {
    /// How many requests are pending.
    pub requests: u32,
    /// Whether one of them ends the lease of the client on the node.
    pub ends_lease: bool,
    /// Whether one of them may change the data of a file.
    pub changes_data: bool,
    /// The newest state in their replies.
    pub newest: Option<Part>,
    /// Whether a change has occurred whose resulting state is unknown.
    pub is_unknown: bool,
}

impl Changing {
    /// Keeps the newer of two states. Every change sets the time of change, which only rises. Of
    /// two states with the same change time, neither is known to be the newer.
    pub fn note_newer(&mut self, part: &Part) {
        match &self.newest {
            Some(newest) if changed(newest) > changed(part) => {}
            newest => {
                self.is_unknown |= newest.is_some_and(|newest| changed(&newest) == changed(part));
                self.newest = Some(*part);
            }
        }
    }
}
