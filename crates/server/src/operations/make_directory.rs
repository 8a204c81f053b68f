//! Makes a directory: here if it belongs here, else the client is told what to do elsewhere.

use super::create::{SET_GID, inherited_gid};
use crate::answer::Result;
use crate::state::bucket::Place;
use crate::turn::Turn;
use futago_base::{
    Errno, Kind, Partition, View,
    record::{Entry, Header},
};
use futago_wire::{NewDirectory, Reply, Spot, step::Inherited};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub fn run<V: View>(turn: &mut Turn<'_, V>, at: &Spot, mode: u16, uid: u32, gid: u32) -> Result {
    let (place, header) = turn.place_to_change(at)?;
    if turn.entry(&place).is_some() {
        return Err(Errno::EEXIST.into());
    }
    let new = NewDirectory {
        home: home(turn, &place, &header),
        parent: at.directory,
        mode: (mode & 0o7777) | (header.mode & SET_GID),
        uid,
        gid: inherited_gid(&header, gid),
        depth: header.depth.saturating_add(1),
    };
    if turn.server.map.owner(new.home) != turn.server.id() {
        let inherited = inherited(&header);
        return Ok(Reply::Elsewhere { new, inherited }.into());
    }
    let id = turn.draw_id(new.home);
    let entry = Entry {
        id,
        kind: Kind::Directory,
    };
    turn.put_directory(id, &new);
    turn.set_entry(&place, Some(entry));
    let state = Some(turn.file_state(id)?);
    Ok(Reply::Found {
        entry,
        state,
        created: true,
        directory: None,
    }
    .into())
}

/// What a directory hands down.
pub const fn inherited(header: &Header) -> Inherited {
    Inherited {
        set_gid: header.mode & SET_GID != 0,
        gid: header.gid,
    }
}

/// Directories near the root are spread over the cluster; deeper ones stay beside their entry, so
/// that most of what happens in a tree concerns one server.
fn home<V: View>(turn: &Turn<'_, V>, place: &Place, header: &Header) -> Partition {
    if header.depth < turn.server.config().spread_depth {
        let hash = xxh3_64_with_seed(place.name.as_bytes(), place.directory.0);
        turn.server.map.partition_of_hash(hash)
    } else {
        turn.server
            .map
            .bucket_partition(place.directory, place.bucket)
    }
}
