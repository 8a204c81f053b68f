//! New nodes that are not opened, and what symbolic links hold.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::translate::permissions;
use bytes::Bytes;
use futago_base::{Errno, Name, Payload};
use futago_client::CreateFlags;
use futago_fuse_kernel::MakeNode;
use futago_wire::{NewContent, NewNode};

/// Permissions of symbolic links, which nobody looks at.
const SYMLINK_MODE: u32 = 0o777;

/// A node of the caller.
fn new_node(call: &Call, content: NewContent, mode: u32) -> NewNode {
    call.credentials().new_node(content, permissions(mode))
}

/// An empty regular file of the caller.
pub fn new_file(call: &Call, mode: u32) -> NewNode {
    futago_files::new_file(&*call.client, call.credentials(), permissions(mode))
}

pub async fn make_node(call: &Call, make: MakeNode) -> Outcome {
    let node = match make.mode & libc::S_IFMT {
        libc::S_IFREG => new_file(call, make.mode),
        libc::S_IFIFO => new_node(call, NewContent::Fifo, make.mode),
        libc::S_IFSOCK => new_node(call, NewContent::Socket, make.mode),
        libc::S_IFCHR => new_node(call, NewContent::CharacterDevice(make.device), make.mode),
        libc::S_IFBLK => new_node(call, NewContent::BlockDevice(make.device), make.mode),
        _ => return Err(Errno::EINVAL),
    };
    put(call, make.name, node).await
}

pub async fn symlink(call: &Call, name: Bytes, target: Bytes) -> Outcome {
    let node = new_node(call, NewContent::Symlink(target), SYMLINK_MODE);
    put(call, name, node).await
}

async fn put(call: &Call, name: Bytes, node: NewNode) -> Outcome {
    let name = Name::new(name)?;
    let (directory, data) = (call.file, Payload::empty());
    let (state, _) = (call.client)
        .create(directory, &name, node, CreateFlags::EXCLUSIVE, data)
        .await?;
    Ok(call.answer_entry(&name, &state.attributes))
}

pub async fn make_directory(call: &Call, name: Bytes, mode: u32) -> Outcome {
    let (name, mode) = (Name::new(name)?, permissions(mode));
    let (client, header) = (&call.client, call.header);
    let state = client
        .make_directory(call.file, &name, mode, header.uid, header.gid)
        .await?;
    Ok(call.answer_entry(&name, &state.attributes))
}

pub async fn read_link(call: &Call) -> Outcome {
    call.client.read_link(call.file).await.map(Answer::Target)
}
