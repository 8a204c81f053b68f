//! Makes a file without a name, known only to its opener.

use super::create::{check, inode};
use crate::builder::DecisionBuilder;
use crate::completion::{Refusal, Result};
use futago_base::{
    BucketStart, Errno, FileId, Kind, Payload, View,
    record::{Entry, Inode, Target},
};
use futago_wire::{Failure, NewContent, NewNode, Reply};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    directory: FileId,
    node: &NewNode,
) -> Result {
    let (NewContent::File { .. }
    | NewContent::InheritingFile { .. }
    | NewContent::CharacterDevice(_)) = node.content
    else {
        return Err(Errno::EINVAL.into());
    };
    let data = Payload::empty();
    check(node, &data)?;
    let parent = match builder.file(directory) {
        Err(Refusal::Failure(Failure::Errno(_))) => return Err(Errno::ENOENT.into()),
        parent => parent?.kind,
    };
    if parent != Kind::Directory {
        return Err(Errno::ENOTDIR.into());
    }
    // A transaction may be about to remove the directory.
    builder.unreserved(Target::Inode(directory))?;
    let header = builder.bucket(directory, BucketStart(0))?;
    let id = builder.draw_id(directory.home());
    let mut inode = Inode {
        links: 0,
        linkable: true,
        ..inode(builder, node, &header, &data)
    };
    if inode.kind != Kind::File {
        // The group that the directory passes on may change before the node gets its name.
        inode.gid = node.gid;
    }
    let entry = Entry {
        id,
        kind: inode.kind,
    };
    let state = builder.describe(id, &inode);
    builder.state.put_inode(id, inode);
    builder.register_open(id);
    Ok(Reply::Found {
        entry,
        state: Some(state),
        created: true,
        directory: None,
    }
    .into())
}
