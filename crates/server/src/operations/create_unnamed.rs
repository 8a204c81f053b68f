//! Makes a file without a name, which only its opener knows.

use super::create::{check, inode};
use crate::answer::{Refusal, Result};
use crate::turn::Turn;
use futago_base::{
    BucketStart, Errno, FileId, Kind, Payload, View,
    record::{Entry, Inode, Target},
};
use futago_wire::{Failure, NewContent, NewNode, Reply};

pub fn run<V: View>(turn: &mut Turn<'_, V>, directory: FileId, node: &NewNode) -> Result {
    let (NewContent::File { .. } | NewContent::CharacterDevice(_)) = node.content else {
        return Err(Errno::EINVAL.into());
    };
    let data = Payload::empty();
    check(node, &data)?;
    let parent = match turn.file(directory) {
        Err(Refusal::Failure(Failure::Errno(_))) => return Err(Errno::ENOENT.into()),
        parent => parent?.kind,
    };
    if parent != Kind::Directory {
        return Err(Errno::ENOTDIR.into());
    }
    // It may be about to be removed.
    turn.unreserved(Target::Inode(directory))?;
    let header = turn.bucket(directory, BucketStart(0))?;
    let id = turn.draw_id(directory.home());
    let mut inode = Inode {
        links: 0,
        linkable: true,
        ..inode(turn, node, &header, &data)
    };
    if inode.kind != Kind::File {
        // Before it gets its name, the directory may come to hand down another group.
        inode.gid = node.gid;
    }
    let entry = Entry {
        id,
        kind: inode.kind,
    };
    let state = turn.describe(id, &inode);
    turn.state.put_inode(id, inode);
    turn.register_open(id);
    Ok(Reply::Found {
        entry,
        state: Some(state),
        created: true,
        directory: None,
    }
    .into())
}
