//! Extended attributes.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use bytes::{BufMut, Bytes, BytesMut};
use futago_base::{Errno, XattrName};
use futago_client::XattrMode;
use futago_fuse_kernel::SetXattr;

/// Whether attributes of this name are stored: those of users and of administrators, and
/// capabilities, which the kernel obeys. Access control lists and labels would be stored without
/// being obeyed.
pub fn is_supported(name: &[u8]) -> bool {
    let is_free = name.starts_with(b"user.") || name.starts_with(b"trusted.");
    is_free || name == b"security.capability"
}

pub async fn get(call: &Call, name: Bytes, room: u32) -> Outcome {
    let value = call
        .client
        .get_xattr(call.file, &XattrName::new(name)?)
        .await?;
    Ok(Answer::Xattr(value, room))
}

pub async fn set(call: &Call, set: SetXattr) -> Outcome {
    let mode = match set.flags as i32 {
        libc::XATTR_CREATE => XattrMode::Create,
        libc::XATTR_REPLACE => XattrMode::Replace,
        0 => XattrMode::Set,
        _ => return Err(Errno::EINVAL),
    };
    // The request's buffer is larger than what is stored.
    let value = Bytes::copy_from_slice(&set.value);
    let (client, name) = (&call.client, XattrName::new(set.name)?);
    client.set_xattr(call.file, &name, value, mode).await?;
    Ok(Answer::Done)
}

pub async fn list(call: &Call, room: u32) -> Outcome {
    let mut names = BytesMut::new();
    for name in call.client.list_xattrs(call.file).await? {
        names.put_slice(name.as_bytes());
        names.put_u8(0);
    }
    Ok(Answer::Xattr(names.freeze(), room))
}

pub async fn remove(call: &Call, name: Bytes) -> Outcome {
    let name = XattrName::new(name)?;
    call.client.remove_xattr(call.file, &name).await?;
    Ok(Answer::Done)
}
