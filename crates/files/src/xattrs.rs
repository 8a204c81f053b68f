//! Extended attributes: their names, and the rights to them.

use crate::Credentials;
use alloc::vec::Vec;
use bytes::{BufMut, Bytes, BytesMut};
use futago_base::{Errno, Kind, XattrName};

/// Whether attributes of this name are stored: those of users and of administrators, and
/// capabilities, which the kernel obeys. Access control lists and labels would be stored without
/// being obeyed.
pub fn is_supported(name: &[u8]) -> bool {
    let is_free = name.starts_with(b"user.") || name.starts_with(b"trusted.");
    is_free || name == XattrName::of_capabilities().as_bytes()
}

/// A name that is stored.
///
/// # Errors
/// `EOPNOTSUPP` for others, `ERANGE` for the length, `EINVAL` for a byte that no name can have.
pub fn supported(name: impl Into<Bytes>) -> Result<XattrName, Errno> {
    let name = XattrName::new(name)?;
    if is_supported(name.as_bytes()) {
        Ok(name)
    } else {
        Err(Errno::EOPNOTSUPP)
    }
}

/// Checks that a caller may change an attribute of a file. A mount's kernel checks the same before
/// it sends the request.
///
/// # Errors
/// `EPERM` for attributes of users on what is neither a file nor a directory, and for others unless
/// the caller is root.
pub fn check_change(name: &XattrName, kind: Kind, caller: Credentials) -> Result<(), Errno> {
    let is_allowed = match is_of_users(name) {
        true => matches!(kind, Kind::File | Kind::Directory),
        false => caller.is_root(),
    };
    is_allowed.then_some(()).ok_or(Errno::EPERM)
}

/// Checks that a caller may read an attribute.
///
/// # Errors
/// `ENODATA` for attributes of administrators unless the caller is root.
pub fn check_read(name: &XattrName, caller: Credentials) -> Result<(), Errno> {
    match is_of_administrators(name) && !caller.is_root() {
        true => Err(Errno::ENODATA),
        false => Ok(()),
    }
}

/// The names that a caller may read.
pub fn readable(names: Vec<XattrName>, caller: Credentials) -> Vec<XattrName> {
    let mut names = names;
    names.retain(|name| check_read(name, caller).is_ok());
    names
}

fn is_of_users(name: &XattrName) -> bool {
    name.as_bytes().starts_with(b"user.")
}

fn is_of_administrators(name: &XattrName) -> bool {
    name.as_bytes().starts_with(b"trusted.")
}

/// The list that `listxattr` returns: each name with a zero behind it.
pub fn list(names: &[XattrName]) -> Bytes {
    let mut list = BytesMut::new();
    for name in names {
        list.put_slice(name.as_bytes());
        list.put_u8(0);
    }
    list.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &'static [u8]) -> Result<XattrName, Errno> {
        supported(text)
    }

    #[test]
    fn access_control_lists_and_labels_are_not_stored() {
        assert!(name(b"user.color").is_ok() && name(b"trusted.overlay").is_ok());
        assert!(name(b"security.capability").is_ok());
        for refused in [
            &b"system.posix_acl_access"[..],
            b"security.selinux",
            b"color",
        ] {
            assert_eq!(name(refused), Err(Errno::EOPNOTSUPP));
        }
        assert_eq!(name(b""), Err(Errno::ERANGE));
    }

    #[test]
    fn attributes_of_administrators_are_hidden_from_users() {
        let [root, user] = [0, 1000].map(|uid| Credentials { uid, gid: uid });
        let [of_users, trusted, capabilities] =
            [&b"user.a"[..], b"trusted.a", b"security.capability"]
                .map(|text| name(text).expect("a name"));
        let change = |name, caller| check_change(name, Kind::File, caller);
        for (name, may_read) in [(&of_users, true), (&trusted, false), (&capabilities, true)] {
            assert_eq!(check_read(name, user).is_ok(), may_read);
            assert_eq!(
                (change(name, root), check_read(name, root)),
                (Ok(()), Ok(()))
            );
        }
        assert_eq!(change(&of_users, user), Ok(()));
        assert_eq!(change(&trusted, user), Err(Errno::EPERM));
        assert_eq!(change(&capabilities, user), Err(Errno::EPERM));
        let names = Vec::from([of_users.clone(), trusted]);
        assert_eq!(readable(names, user), [of_users]);
    }

    #[test]
    fn links_have_no_attributes_of_users() {
        let root = Credentials { uid: 0, gid: 0 };
        let change = |kind| check_change(&name(b"user.a").expect("a name"), kind, root);
        assert_eq!(change(Kind::Directory), Ok(()));
        assert_eq!(change(Kind::Symlink), Err(Errno::EPERM));
    }

    #[test]
    fn a_list_ends_each_name_with_a_zero() {
        let names = [name(b"user.a").expect("a"), name(b"user.b").expect("b")];
        assert_eq!(list(&names), "user.a\0user.b\0");
        assert_eq!(list(&[]), "");
    }
}
