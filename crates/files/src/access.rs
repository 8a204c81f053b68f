//! Rights to open a file.

use crate::Credentials;
use futago_base::{Attributes, Errno};

/// The access to the data of a file that an open requests, as the flags of `open`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// `O_RDONLY`.
    Read,
    /// `O_WRONLY`.
    Write,
    /// `O_RDWR`.
    #[default]
    ReadWrite,
}

/// The flags of `open` that count for as long as the file is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// The access to the data.
    pub access: Access,
    /// Whether every write goes to the end of the file, as with `O_APPEND`.
    pub appends: bool,
    /// Whether the servers have the data of a write when it returns, as with `O_DSYNC`. They have
    /// the attributes then as well, so `O_SYNC` is the same.
    pub is_synchronous: bool,
}

impl Access {
    /// The permission bits that the access needs, as those of others in a mode.
    const fn bits(self) -> u16 {
        match self {
            Self::Read => 0o4,
            Self::Write => 0o2,
            Self::ReadWrite => 0o6,
        }
    }

    /// Checks that the access includes reading.
    ///
    /// # Errors
    /// `EBADF`.
    pub const fn check_read(self) -> Result<(), Errno> {
        match self {
            Self::Read | Self::ReadWrite => Ok(()),
            Self::Write => Err(Errno::EBADF),
        }
    }

    /// Checks that the access includes writing.
    ///
    /// # Errors
    /// `EBADF`.
    pub const fn check_write(self) -> Result<(), Errno> {
        match self {
            Self::Write | Self::ReadWrite => Ok(()),
            Self::Read => Err(Errno::EBADF),
        }
    }

    /// The access that a truncation at the open needs as well.
    #[must_use]
    pub const fn and_write(self) -> Self {
        match self {
            Self::Read | Self::ReadWrite => Self::ReadWrite,
            Self::Write => Self::Write,
        }
    }
}

/// Whether a caller may open a file, whatever further groups it is in. If not, the answer depends
/// on these groups, or is no.
pub const fn is_surely_allowed(file: &Attributes, caller: Credentials, access: Access) -> bool {
    let (owner, group, others) = (file.mode >> 6, file.mode >> 3, file.mode);
    let granted = if caller.is_root() {
        0o7
    } else if caller.uid == file.uid {
        owner
    } else if caller.gid == file.gid {
        group
    } else {
        group & others
    };
    granted & access.bits() == access.bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{FileId, Kind, Timestamp};

    fn file(mode: u16) -> Attributes {
        let time = Timestamp::default();
        Attributes {
            id: FileId(5),
            kind: Kind::File,
            mode,
            uid: 10,
            gid: 20,
            links: 1,
            size: 0,
            device: 0,
            accessed: time,
            modified: time,
            changed: time,
            born: time,
            chunk_bytes: 4096,
            allocated_bytes: Some(0),
        }
    }

    fn allowed(mode: u16, uid: u32, gid: u32, access: Access) -> bool {
        is_surely_allowed(&file(mode), Credentials { uid, gid }, access)
    }

    #[test]
    fn data_is_read_and_written_as_the_file_was_opened() {
        let checks = |access: Access| (access.check_read(), access.check_write());
        let refused = Err(Errno::EBADF);
        assert_eq!(checks(Access::Read), (Ok(()), refused));
        assert_eq!(checks(Access::Write), (refused, Ok(())));
        assert_eq!(checks(Access::ReadWrite), (Ok(()), Ok(())));
    }

    #[test]
    fn only_plain_rights_open_a_file() {
        assert!(allowed(0o600, 10, 1, Access::ReadWrite));
        assert!(!allowed(0o400, 10, 1, Access::ReadWrite));
        assert!(!allowed(0o400, 10, 1, Access::Read.and_write()));
        assert!(allowed(0o040, 11, 20, Access::Read));
        assert!(allowed(0o044, 11, 21, Access::Read));
        assert!(!allowed(0o004, 11, 21, Access::Read), "may be in the group");
        assert!(allowed(0o000, 0, 0, Access::ReadWrite));
    }
}
