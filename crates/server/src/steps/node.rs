//! Inodes: new directories, links, parents.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use alloc::{vec, vec::Vec};
use futago_base::{Errno, FileId, Kind, Timestamp, View, limits, record::Target};
use futago_wire::{Failure, NewDirectory};

impl<V: View> DecisionBuilder<'_, V> {
    pub fn check_create_directory(&self, new: &NewDirectory) -> Checked<Vec<Target>> {
        if self.server.map.owner(new.home) != self.server.id() {
            return Err(Failure::WrongServer.into());
        }
        Ok(Vec::new())
    }

    pub fn check_node(&self, id: FileId) -> Checked<Vec<Target>> {
        self.unreserved(Target::Inode(id))?;
        if !self.is_at_home(id) {
            return Err(Failure::WrongServer.into());
        }
        if self.state.inode(id).is_none() {
            return Err(Failure::Changed.into());
        }
        Ok(vec![Target::Inode(id)])
    }

    pub fn check_add_link(&self, id: FileId) -> Checked<Vec<Target>> {
        self.unreserved(Target::Inode(id))?;
        let inode = self.file(id)?;
        if inode.kind == Kind::Directory {
            return Err(Errno::EPERM.into());
        }
        if inode.links == 0 && !inode.linkable {
            return Err(Errno::ENOENT.into());
        }
        if inode.links >= limits::LINKS {
            return Err(Errno::EMLINK.into());
        }
        Ok(vec![Target::Inode(id)])
    }

    /// Adds links and sets the change time, as every change of a file's names does.
    pub fn install_links(&mut self, id: FileId, more: u32) {
        let now = Timestamp::from(self.stamp);
        self.state.update_inode(id, |inode| {
            inode.links += more;
            inode.linkable &= more == 0;
            inode.changed = now;
        });
    }

    pub fn install_parent(&mut self, directory: FileId, parent: FileId) {
        let now = Timestamp::from(self.stamp);
        self.state.update_inode(directory, |inode| {
            inode.changed = now;
            if let Some(place) = &mut inode.place {
                place.parent = parent;
            }
        });
    }
}
