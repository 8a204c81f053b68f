//! Names: finding, removing, moving, adding.

use crate::answer::{Answer, Outcome};
use crate::call::Call;
use crate::directory_nodes::Place;
use crate::retried_walks;
use bytes::Bytes;
use futago_base::{Errno, FileId, Kind, Name};
use futago_client::{Owner, RenameFlags};
use futago_fuse_kernel::Rename;
use futago_wire::FileState;
use std::time::Duration;

pub async fn lookup(call: &Call, name: Bytes) -> Outcome {
    // The kernel asks so for what it has only a handle of.
    match &name[..] {
        b"." => return Box::pin(itself(call)).await,
        b".." => return Box::pin(parent(call)).await,
        _ => {}
    }
    let name = Name::new(name)?;
    let found = if call.shared.retried_walks.is_under_way(call.header.pid) {
        // Apart, as it is seldom: every request would have to have room for it.
        Box::pin(look_up_and_hold(call, &name)).await
    } else {
        call.client.lookup(call.file, &name).await
    };
    match found {
        Ok(state) => {
            call.prepare_entry(&name, &state.attributes).await;
            Ok(call.answer_entry(&name, &state.attributes))
        }
        Err(Errno::ENOENT) => absent(call, &name),
        Err(errno) => Err(errno),
    }
}

/// The node that the kernel has a handle of, which must be the same.
async fn itself(call: &Call) -> Outcome {
    let state = call.client.attributes(call.file).await?;
    let entry = call.unnamed_entry(&state.attributes);
    if entry.node == call.header.node {
        return Ok(Answer::Entry(entry));
    }
    // The kernel knows the directory elsewhere, by another node.
    call.shared.forget(Answer::Entry(entry).node().as_slice());
    Err(Errno::ESTALE)
}

async fn parent(call: &Call) -> Outcome {
    let parent = call.client.parent(call.file).await?;
    let state = call.client.attributes(parent).await?;
    Ok(Answer::Entry(call.unnamed_entry(&state.attributes)))
}

/// Holds what a name leads to until it is used, if it is not a directory: others may be about to
/// replace it.
async fn look_up_and_hold(call: &Call, name: &Name) -> Result<FileState, Errno> {
    loop {
        let found = call.client.lookup(call.file, name).await?;
        if found.attributes.kind == Kind::Directory {
            return Ok(found);
        }
        let (files, core) = (call.client.files(), call.client.core());
        match files.open(core, found.attributes.id).await {
            // Another client has replaced it: a look-up never finds what is gone.
            Err(Errno::ESTALE) => {}
            opened => {
                let (open, state) = opened?;
                retried_walks::hold(call, open);
                return Ok(state);
            }
        }
    }
}

fn absent(call: &Call, name: &Name) -> Outcome {
    match call.cache_name(name, None) {
        Duration::ZERO => Err(Errno::ENOENT),
        valid => Ok(Answer::Absent(valid)),
    }
}

pub async fn unlink(call: &Call, name: Bytes) -> Outcome {
    call.client.unlink(call.file, &Name::new(name)?).await?;
    Ok(Answer::Done)
}

pub async fn remove_directory(call: &Call, name: Bytes) -> Outcome {
    let name = Name::new(name)?;
    call.client.remove_directory(call.file, &name).await?;
    let nodes = &call.shared.directories;
    nodes.removed(&Place::new(call.header.node, &name));
    Ok(Answer::Done)
}

pub async fn rename(call: &Call, rename: Rename) -> Outcome {
    let flags = rename_flags(call, rename.flags)?;
    let (name, new_name) = (Name::new(rename.name)?, Name::new(rename.new_name)?);
    let nodes = &call.shared.directories;
    let new_directory = nodes.file(rename.new_directory)?;
    (call.client)
        .rename(call.file, &name, new_directory, &new_name, flags)
        .await?;
    let from = Place::new(call.header.node, &name);
    let to = Place::new(rename.new_directory, &new_name);
    if flags.exchange {
        nodes.exchanged(&from, &to);
        call.shared.names.exchanged(&from, &to);
    } else {
        nodes.moved(&from, &to);
        call.shared.names.moved(&from, &to);
    }
    for (node, directory) in [(from.parent, call.file), (to.parent, new_directory)] {
        expire_unleased(call, node, directory);
    }
    Ok(Answer::Done)
}

fn rename_flags(call: &Call, flags: u32) -> Result<RenameFlags, Errno> {
    const KNOWN: u32 = libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE | libc::RENAME_WHITEOUT;
    if flags & !KNOWN != 0 {
        return Err(Errno::EINVAL);
    }
    let owner = Owner {
        uid: call.header.uid,
        gid: call.header.gid,
    };
    Ok(RenameFlags {
        no_replace: flags & libc::RENAME_NOREPLACE != 0,
        exchange: flags & libc::RENAME_EXCHANGE != 0,
        whiteout: (flags & libc::RENAME_WHITEOUT != 0).then_some(owner),
    })
}

/// The kernel may use a moved name as long as it could use the old one. Without a lease on the new
/// directory no recall would expire it. The kernel holds the directory's lock until the reply.
fn expire_unleased(call: &Call, node: u64, directory: FileId) {
    if call.client.lease_epoch(directory).is_none() {
        call.shared.names.begin_to_expire(node);
    }
}

pub async fn link(call: &Call, node: u64, name: Bytes) -> Outcome {
    let (id, name) = (call.shared.directories.file(node)?, Name::new(name)?);
    let state = call.client.link(id, call.file, &name).await?;
    Ok(call.answer_entry(&name, &state.attributes))
}
