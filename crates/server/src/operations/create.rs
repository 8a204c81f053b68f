//! Makes a file, symbolic link, pipe, socket or device node, with its entry, in one batch.

use super::chunks::check_chunk_bytes;
use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Result};
use futago_base::{
    ChunkId, Errno, Kind, Payload, Timestamp, View, limits,
    record::{Entry, Header, Inode, Truncations},
};
use futago_wire::{NewContent, NewNode, Reply, Request, Spot};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    at: &Spot,
    node: &NewNode,
    exclusive: bool,
    data: &Payload,
) -> Result {
    check(node, data)?;
    let (location, header) = builder.locate_to_change(at)?;
    let data = &first_chunk(node, &header, data);
    if let Some(entry) = builder.entry(&location) {
        if exclusive {
            return Err(Errno::EEXIST.into());
        }
        let state = builder.file_state_if_at_home(entry.id)?;
        return Ok(Reply::Found {
            entry,
            state,
            created: false,
            directory: None,
        }
        .into());
    }
    let id = builder.draw_id(builder.server.map.bucket_partition(at.directory, at.bucket));
    let inode = inode(builder, node, &header, data);
    let entry = Entry {
        id,
        kind: inode.kind,
    };
    let state = builder.describe(id, &inode);
    builder.state.put_inode(id, inode);
    builder.replace_entry(&location, None, Some(entry));
    if !data.is_empty() {
        let chunk = ChunkId { file: id, index: 0 };
        builder.write_chunk(chunk, 0, data.clone());
    }
    Ok(Reply::Found {
        entry,
        state: Some(state),
        created: true,
        directory: None,
    }
    .into())
}

/// Registers a new file as open on demand, unless the client has got a lease. A lease is recalled
/// before the file is removed.
pub fn open<V: View>(builder: &mut DecisionBuilder<'_, V>, request: &Request, reply: &Reply) {
    if let Request::Create { open: true, .. } = request
        && let Reply::Found {
            state: Some(state),
            created: true,
            ..
        } = reply
        && !state.leased
    {
        builder.register_open(state.attributes.id);
    }
}

pub fn check(node: &NewNode, data: &Payload) -> Checked<()> {
    let valid = match &node.content {
        NewContent::File { chunk_bytes } => {
            check_chunk_bytes(*chunk_bytes).is_ok() && data.len() <= *chunk_bytes as usize
        }
        NewContent::InheritingFile {
            default_chunk_bytes,
        } => check_chunk_bytes(*default_chunk_bytes).is_ok(),
        NewContent::ReleasedFile {
            default_chunk_bytes,
            size,
        } => {
            check_chunk_bytes(*default_chunk_bytes).is_ok()
                && *size <= limits::FILE_BYTES
                && data.is_empty()
        }
        NewContent::Symlink(target) => {
            data.is_empty() && (1..=limits::PATH_BYTES).contains(&target.len())
        }
        _ => data.is_empty(),
    };
    if valid {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
}

/// The chunk size of a new file in a directory, in bytes; 0 for other nodes.
const fn chunk_bytes(node: &NewNode, header: &Header) -> u32 {
    match node.content {
        NewContent::File { chunk_bytes } => chunk_bytes,
        NewContent::InheritingFile {
            default_chunk_bytes,
        }
        | NewContent::ReleasedFile {
            default_chunk_bytes,
            ..
        } if header.chunk_bytes == 0 => default_chunk_bytes,
        NewContent::InheritingFile { .. } | NewContent::ReleasedFile { .. } => header.chunk_bytes,
        _ => 0,
    }
}

/// The part of a new node's first data that its first chunk holds. The client does not know the
/// chunk size of the directory, and writes the rest afterwards.
fn first_chunk(node: &NewNode, header: &Header, data: &Payload) -> Payload {
    data.slice(0, data.len().min(chunk_bytes(node, header) as usize))
}

pub fn inode<V: View>(
    builder: &DecisionBuilder<'_, V>,
    node: &NewNode,
    header: &Header,
    data: &Payload,
) -> Inode {
    let now = Timestamp::from(builder.stamp);
    let mut inode = Inode {
        kind: Kind::File,
        mode: node.mode & 0o7777,
        uid: node.uid,
        gid: inherited_gid(header, node.gid),
        links: 1,
        linkable: false,
        device: 0,
        size: data.len() as u64,
        reach: data.len() as u64,
        ahead: false,
        sparse: false,
        announced: false,
        released: false,
        chunk_bytes: 0,
        accessed: now,
        modified: now,
        changed: now,
        born: now,
        truncations: Truncations::default(),
        cuts_pending: 0,
        target: bytes::Bytes::new(),
        place: None,
    };
    match &node.content {
        NewContent::File { .. } | NewContent::InheritingFile { .. } => {
            inode.chunk_bytes = chunk_bytes(node, header);
        }
        NewContent::ReleasedFile { size, .. } => {
            inode.chunk_bytes = chunk_bytes(node, header);
            inode.size = *size;
            inode.released = *size > 0;
            // The restored data may have holes.
            inode.sparse = *size > 0;
        }
        NewContent::Symlink(target) => {
            inode.kind = Kind::Symlink;
            inode.size = target.len() as u64;
            inode.target.clone_from(target);
        }
        NewContent::Fifo => inode.kind = Kind::Fifo,
        NewContent::Socket => inode.kind = Kind::Socket,
        NewContent::CharacterDevice(device) => {
            inode.kind = Kind::CharacterDevice;
            inode.device = *device;
        }
        NewContent::BlockDevice(device) => {
            inode.kind = Kind::BlockDevice;
            inode.device = *device;
        }
    }
    inode
}

/// The set-group-id bit of a directory: new nodes inherit its group.
pub const SET_GID: u16 = 0o2000;

/// The group of a new node in a directory.
pub const fn inherited_gid(header: &Header, gid: u32) -> u32 {
    if header.mode & SET_GID != 0 {
        header.gid
    } else {
        gid
    }
}
