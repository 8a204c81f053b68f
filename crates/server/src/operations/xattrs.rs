//! Extended attributes, stored beside the inode.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{Errno, FileId, Key, Timestamp, Value, View, XattrName, limits, record::Target};
use futago_wire::{Reply, Request};

pub fn run<V: View>(builder: &mut DecisionBuilder<'_, V>, request: &Request) -> Result {
    match request {
        Request::GetXattr { id, name } => Ok(Reply::Bytes(get(builder, *id, name)?).into()),
        Request::SetXattr {
            id,
            name,
            value,
            create,
            replace,
        } => set(builder, *id, name, value, *create, *replace),
        Request::ListXattrs(id) => {
            settled(builder, *id)?;
            Ok(Reply::Names(names(builder, *id)).into())
        }
        Request::RemoveXattr { id, name } => {
            get(builder, *id, name)?;
            builder.state.delete(Key::Xattr(*id, name.clone()));
            touch(builder, *id);
            Ok(Reply::Done.into())
        }
        _ => Err(Errno::ENOSYS.into()),
    }
}

fn get<V: View>(builder: &DecisionBuilder<'_, V>, id: FileId, name: &XattrName) -> Checked<Bytes> {
    settled(builder, id)?;
    let value = builder
        .state
        .get(&Key::Xattr(id, name.clone()))
        .and_then(Value::bytes);
    value.cloned().ok_or_else(|| Errno::ENODATA.into())
}

fn names<V: View>(builder: &DecisionBuilder<'_, V>, id: FileId) -> Vec<XattrName> {
    let (from, to) = Key::xattrs(id);
    builder
        .state
        .range(from, to)
        .filter_map(|(key, _)| match key {
            Key::Xattr(_, name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn set<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    name: &XattrName,
    value: &Bytes,
    create: bool,
    replace: bool,
) -> Result {
    settled(builder, id)?;
    let exists = builder.state.get(&Key::Xattr(id, name.clone())).is_some();
    if create && exists {
        return Err(Errno::EEXIST.into());
    }
    if replace && !exists {
        return Err(Errno::ENODATA.into());
    }
    if value.len() > limits::XATTR_BYTES {
        return Err(Errno::ERANGE.into());
    }
    let listed: usize = names(builder, id)
        .iter()
        .map(|name| name.as_bytes().len() + 1)
        .sum();
    if !exists && listed + name.as_bytes().len() + 1 > limits::XATTR_LIST_BYTES {
        return Err(Errno::ENOSPC.into());
    }
    builder
        .state
        .put(Key::Xattr(id, name.clone()), value.clone());
    touch(builder, id);
    Ok(Reply::Done.into())
}

impl<V: View> DecisionBuilder<'_, V> {
    /// Removes the capabilities of a program, as Linux does whenever its data or owner changes,
    /// because they were granted to the former data.
    pub fn drop_capabilities(&mut self, id: FileId) {
        let key = Key::Xattr(id, XattrName::of_capabilities());
        if self.state.get(&key).is_some() {
            self.state.delete(key);
        }
    }
}

fn touch<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId) {
    let now = Timestamp::from(builder.stamp);
    builder.state.update_inode(id, |inode| inode.changed = now);
}

/// Checks that the file exists. A transaction that is not resolved here yet may have removed a
/// directory.
fn settled<V: View>(builder: &DecisionBuilder<'_, V>, id: FileId) -> Checked<()> {
    builder.unreserved(Target::Inode(id))?;
    builder.file(id).map(|_| ())
}
