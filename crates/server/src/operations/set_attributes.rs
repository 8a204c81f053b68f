//! Changes attributes, including the size.

use super::chunks::check_chunk_bytes;
use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use crate::state::file::without_privileges;
use futago_base::{
    BucketStart, Errno, FileId, Key, Kind, Timestamp, View, limits,
    record::{Inode, Target},
};
use futago_wire::{AttributeChange, Failure, Reply, SetTime};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    id: FileId,
    change: &AttributeChange,
) -> Result {
    builder.unreserved(Target::Inode(id))?;
    let inode = builder.file(id)?;
    check_size(inode, change)?;
    check_chunk_size(inode, change)?;
    if inode.kind == Kind::Directory {
        check_directory(builder, id, change)?;
    }
    if let Some(size) = change.size {
        set_size(builder, id, size)?;
    }
    builder.change_attributes(id, change);
    Ok(Reply::File(builder.file_state(id)?).into())
}

fn check_size(inode: &Inode, change: &AttributeChange) -> Checked<()> {
    match (change.size, inode.kind) {
        (None, _) => Ok(()),
        (Some(_), Kind::Directory) => Err(Errno::EISDIR.into()),
        (Some(size), Kind::File) if size <= limits::FILE_BYTES => Ok(()),
        (Some(_), Kind::File) => Err(Errno::EFBIG.into()),
        (Some(_), _) => Err(Errno::EINVAL.into()),
    }
}

fn check_chunk_size(inode: &Inode, change: &AttributeChange) -> Checked<()> {
    match (change.chunk_bytes, inode.kind) {
        (None, _) | (Some(0), Kind::Directory) => Ok(()),
        (Some(bytes), Kind::Directory) => check_chunk_bytes(bytes),
        (Some(_), _) => Err(Errno::ENOTDIR.into()),
    }
}

/// Checks a change of a directory. A directory of several buckets changes in a transaction, because
/// its headers hold copies. A change also waits for new nodes that are about to inherit the present
/// attributes.
fn check_directory<V: View>(
    builder: &DecisionBuilder<'_, V>,
    id: FileId,
    change: &AttributeChange,
) -> Checked<()> {
    builder.unreserved(Target::Header(id, BucketStart(0)))?;
    let header = builder.bucket(id, BucketStart(0))?;
    if change.mode.is_some() || change.gid.is_some() || change.chunk_bytes.is_some() {
        if header.level > 0 {
            return Err(Failure::Changed.into());
        }
        builder.no_pending_entries(id, BucketStart(0), &header)?;
    }
    Ok(())
}

fn set_size<V: View>(builder: &mut DecisionBuilder<'_, V>, id: FileId, size: u64) -> Checked<()> {
    let mut inode = builder.file(id)?.clone();
    if size < inode.size {
        return builder.truncate(id, size);
    }
    inode.sparse |= size > inode.size;
    builder.grow(id, &mut inode, size)?;
    builder.state.put_inode(id, inode);
    Ok(())
}

impl<V: View> DecisionBuilder<'_, V> {
    /// Changes all attributes but the size; a change of the size changes only the times here.
    pub fn change_attributes(&mut self, id: FileId, change: &AttributeChange) {
        let now = Timestamp::from(self.stamp);
        let at = |time: SetTime| match time {
            SetTime::Now => now,
            SetTime::To(time) => time,
        };
        self.state.update_inode(id, |inode| {
            inode.changed = now;
            inode.mode = change.mode.map_or(inode.mode, |mode| mode & 0o7777);
            if change.kill_privileges && inode.kind == Kind::File {
                inode.mode = without_privileges(inode.mode);
            }
            inode.uid = change.uid.unwrap_or(inode.uid);
            inode.gid = change.gid.unwrap_or(inode.gid);
            if inode.kind == Kind::Directory {
                inode.chunk_bytes = change.chunk_bytes.unwrap_or(inode.chunk_bytes);
            }
            inode.accessed = change.accessed.map_or(inode.accessed, at);
            if change.size.is_some() {
                inode.modified = now;
            }
            if let Some(time) = change.modified {
                inode.modified = at(time);
                if let Some(place) = &mut inode.place {
                    place.modified_set_at = now;
                }
            }
        });
        if change.uid.is_some() || change.gid.is_some() || change.size.is_some() {
            self.drop_capabilities(id);
        }
        self.copy_to_header(id, change);
    }

    /// Updates the copy of the attributes in the first bucket of a directory.
    fn copy_to_header(&mut self, id: FileId, change: &AttributeChange) {
        let bucket = BucketStart(0);
        if let Some(mut header) = self.state.header(id, bucket) {
            header.mode = change.mode.map_or(header.mode, |mode| mode & 0o7777);
            header.gid = change.gid.unwrap_or(header.gid);
            header.chunk_bytes = change.chunk_bytes.unwrap_or(header.chunk_bytes);
            self.state.put(Key::Header(id, bucket), header);
        }
    }
}
