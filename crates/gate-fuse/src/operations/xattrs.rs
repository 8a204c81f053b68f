//! Extended attributes.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use bytes::Bytes;
use futago_base::Errno;
use futago_client::XattrMode;
use futago_files::xattrs;
use futago_fuse_kernel::SetXattr;

pub async fn get(call: &Call, name: Bytes, room: u32) -> Outcome {
    let name = xattrs::supported(name)?;
    let value = call.client.get_xattr(call.file, &name).await?;
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
    let (client, name) = (&call.client, xattrs::supported(set.name)?);
    client.set_xattr(call.file, &name, value, mode).await?;
    Ok(Answer::Done)
}

pub async fn list(call: &Call, room: u32) -> Outcome {
    let names = call.client.list_xattrs(call.file).await?;
    Ok(Answer::Xattr(xattrs::list(&names), room))
}

pub async fn remove(call: &Call, name: Bytes) -> Outcome {
    let name = xattrs::supported(name)?;
    call.client.remove_xattr(call.file, &name).await?;
    Ok(Answer::Done)
}
