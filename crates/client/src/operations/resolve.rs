//! Path resolution.

use super::lookup::Found;
use crate::{Client, Context, NameLocation};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Kind, Name, limits, record::Entry};
use futago_wire::{FileState, Spot};

/// The most symbolic links that one resolution follows, as in Linux.
const LINKS_MAX: u32 = 40;

/// The state of a resolution.
struct Walk {
    /// The directory that the walk has reached.
    at: FileId,
    /// The last name that the walk has found.
    last: Option<Found>,
    /// The rest of the path.
    rest: Vec<u8>,
    links: u32,
}

/// A step of a path resolution.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'a> {
    /// A name was looked up.
    Name {
        /// The directory.
        directory: FileId,
        /// The name.
        name: &'a Name,
        /// The entry of the name.
        outcome: Result<Entry, Errno>,
    },
    /// The target of a symbolic link was read.
    Link {
        /// The link.
        id: FileId,
        /// The result of the read.
        outcome: Result<(), Errno>,
    },
}

/// The first component of a path.
struct Component {
    name: Vec<u8>,
    /// Whether only slashes follow.
    last: bool,
    /// Whether a slash follows.
    slash: bool,
}

impl<C: Context> Client<C> {
    /// The file at the end of a path from the root. A symbolic link at the end is followed if
    /// `follow_last` is set or the path ends in `/`. Errors: `ENOENT`, `ENOTDIR`, `ELOOP` after 40
    /// symbolic links, `ENAMETOOLONG`.
    pub async fn resolve(&self, path: &[u8], follow_last: bool) -> Result<FileState, Errno> {
        self.resolve_watched(path, follow_last, &mut |_| {}).await
    }

