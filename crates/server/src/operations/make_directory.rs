//! Makes a directory on this server if it belongs here. Otherwise the reply describes the
//! transaction with another server.

use super::create::{SET_GID, inherited_gid};
use crate::builder::DecisionBuilder;
use crate::completion::Result;
use crate::state::bucket::EntryLocation;
use futago_base::{
    Errno, Kind, Partition, View,
    record::{Entry, Header},
};
use futago_wire::{NewDirectory, Reply, Spot, step::Inherited};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    at: &Spot,
    mode: u16,
    uid: u32,
    gid: u32,
) -> Result {
    let (location, header) = builder.locate_to_change(at)?;
    if builder.entry(&location).is_some() {
        return Err(Errno::EEXIST.into());
    }
    let new = NewDirectory {
        home: home(builder, &location, &header),
        parent: at.directory,
        mode: (mode & 0o7777) | (header.mode & SET_GID),
        uid,
        gid: inherited_gid(&header, gid),
        chunk_bytes: header.chunk_bytes,
        depth: header.depth.saturating_add(1),
    };
    if builder.server.map.owner(new.home) != builder.server.id() {
        let inherited = inherited(&header);
        return Ok(Reply::Elsewhere { new, inherited }.into());
    }
    let id = builder.draw_id(new.home);
    let entry = Entry {
        id,
        kind: Kind::Directory,
    };
    builder.put_directory(id, &new);
    builder.set_entry(&location, Some(entry));
    let state = Some(builder.file_state(id)?);
    Ok(Reply::Found {
        entry,
        state,
        created: true,
        directory: None,
    }
    .into())
}

/// The attributes that new nodes inherit from a directory.
pub const fn inherited(header: &Header) -> Inherited {
    Inherited {
        set_gid: header.mode & SET_GID != 0,
        gid: header.gid,
        chunk_bytes: header.chunk_bytes,
    }
}

/// The home partition of a new directory. Directories near the root are spread over the cluster.
/// Deeper ones stay beside their entry, so that most requests for a tree go to one server.
fn home<V: View>(
    builder: &DecisionBuilder<'_, V>,
    location: &EntryLocation,
    header: &Header,
) -> Partition {
    if header.depth < builder.server.config().spread_depth {
        let hash = xxh3_64_with_seed(location.name.as_bytes(), location.directory.0);
        builder.server.map.partition_of_hash(hash)
    } else {
        builder
            .server
            .map
            .bucket_partition(location.directory, location.bucket)
    }
}
