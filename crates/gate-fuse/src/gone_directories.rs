//! Directories that others removed while this mount's kernel knows them.
//!
//! A process may work in a directory, or have it open, whose name is gone. The servers keep no such
//! directories, and the kernel does not tell who has one open. So the mount remembers the
//! attributes of each directory that the kernel knows, and answers for those that are gone: they
//! have no links and no names, and their attributes can be changed.

use crate::call::Call;
use crate::directory_nodes::Place;
use crate::interruption::locked;
use futago_base::{Attributes, Errno, FileId, Timestamp};
use futago_client::Context;
use futago_wire::{AttributeChange, SetTime};
use std::collections::HashMap;
use std::sync::Mutex;

/// The attributes of the directories that the kernel knows, as of the last reply.
#[derive(Debug, Default)]
pub struct GoneDirectories(Mutex<HashMap<FileId, Attributes>>);

impl GoneDirectories {
    /// The kernel is about to know a directory.
    pub fn tell(&self, of: &Attributes) {
        locked(&self.0).insert(of.id, *of);
    }

    /// A directory was seen to have these attributes.
    pub fn see(&self, of: &Attributes) {
        if let Some(known) = locked(&self.0).get_mut(&of.id) {
            *known = *of;
        }
    }

    /// The kernel does not know a directory any more.
    pub fn forget(&self, directory: FileId) {
        locked(&self.0).remove(&directory);
    }

    /// A directory was found to be gone. Returns its attributes, changed, if the kernel knows it.
    fn change(
        &self,
        directory: FileId,
        change: &AttributeChange,
        now: Timestamp,
    ) -> Option<Attributes> {
        let mut known = locked(&self.0);
        let attributes = known.get_mut(&directory)?;
        if attributes.links > 0 || *change != AttributeChange::default() {
            attributes.changed = now.max(attributes.changed);
        }
        attributes.links = 0;
        attributes.size = 0;
        set(attributes, change, now);
        Some(*attributes)
    }
}

fn set(attributes: &mut Attributes, change: &AttributeChange, now: Timestamp) {
    let at = |time| match time {
        SetTime::Now => now,
        SetTime::To(time) => time,
    };
    attributes.mode = change.mode.unwrap_or(attributes.mode);
    attributes.uid = change.uid.unwrap_or(attributes.uid);
    attributes.gid = change.gid.unwrap_or(attributes.gid);
    attributes.accessed = change.accessed.map_or(attributes.accessed, at);
    attributes.modified = change.modified.map_or(attributes.modified, at);
}

/// The attributes of the request's directory, which servers do not have any more, after a change.
///
/// # Errors
/// `ESTALE` for anything but a directory, and for one that is lost with its server.
pub async fn attributes(call: &Call, change: &AttributeChange) -> Result<Attributes, Errno> {
    if is_lost(call).await {
        return Err(Errno::ESTALE);
    }
    let now = Timestamp::from(call.client.context().stamp());
    let gone = &call.shared.gone_directories;
    let attributes = gone.change(call.file, change, now);
    attributes.ok_or(Errno::ESTALE)
}

/// Whether a directory is gone although its name still leads there.
async fn is_lost(call: &Call) -> bool {
    let nodes = &call.shared.directories;
    let Some(Place { parent, name }) = nodes.place(call.header.node) else {
        return false;
    };
    let Ok(parent) = nodes.file(parent) else {
        return false;
    };
    let found = call.client.core().lookup(parent, &name).await;
    matches!(found, Err(Errno::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::Kind;

    fn directory(id: u64) -> Attributes {
        let time = Timestamp::default();
        Attributes {
            id: FileId(id),
            kind: Kind::Directory,
            mode: 0o755,
            uid: 1,
            gid: 2,
            links: 3,
            size: 4,
            device: 0,
            accessed: time,
            modified: time,
            changed: time,
            born: time,
            chunk_bytes: 0,
            allocated_bytes: Some(0),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp { seconds, nanos: 0 }
    }

    #[test]
    fn a_gone_directory_has_no_links_and_is_changed_only_by_changes() {
        let gone = GoneDirectories::default();
        let (none, id) = (AttributeChange::default(), FileId(5));
        gone.tell(&directory(5));
        let first = gone.change(id, &none, at(9)).expect("known");
        assert_eq!((first.links, first.size, first.changed), (0, 0, at(9)));
        assert_eq!(gone.change(id, &none, at(10)), Some(first));
        let change = AttributeChange {
            mode: Some(0o700),
            modified: Some(SetTime::To(at(3))),
            ..none
        };
        let changed = gone.change(id, &change, at(11)).expect("known");
        let expected = Attributes {
            mode: 0o700,
            modified: at(3),
            changed: at(11),
            ..first
        };
        assert_eq!(changed, expected);
    }

    #[test]
    fn what_the_kernel_does_not_know_is_not_remembered() {
        let gone = GoneDirectories::default();
        let none = AttributeChange::default();
        gone.see(&directory(5));
        assert_eq!(gone.change(FileId(5), &none, at(1)), None);
        gone.tell(&directory(5));
        gone.forget(FileId(5));
        assert_eq!(gone.change(FileId(5), &none, at(1)), None);
    }
}
