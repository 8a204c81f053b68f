//! Operations that create, move and remove names.

use super::{Body, Id, Model, Result};
use crate::suites::mounts::operation::{Kind, Outcome, Replace};
use crate::suites::mounts::resolve::Place;
use nix::errno::Errno;
use std::rc::Rc;

impl Model {
    /// Gives a file a name.
    fn attach(&mut self, directory: Id, name: &str, id: Id) {
        self.change_entries(directory).insert(name.to_owned(), id);
        let node = self.change(id);
        node.links += 1;
        if let Body::Directory(_, parent) = &mut node.body {
            *parent = directory;
        }
    }

    /// Takes a name from a file.
    fn detach(&mut self, directory: Id, name: &str) {
        if let Some(id) = self.change_entries(directory).remove(name) {
            self.change(id).links -= 1;
            self.forget(id);
        }
    }

    /// A file lives until its last name and its last slot are gone.
    pub(super) fn forget(&mut self, id: Id) {
        let open = self.open.iter().flatten().any(|slot| *slot == Some(id));
        if self.node(id).links == 0 && !open {
            self.nodes.remove(&id);
        }
    }

    pub(super) fn make(&mut self, path: &str, body: Body, mode: u32) -> Result<Outcome> {
        let place = self.place(path, false)?;
        if place.node.is_some() {
            return Err(Errno::EEXIST);
        }
        let id = self.add(body, mode);
        self.attach(place.directory, &place.name, id);
        Ok(Outcome::Done)
    }

    pub(super) fn find_or_create(&mut self, path: &str) -> Result<Id> {
        let place = self.place(path, true)?;
        Ok(place.node.unwrap_or_else(|| {
            let id = self.add(Body::File(Rc::default()), 0o644);
            self.attach(place.directory, &place.name, id);
            id
        }))
    }

    pub(super) fn unlink(&mut self, path: &str) -> Result<Outcome> {
        let place = self.place(path, false)?;
        let id = place.node.ok_or(Errno::ENOENT)?;
        if self.kind(id) == Kind::Directory {
            return Err(Errno::EISDIR);
        }
        self.detach(place.directory, &place.name);
        Ok(Outcome::Done)
    }

    pub(super) fn remove_directory(&mut self, path: &str) -> Result<Outcome> {
        let place = self.place(path, false)?;
        let id = place.node.ok_or(Errno::ENOENT)?;
        if !self.entries(id)?.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        self.detach(place.directory, &place.name);
        Ok(Outcome::Done)
    }

    pub(super) fn link(&mut self, from: &str, to: &str) -> Result<Outcome> {
        let id = self.find(from, false)?;
        self.link_at(id, &self.place(to, false)?)
    }

    pub(super) fn link_at(&mut self, id: Id, place: &Place) -> Result<Outcome> {
        if place.node.is_some() {
            return Err(Errno::EEXIST);
        }
        if self.kind(id) == Kind::Directory {
            return Err(Errno::EPERM);
        }
        self.attach(place.directory, &place.name, id);
        Ok(Outcome::Done)
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, how: Replace) -> Result<Outcome> {
        let (old, new) = (self.place(from, false)?, self.place(to, false)?);
        self.rename_at(&old, &new, how)
    }

    pub(super) fn rename_at(&mut self, old: &Place, new: &Place, how: Replace) -> Result<Outcome> {
        let source = old.node.ok_or(Errno::ENOENT)?;
        match (how, new.node) {
            (Replace::Never, Some(_)) => return Err(Errno::EEXIST),
            (Replace::Exchange, None) => return Err(Errno::ENOENT),
            _ => {}
        }
        if self.kind(source) == Kind::Directory && self.is_within(new.directory, source) {
            return Err(Errno::EINVAL);
        }
        if let Some(target) = new.node {
            self.may_replace(source, target, old.directory, how)?;
            if source == target {
                return Ok(Outcome::Done);
            }
            if how == Replace::Exchange {
                self.change_entries(old.directory).remove(&old.name);
                self.change_entries(new.directory).remove(&new.name);
                self.change(source).links -= 1;
                self.change(target).links -= 1;
                self.attach(old.directory, &old.name, target);
                self.attach(new.directory, &new.name, source);
                return Ok(Outcome::Done);
            }
            self.detach(new.directory, &new.name);
        }
        self.attach(new.directory, &new.name, source);
        self.detach(old.directory, &old.name);
        Ok(Outcome::Done)
    }

    fn may_replace(&self, source: Id, target: Id, old: Id, how: Replace) -> Result<()> {
        let is_directory = |id| self.kind(id) == Kind::Directory;
        if is_directory(target) && self.is_within(old, target) {
            return Err(if how == Replace::Exchange {
                Errno::EINVAL
            } else {
                Errno::ENOTEMPTY
            });
        }
        if source == target || how == Replace::Exchange {
            return Ok(());
        }
        match (is_directory(source), is_directory(target)) {
            (true, false) => Err(Errno::ENOTDIR),
            (false, true) => Err(Errno::EISDIR),
            (true, true) if !self.entries(target)?.is_empty() => Err(Errno::ENOTEMPTY),
            _ => Ok(()),
        }
    }

    /// A place as it is in this state.
    pub(super) fn again(&self, place: Place) -> Result<Place> {
        self.nodes.get(&place.directory).ok_or(Errno::ENOENT)?;
        let node = self.entries(place.directory)?.get(&place.name).copied();
        Ok(Place { node, ..place })
    }
}
