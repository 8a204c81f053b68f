//! Path resolution.

use super::lookup::Found;
use crate::{Client, Context, Place};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Kind, Name, limits, record::Entry};
use futago_wire::{FileState, Spot};

/// How many symbolic links one resolution follows, as Linux does.
const LINKS_MAX: u32 = 40;

/// Where a resolution stands.
struct Walk {
    /// The directory that has been reached.
    at: FileId,
    /// What the last name on the way was found to be.
    last: Option<Found>,
    /// What is left of the path.
    rest: Vec<u8>,
    links: u32,
}

/// A step on the way to where a path leads.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'a> {
    /// A name was sought.
    Name {
        /// The directory.
        directory: FileId,
        /// The name.
        name: &'a Name,
        /// What it leads to.
        outcome: Result<Entry, Errno>,
    },
    /// The target of a symbolic link was read.
    Link {
        /// The link.
        id: FileId,
        /// Whether that worked.
        outcome: Result<(), Errno>,
    },
}

/// The first component of a path.
struct Component {
    name: Vec<u8>,
    /// Whether nothing but slashes follows.
    last: bool,
    /// Whether a slash follows.
    slash: bool,
}

impl<C: Context> Client<C> {
    /// The file that a path from the root leads to; a symbolic link at its end is followed if
    /// `follow_last` is set or the path ends in `/`. Errors: `ENOENT`, `ENOTDIR`, `ELOOP` after 40
    /// symbolic links, `ENAMETOOLONG`.
    pub async fn resolve(&self, path: &[u8], follow_last: bool) -> Result<FileState, Errno> {
        self.resolve_watched(path, follow_last, &mut |_| {}).await
    }

    /// The same; `watch` is told of every step as it ends.
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
            if self.step_up(walk, &component.name).await? {
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

    /// What a walk found was gone when the walk went on from there. Errors: `ESTALE` if its name
    /// still leads there, because it is lost: then another walk would end there, too.
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

    /// The directory and the name that a path from the root ends in, whether the name exists or not.
    /// Errors: as [`Client::resolve`]; `EEXIST` if the path ends in the root, `.` or `..`.
    pub async fn locate(&self, path: &[u8]) -> Result<Place, Errno> {
        self.locate_watched(path, &mut |_| {}).await
    }

    /// The same; `watch` is told of every step as it ends.
    pub async fn locate_watched(
        &self,
        path: &[u8],
        watch: &mut impl FnMut(PathStep<'_>),
    ) -> Result<Place, Errno> {
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
    ) -> Result<Place, Errno> {
        while let Some(component) = walk.next() {
            if component.last && !matches!(&component.name[..], b"." | b"..") {
                return Ok(Place {
                    directory: walk.at,
                    name: Name::new(component.name)?,
                    must_be_directory: component.slash,
                });
            }
            if self.step_up(walk, &component.name).await? {
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

    /// Takes `.` and `..`; returns whether the component was one.
    async fn step_up(&self, walk: &mut Walk, name: &[u8]) -> Result<bool, Errno> {
        if name == b".." {
            walk.at = self.parent(walk.at).await?;
            walk.last = None;
        }
        Ok(matches!(name, b"." | b".."))
    }

    /// Finds a name on the way.
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

    /// Puts a symbolic link's target in front of what is left.
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
        // A link that ends the path may lead to the directory that it is in.
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

    /// Takes the next component. What is left begins with the slash after it, if there is one.
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
