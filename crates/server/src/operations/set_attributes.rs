//! Changes attributes, the size among them.

use crate::answer::{Checked, Result};
use crate::state::file::without_privileges;
use crate::turn::Turn;
use futago_base::{
    BucketStart, Errno, FileId, Key, Kind, Timestamp, View, limits,
    record::{Inode, Target},
};
use futago_wire::{AttributeChange, Failure, Reply, SetTime};

pub fn run<V: View>(turn: &mut Turn<'_, V>, id: FileId, change: &AttributeChange) -> Result {
    turn.unreserved(Target::Inode(id))?;
    let inode = turn.file(id)?;
    check_size(inode, change)?;
    if inode.kind == Kind::Directory {
        check_directory(turn, id, change)?;
    }
    if let Some(size) = change.size {
        set_size(turn, id, size)?;
    }
    turn.change_attributes(id, change);
    Ok(Reply::File(turn.file_state(id)?).into())
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

/// The copies in the headers of a wide directory change with it, in a transaction. What is about to
/// be made in it has inherited what is there now.
fn check_directory<V: View>(
    turn: &Turn<'_, V>,
    id: FileId,
    change: &AttributeChange,
) -> Checked<()> {
    turn.unreserved(Target::Header(id, BucketStart(0)))?;
    let header = turn.bucket(id, BucketStart(0))?;
    if change.mode.is_some() || change.gid.is_some() {
        if header.level > 0 {
            return Err(Failure::Changed.into());
        }
        turn.no_pending_entries(id, BucketStart(0), &header)?;
    }
    Ok(())
}

fn set_size<V: View>(turn: &mut Turn<'_, V>, id: FileId, size: u64) -> Checked<()> {
    let mut inode = turn.file(id)?.clone();
    if size < inode.size {
        return turn.shrink(id, size);
    }
    inode.sparse |= size > inode.size;
    turn.grow(id, &mut inode, size)?;
    turn.state.put_inode(id, inode);
    Ok(())
}

impl<V: View> Turn<'_, V> {
    /// Changes all attributes but the size, whose change only shows in the times here.
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

    /// Keeps the first bucket's copy of a directory's attributes right.
    fn copy_to_header(&mut self, id: FileId, change: &AttributeChange) {
        let bucket = BucketStart(0);
        if let Some(mut header) = self.state.header(id, bucket) {
            header.mode = change.mode.map_or(header.mode, |mode| mode & 0o7777);
            header.gid = change.gid.unwrap_or(header.gid);
            self.state.put(Key::Header(id, bucket), header);
        }
    }
}
