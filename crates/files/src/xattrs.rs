//! The names of extended attributes.

use bytes::{BufMut, Bytes, BytesMut};
use futago_base::{Errno, XattrName};

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
    fn a_list_ends_each_name_with_a_zero() {
        let names = [name(b"user.a").expect("a"), name(b"user.b").expect("b")];
        assert_eq!(list(&names), "user.a\0user.b\0");
        assert_eq!(list(&[]), "");
    }
}
