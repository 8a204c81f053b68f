//! How the model follows paths, with the errors of Linux in the order in which it finds them.

use nix::errno::Errno;

use super::model::{Body, Id, Model, ROOT};

/// Linux follows at most this many symbolic links in one path.
const SYMLINKS_AT_MOST: usize = 40;

/// Where a path's last name is, or would be.
pub struct Place {
    /// The directory.
    pub directory: Id,
    /// The last name.
    pub name: String,
    /// The node of that name.
    pub node: Option<Id>,
}

impl Model {
    /// The node of a path.
    pub fn find(&self, path: &str, follow: bool) -> Result<Id, Errno> {
        if path.is_empty() {
            return Ok(ROOT);
        }
        self.place(path, follow)?.node.ok_or(Errno::ENOENT)
    }

    /// The location of a path's last name. With `follow`, a symbolic link there is followed, even
    /// to a name that does not exist.
    pub fn place(&self, path: &str, follow: bool) -> Result<Place, Errno> {
        let mut symlinks = 0;
        self.walk(ROOT, path, follow, &mut symlinks)
    }

    fn walk(
        &self,
        from: Id,
        path: &str,
        follow: bool,
        symlinks: &mut usize,
    ) -> Result<Place, Errno> {
        let mut directory = from;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let node = self.entries(directory)?.get(name).copied();
            let last = names.peek().is_none();
            let target = node
                .and_then(|id| self.symlink_target(id))
                .filter(|_| !last || follow);
            if let Some(target) = target {
                *symlinks += 1;
                if *symlinks > SYMLINKS_AT_MOST {
                    return Err(Errno::ELOOP);
                }
                let place = self.walk(directory, target, true, symlinks)?;
                if last {
                    return Ok(place);
                }
                directory = place.node.ok_or(Errno::ENOENT)?;
            } else if last {
                return Ok(Place {
                    directory,
                    name: name.to_owned(),
                    node,
                });
            } else {
                directory = node.ok_or(Errno::ENOENT)?;
            }
        }
        Err(Errno::ENOENT)
    }

    fn symlink_target(&self, id: Id) -> Option<&str> {
        match &self.node(id).body {
            Body::Symlink(target) => Some(target),
            _ => None,
        }
    }

    /// Whether `ancestor` is `id` or a directory above it.
    pub fn is_within(&self, mut id: Id, ancestor: Id) -> bool {
        while id != ancestor {
            if id == ROOT {
                return false;
            }
            id = self.parent(id);
        }
        true
    }
}
