//! Attributes, extended attributes, registrations and parents.

use super::apply::{Errors, Expected, directory, existing};
use super::{Body, Call, Node, NodeId, Operation, Tree};
use futago_base::{Errno, FileId, Kind, XattrName};
use futago_client::XattrMode;

pub(super) fn run(tree: &mut Tree, call: &Call<'_>) -> Result<Expected, Errors> {
    use Operation as O;
    match call.operation {
        O::Attributes(id) => Ok(Expected::File(existing(tree, *id)?, false)),
        O::SetMode { id, mode } => set(tree, *id, |node| node.mode = *mode),
        O::SetOwner { id, uid, gid } => set(tree, *id, |node| {
            node.uid = *uid;
            node.gid = *gid;
        }),
        O::ReadLink(id) => read_link(tree, *id),
        O::Open(id) => open(tree, call.client, *id),
        O::Close(id) => close(tree, call.client, *id),
        O::Release(id) => release(tree, call.client, *id),
        O::GetXattr { id, name } => {
            let value = node(tree, existing(tree, *id)?)?.xattrs.get(name);
            let value = value.ok_or_else(|| vec![Errno::ENODATA])?;
            Ok(Expected::Bytes(value.clone()))
        }
        O::SetXattr {
            id,
            name,
            mode,
            tag,
        } => set_xattr(tree, *id, name, *mode, *tag),
        O::ListXattrs(id) => {
            let names = node(tree, existing(tree, *id)?)?.xattrs.keys();
            Ok(Expected::Names(names.cloned().collect()))
        }
        O::RemoveXattr { id, name } => {
            let at = existing(tree, *id)?;
            let removed = tree.node_mut(at).and_then(|node| node.xattrs.remove(name));
            removed
                .map(|_| Expected::Done)
                .ok_or_else(|| vec![Errno::ENODATA])
        }
        O::Parent(id) => parent(tree, *id),
        _ => Err(vec![Errno::ENOSYS]),
    }
}

fn node(tree: &Tree, id: NodeId) -> Result<&Node, Errors> {
    tree.node(id).ok_or_else(|| vec![Errno::ENOENT])
}

fn set(tree: &mut Tree, id: FileId, change: impl FnOnce(&mut Node)) -> Result<Expected, Errors> {
    let at = existing(tree, id)?;
    if let Some(node) = tree.node_mut(at) {
        change(node);
    }
    Ok(Expected::File(at, false))
}

fn read_link(tree: &Tree, id: FileId) -> Result<Expected, Errors> {
    match node(tree, existing(tree, id)?)?.file() {
        Some(file) if file.kind == Kind::Symlink => Ok(Expected::Bytes(file.target.clone())),
        _ => Err(vec![Errno::EINVAL]),
    }
}

fn open(tree: &mut Tree, client: usize, id: FileId) -> Result<Expected, Errors> {
    let at = existing(tree, id)?;
    let file = tree.node_mut(at).and_then(Node::file_mut);
    let file = file.ok_or_else(|| vec![Errno::EISDIR])?;
    *file.opens.entry(client).or_default() += 1;
    Ok(Expected::File(at, false))
}

/// Taking back a registration that is not there does nothing.
fn close(tree: &mut Tree, client: usize, id: FileId) -> Result<Expected, Errors> {
    let at = existing(tree, id)?;
    if let Some(file) = tree.node_mut(at).and_then(Node::file_mut)
        && let Some(count) = file.opens.get_mut(&client)
    {
        *count -= 1;
        if *count == 0 {
            file.opens.remove(&client);
        }
    }
    tree.forget_unused(at);
    Ok(Expected::Done)
}

/// Until the servers hear of it, the file lives.
fn release(tree: &mut Tree, client: usize, id: FileId) -> Result<Expected, Errors> {
    let at = existing(tree, id)?;
    if let Some(file) = tree.node_mut(at).and_then(Node::file_mut) {
        file.released = true;
    }
    close(tree, client, id)
}

fn set_xattr(
    tree: &mut Tree,
    id: FileId,
    name: &XattrName,
    mode: XattrMode,
    tag: u8,
) -> Result<Expected, Errors> {
    let at = existing(tree, id)?;
    let exists = node(tree, at)?.xattrs.contains_key(name);
    match (mode, exists) {
        (XattrMode::Create, true) => return Err(vec![Errno::EEXIST]),
        (XattrMode::Replace, false) => return Err(vec![Errno::ENODATA]),
        _ => {}
    }
    if let Some(node) = tree.node_mut(at) {
        node.xattrs.insert(name.clone(), vec![tag; 5]);
    }
    Ok(Expected::Done)
}

fn parent(tree: &Tree, id: FileId) -> Result<Expected, Errors> {
    let at = directory(tree, id)?;
    match &node(tree, at)?.body {
        Body::Directory { parent, .. } => Ok(Expected::Identity(*parent)),
        Body::File(_) => Err(vec![Errno::ENOTDIR]),
    }
}
