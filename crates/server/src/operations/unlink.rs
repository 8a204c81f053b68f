//! Removes a name that is not of a directory, and the file with its last name.

use crate::builder::DecisionBuilder;
use crate::completion::Result;
use futago_base::{Errno, FileId, Kind, View, record::Target};
use futago_wire::{PeerChange, Reply, Spot};

pub fn run<V: View>(
    builder: &mut DecisionBuilder<'_, V>,
    at: &Spot,
    named: Option<FileId>,
) -> Result {
    let (location, _) = builder.locate_to_change(at)?;
    let entry = builder.entry(&location).ok_or(Errno::ENOENT)?;
    if entry.kind == Kind::Directory {
        return Err(Errno::EISDIR.into());
    }
    if builder.is_at_home(entry.id) {
        builder.unreserved(Target::Inode(entry.id))?;
        builder.replace_entry(&location, Some(entry), None);
        builder.drop_link(entry.id);
    } else {
        builder.replace_entry(&location, Some(entry), None);
        builder.send(
            builder.server.map.home(entry.id),
            PeerChange::DropLink {
                file: entry.id,
                by: (named == Some(entry.id)).then_some(builder.request),
            },
        );
    }
    Ok(Reply::Done.into())
}