    /// Like [`Client::resolve`]; `watch` gets every step when it ends.
    pub async fn resolve_watched(
        &self,
        path: &[u8],
        follow_last: bool,
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<FileState, Errno> {
        loop {
            let mut walk = Walk::new(path)?;
            match self.walk_to_end(&mut walk, follow_last, watch).await {
                Err(Errno::ESTALE) => self.check_replaced(&walk).await?,
                result => return result,
            }
        }
    }

    async fn walk_to_end(
        &self,
        walk: &mut Walk,
        follow_last: bool,
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<FileState, Errno> {
        while let Some(component) = walk.next() {
            if self.step_dots(walk, &component.name).await? {
                continue;
            }
            let name = Name::new(component.name.clone())?;
            let found = self.find_watched(walk.at, &name, watch).await?;
            let (id, kind) = (found.entry.id, found.entry.kind);
            walk.last = Some(found);
            match kind {
                Kind::Symlink if !component.last || component.slash || follow_last => {
                    self.follow(walk, id, watch).await?;
                }
                Kind::Directory => walk.at = id,
                _ if component.last && !component.slash => break,
                _ => return Err(Errno::ENOTDIR),
            }
        }
        match &walk.last {
            Some(found) => self.persist(|| self.complete(found)).await,
            None => self.attributes(walk.at).await,
        }
    }

    /// Checks a file that a walk has found by name and that does not exist any more. Errors:
    /// `ESTALE` if the name still refers to it, because the file is lost and a second walk would
    /// end there, too.
    async fn check_replaced(&self, walk: &Walk) -> Result<(), Errno> {
        let found = walk.last.as_ref().ok_or(Errno::ESTALE)?;
        let Spot {
            directory, name, ..
        } = &found.at;
        let again = self.persist(|| self.ask_place(*directory, name)).await?;
        match again {
            Ok(again) if again.entry == found.entry => Err(Errno::ESTALE),
            _ => Ok(()),
        }
    }

    /// The directory and the name at the end of a path from the root, whether the name exists or
    /// not. Errors: as [`Client::resolve`]; `EEXIST` if the path ends in the root, `.` or `..`.
    pub async fn locate(&self, path: &[u8]) -> Result<NameLocation, Errno> {
        self.locate_watched(path, &mut |_| {}).await
    }

    /// Like [`Client::locate`]; `watch` gets every step when it ends.
    pub async fn locate_watched(
        &self,
        path: &[u8],
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<NameLocation, Errno> {
        loop {
            let mut walk = Walk::new(path)?;
            match self.walk_to_name(&mut walk, watch).await {
                Err(Errno::ESTALE) => self.check_replaced(&walk).await?,
                result => return result,
            }
        }
    }

    async fn walk_to_name(
        &self,
        walk: &mut Walk,
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<NameLocation, Errno> {
        while let Some(component) = walk.next() {
            if component.last && !matches!(&component.name[..], b"." | b"..") {
                return Ok(NameLocation {
                    directory: walk.at,
                    name: Name::new(component.name)?,
                    must_be_directory: component.slash,
                });
            }
            if self.step_dots(walk, &component.name).await? {
                continue;
            }
            let name = Name::new(component.name)?;
            let found = self.find_watched(walk.at, &name, watch).await?;
            let (id, kind) = (found.entry.id, found.entry.kind);
            walk.last = Some(found);
            match kind {
                Kind::Symlink => self.follow(walk, id, watch).await?,
                Kind::Directory => walk.at = id,
                _ => return Err(Errno::ENOTDIR),
            }
        }
        Err(Errno::EEXIST)
    }

    /// Checks the target of a path that must not be a directory and yet may end in `/`. A directory
    /// passes, because the operation itself refuses it. Errors: `ENOTDIR` for another target, also
    /// for a symbolic link; `ENOENT`.
    pub async fn check_slash(&self, at: &NameLocation) -> Result<(), Errno> {
        self.check_slash_watched(at, &mut |_| {}).await
    }

    /// Like [`Client::check_slash`]; `watch` gets every step when it ends.
    pub async fn check_slash_watched(
        &self,
        at: &NameLocation,
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<(), Errno> {
        if !at.must_be_directory {
            return Ok(());
        }
        match self
            .find_watched(at.directory, &at.name, watch)
            .await?
            .entry
            .kind
        {
            Kind::Directory => Ok(()),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Handles `.` and `..`. Returns whether the component was one of them.
    async fn step_dots(&self, walk: &mut Walk, name: &[u8]) -> Result<bool, Errno> {
        if name == b".." {
            walk.at = self.parent(walk.at).await?;
            walk.last = None;
        }
        Ok(matches!(name, b"." | b".."))
    }

    /// Finds a name of the path.
    async fn find_watched(
        &self,
        directory: FileId,
        name: &Name,
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<Found, Errno> {
        let found = self.persist(|| self.find(directory, name)).await;
        let outcome = found.as_ref().map(|found| found.entry);
        watch(PathStep::Name {
            directory,
            name,
            outcome: outcome.map_err(|errno| *errno),
        });
        found
    }

    /// Puts the target of a symbolic link in front of the rest of the path.
    async fn follow(
        &self,
        walk: &mut Walk,
        id: FileId,
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<(), Errno> {
        walk.links += 1;
        if walk.links > LINKS_MAX {
            return Err(Errno::ELOOP);
        }
        let target = self.read_link(id).await;
        watch(PathStep::Link {
            id,
            outcome: target.as_ref().map(drop).map_err(|errno| *errno),
        });
        let target = target?;
        if target.first() == Some(&b'/') {
            walk.at = FileId::ROOT;
        }
        // A link at the end of the path may lead to its own directory.
        walk.last = None;
        let mut rest = target.to_vec();
        rest.append(&mut walk.rest);
        if rest.len() > limits::PATH_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        walk.rest = rest;
        Ok(())
    }
}

impl Walk {
    fn new(path: &[u8]) -> Result<Self, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        if path.len() > limits::PATH_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        Ok(Self {
            at: FileId::ROOT,
            last: None,
            rest: path.to_vec(),
            links: 0,
        })
    }

    /// Takes the next component. The rest begins with the slash after it, if there is one.
    fn next(&mut self) -> Option<Component> {
        let start = self.rest.iter().position(|&byte| byte != b'/')?;
        let mut name = self.rest.split_off(start);
        let length = name.iter().position(|&byte| byte == b'/');
        self.rest = name.split_off(length.unwrap_or(name.len()));
        Some(Component {
            name,
            last: self.rest.iter().all(|&byte| byte == b'/'),
            slash: !self.rest.is_empty(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn a_path_is_taken_apart_at_its_slashes() {
        let mut walk = Walk::new(b"//a/b//").unwrap();
        let all: Vec<(String, bool, bool)> = core::iter::from_fn(|| walk.next())
            .map(|c| (String::from_utf8(c.name).unwrap(), c.last, c.slash))
            .collect();
        assert_eq!(all, [("a".into(), false, true), ("b".into(), true, true)]);
    }
}
