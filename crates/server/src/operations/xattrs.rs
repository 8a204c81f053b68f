//! Extended attributes, kept beside the inode.

use crate::answer::{Checked, Result};
use crate::turn::Turn;
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{Errno, FileId, Key, Timestamp, Value, View, XattrName, limits, record::Target};
use futago_wire::{Reply, Request};

pub fn run<V: View>(turn: &mut Turn<'_, V>, request: &Request) -> Result {
    match request {
        Request::GetXattr { id, name } => Ok(Reply::Bytes(get(turn, *id, name)?).into()),
        Request::SetXattr {
            id,
            name,
            value,
            create,
            replace,
        } => set(turn, *id, name, value, *create, *replace),
        Request::ListXattrs(id) => {
            settled(turn, *id)?;
            Ok(Reply::Names(names(turn, *id)).into())
        }
        Request::RemoveXattr { id, name } => {
            get(turn, *id, name)?;
            turn.state.delete(Key::Xattr(*id, name.clone()));
            touch(turn, *id);
            Ok(Reply::Done.into())
        }
        _ => Err(Errno::ENOSYS.into()),
    }
}

fn get<V: View>(turn: &Turn<'_, V>, id: FileId, name: &XattrName) -> Checked<Bytes> {
    settled(turn, id)?;
    let value = turn
        .state
        .get(&Key::Xattr(id, name.clone()))
        .and_then(Value::bytes);
    value.cloned().ok_or_else(|| Errno::ENODATA.into())
}

fn names<V: View>(turn: &Turn<'_, V>, id: FileId) -> Vec<XattrName> {
    let (from, to) = Key::xattrs(id);
    turn.state
        .range(from, to)
        .filter_map(|(key, _)| match key {
            Key::Xattr(_, name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn set<V: View>(
    turn: &mut Turn<'_, V>,
    id: FileId,
    name: &XattrName,
    value: &Bytes,
    create: bool,
    replace: bool,
) -> Result {
    settled(turn, id)?;
    let exists = turn.state.get(&Key::Xattr(id, name.clone())).is_some();
    if create && exists {
        return Err(Errno::EEXIST.into());
    }
    if replace && !exists {
        return Err(Errno::ENODATA.into());
    }
    if value.len() > limits::XATTR_BYTES {
        return Err(Errno::ERANGE.into());
    }
    let listed: usize = names(turn, id)
        .iter()
        .map(|name| name.as_bytes().len() + 1)
        .sum();
    if !exists && listed + name.as_bytes().len() + 1 > limits::XATTR_LIST_BYTES {
        return Err(Errno::ENOSPC.into());
    }
    turn.state.put(Key::Xattr(id, name.clone()), value.clone());
    touch(turn, id);
    Ok(Reply::Done.into())
}

impl<V: View> Turn<'_, V> {
    /// Takes a program's capabilities away, as Linux does whenever its data or owner changes: they
    /// were given to what it was.
    pub fn drop_capabilities(&mut self, id: FileId) {
        let key = Key::Xattr(id, XattrName::of_capabilities());
        if self.state.get(&key).is_some() {
            self.state.delete(key);
        }
    }
}

fn touch<V: View>(turn: &mut Turn<'_, V>, id: FileId) {
    let now = Timestamp::from(turn.stamp);
    turn.state.update_inode(id, |inode| inode.changed = now);
}

/// A directory may have been removed by a transaction that is not resolved here yet.
fn settled<V: View>(turn: &Turn<'_, V>, id: FileId) -> Checked<()> {
    turn.unreserved(Target::Inode(id))?;
    turn.file(id).map(|_| ())
}
