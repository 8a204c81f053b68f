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
    let NewContent::File { .. } = node.content else {
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
    let inode = Inode {
        links: 0,
        linkable: true,
        ..inode(turn, node, &header, &data)
    };
    let state = turn.describe(id, &inode);
    turn.state.put_inode(id, inode);
    turn.register_open(id);
    let entry = Entry {
        id,
        kind: Kind::File,
    };
    Ok(Reply::Found {
        entry,
        state: Some(state),
        created: true,
        directory: None,
    }
    .into())
}
