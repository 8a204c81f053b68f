//! Requests of this client that change a node or a name.

use futago_wire::FileState;
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
    pub newest: Option<FileState>,
    /// Whether a change has occurred whose resulting state is unknown.
    pub is_unknown: bool,
}

impl Changing {
    /// Keeps the newer of two states. Every change sets the change time, which only rises. Of two
    /// states with the same change time, neither is known to be the newer.
    pub fn note_newer(&mut self, state: &FileState) {
        let changed = |state: &FileState| state.attributes.changed;
        match &self.newest {
            Some(newest) if changed(newest) > changed(state) => {}
            newest => {
                self.is_unknown |= newest.is_some_and(|newest| changed(&newest) == changed(state));
                self.newest = Some(*state);
            }
        }
    }
}
