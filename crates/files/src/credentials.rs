//! The caller of an operation.

use futago_wire::{NewContent, NewNode};

/// The user and the group that an operation runs as. Further groups are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Credentials {
    /// A new node of the caller.
    pub const fn new_node(self, content: NewContent, mode: u16) -> NewNode {
        NewNode {
            content,
            mode,
            uid: self.uid,
            gid: self.gid,
        }
    }

    /// Whether the caller may do everything.
    pub const fn is_root(self) -> bool {
        self.uid == 0
    }
}
