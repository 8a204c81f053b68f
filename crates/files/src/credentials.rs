//! The caller of an operation.

/// The user and the group that an operation runs as. Further groups are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Credentials {
    /// Whether the caller may do everything.
    pub const fn is_root(self) -> bool {
        self.uid == 0
    }
}
