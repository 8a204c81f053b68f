//! The caller of an operation.

use crate::stat;
use futago_wire::{AttributeChange, NewContent, NewNode};

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

    /// A change of attributes as the system calls make it: a change of size by others than root
    /// clears set-user-id, and so does a change of owner.
    #[must_use]
    pub const fn change(self, change: AttributeChange) -> AttributeChange {
        let by_size = change.size.is_some() && !self.is_root();
        stat::with_implied(AttributeChange {
            kill_privileges: change.kill_privileges || by_size,
            ..change
        })
    }

    /// Whether the caller may do everything.
    pub const fn is_root(self) -> bool {
        self.uid == 0
    }
}
