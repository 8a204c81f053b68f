//! Removes a name that is not a directory's, and the file with its last name.

use crate::answer::Result;
use crate::turn::Turn;
use futago_base::{Errno, Kind, View, record::Target};
use futago_wire::{PeerChange, Reply, Spot};

pub fn run<V: View>(turn: &mut Turn<'_, V>, at: &Spot) -> Result {
    let (place, _) = turn.place_to_change(at)?;
    let entry = turn.entry(&place).ok_or(Errno::ENOENT)?;
    if entry.kind == Kind::Directory {
        return Err(Errno::EISDIR.into());
    }
    if turn.is_at_home(entry.id) {
        turn.unreserved(Target::Inode(entry.id))?;
        turn.replace_entry(&place, Some(entry), None);
        turn.drop_link(entry.id);
    } else {
        turn.replace_entry(&place, Some(entry), None);
        turn.send(
            turn.server.map.home(entry.id),
            PeerChange::DropLink(entry.id),
        );
    }
    Ok(Reply::Done.into())
}
