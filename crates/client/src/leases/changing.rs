//! What the client's own requests are changing.

use futago_wire::FileState;
use serde::Serialize;

/// Requests of the client's own that are under way and may change something.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Changing {
    /// How many they are.
    pub requests: u32,
    /// One of them ends the client's leases on the node.
    pub ends_lease: bool,
    /// One of them may change a file's data.
    pub changes_data: bool,
    /// The latest state that one of them has brought.
    pub newest: Option<FileState>,
    /// Something has changed that no state was brought of.
    pub is_spoilt: bool,
}

impl Changing {
    /// Of two states the one of the later moment counts: every change sets the change time, which only rises. Of one
    /// moment, none does.
    pub fn keep_newer(&mut self, state: &FileState) {
        let changed = |state: &FileState| state.attributes.changed;
        match &self.newest {
            Some(newest) if changed(newest) > changed(state) => {}
            newest => {
                self.is_spoilt |= newest.is_some_and(|newest| changed(&newest) == changed(state));
                self.newest = Some(*state);
            }
        }
    }
}
