//! Operations on names.

use super::{Mount, observation};
use crate::journal::Journal;
use futago_base::{FileId, Name, record::Entry};
use futago_client::RenameFlags;
use futago_twin::model::{NewKind, Observed, Operation, Outcome};
use futago_wire::ListedEntry;
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::{self, Errno};

/// The bytes of one read of a directory.
const LISTING_BYTES: usize = 4096;

impl Mount {
    /// Performs an operation on names.
    pub(super) fn names(
        &mut self,
        operation: &Operation,
        journal: &mut Journal,
    ) -> Option<Observed> {
        let operation = &as_calls_can(operation);
        let call = || {
            let result = self.call(operation);
            (self, result)
        };
        journal.observe(operation, call, |(mount, result)| {
            let failure = result.as_ref().err();
            let unasked = failure.is_some_and(|errno| mount.is_unasked(operation, *errno));
            if unasked { None } else { observation(result) }
        })
    }

    /// Whether the kernel may have failed an operation without a request to the file system.
    fn is_unasked(&self, operation: &Operation, errno: Errno) -> bool {
        use Operation as O;
        match (operation, errno) {
            // The kernel found a moved directory at a location that its cached tree forbids.
            (_, Errno::STALE | Errno::LOOP)
            // The kernel compares the two locations in its cached tree.
            | (O::Rename { .. }, Errno::INVAL)
            // The kernel knows which nodes cannot be opened, and by which users.
            | (O::Create { exclusive: false, .. }, Errno::ISDIR | Errno::ACCESS) => true,
            // The kernel counts names, and does not know of names that other clients create.
            (O::Link { id, .. }, Errno::NOENT) if self.stat(*id).is_ok() => true,
            (_, Errno::NOENT) => directories(operation).any(|id| self.is_dead_to_kernel(id)),
            _ => false,
        }
    }

    /// Whether the kernel regards an existing directory as removed. It does so when it has removed
    /// or replaced a name whose cached target was this directory, which was elsewhere a moment
    /// later. It does not list directories that it regards as removed.
    fn is_dead_to_kernel(&self, directory: FileId) -> bool {
        self.list(directory) == Err(Errno::NOENT) && self.stat(directory).is_ok()
    }

    fn call(&mut self, operation: &Operation) -> io::Result<Outcome> {
        use Operation as O;
        let at = |id| self.node(id);
        let done = match operation {
            O::Lookup { directory, name } => return self.look_up(*directory, name),
            O::Create { .. } => return self.create(operation),
            O::CreateUnnamed { directory, mode } => {
                let flags = OFlags::TMPFILE | OFlags::RDWR;
                let file = fs::openat(at(*directory)?, ".", flags, permissions(*mode))?;
                return self.meet_open(file);
            }
            O::MakeDirectory {
                directory,
                name,
                mode,
            } => fs::mkdirat(at(*directory)?, name.as_bytes(), permissions(*mode)),
            O::Unlink { directory, name } => {
                fs::unlinkat(at(*directory)?, name.as_bytes(), AtFlags::empty())
            }
            O::RemoveDirectory { directory, name } => {
                fs::unlinkat(at(*directory)?, name.as_bytes(), AtFlags::REMOVEDIR)
            }
            O::Rename {
                directory,
                name,
                new_directory,
                new_name,
                flags,
            } => fs::renameat_with(
                at(*directory)?,
                name.as_bytes(),
                at(*new_directory)?,
                new_name.as_bytes(),
                flags_of(*flags),
            ),
            O::Link {
                id,
                directory,
                name,
            } => fs::linkat(
                at(*id)?,
                "",
                at(*directory)?,
                name.as_bytes(),
                AtFlags::EMPTY_PATH,
            ),
            O::ReadDirectory { directory, .. } => return self.list(*directory),
            _ => Err(Errno::NOSYS),
        };
        done.map(|()| Outcome::Done)
    }

    fn look_up(&mut self, directory: FileId, name: &Name) -> io::Result<Outcome> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let node = fs::openat(self.node(directory)?, name.as_bytes(), flags, Mode::empty())?;
        let (id, _) = self.meet(node)?;
        Ok(Outcome::Identity(id))
    }

    fn create(&mut self, operation: &Operation) -> io::Result<Outcome> {
        let Operation::Create {
            directory,
            name,
            kind,
            mode,
            exclusive,
            open,
            tag,
        } = operation
        else {
            return Err(Errno::NOSYS);
        };
        let (directory, name, mode) = (self.node(*directory)?, name.as_bytes(), permissions(*mode));
        let made = match kind {
            NewKind::Symlink => fs::symlinkat(&[*tag; 8][..], directory, name),
            NewKind::Fifo => fs::mknodat(directory, name, FileType::Fifo, mode, 0),
            NewKind::Released(_) => return Err(Errno::NOSYS),
            NewKind::File(_) if !open => {
                fs::mknodat(directory, name, FileType::RegularFile, mode, 0)
            }
            NewKind::File(_) => {
                let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK;
                let new = if *exclusive {
                    OFlags::EXCL
                } else {
                    OFlags::empty()
                };
                let file = fs::openat(directory, name, flags | new, mode)?;
                return self.meet_open(file);
            }
        };
        made.map(|()| Outcome::Done)
    }

    /// Reads a whole directory. `Dir` would show a directory that the kernel regards as removed as
    /// an empty one.
    fn list(&self, directory: FileId) -> io::Result<Outcome> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened: OwnedFd = fs::open(self.path(directory)?, flags, Mode::empty())?;
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        let mut entries = RawDir::new(opened, buffer.spare_capacity_mut());
        let mut listed = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            listed.push(ListedEntry {
                name: Name::new(name.to_vec()).map_err(|_| Errno::ILSEQ)?,
                entry: Entry {
                    id: FileId(entry.ino()),
                    kind: super::node::kind_of(entry.file_type()),
                },
                attributes: None,
            });
        }
        Ok(Outcome::Listing(listed))
    }
}

/// The operation as far as system calls can express it. They give new files no content, new
/// directories no set-group-id bit and symbolic links no mode. They open existing files only where
/// they also open new ones.
fn as_calls_can(operation: &Operation) -> Operation {
    let mut operation = operation.clone();
    match &mut operation {
        Operation::Create {
            kind,
            mode,
            exclusive,
            open,
            ..
        } => {
            match kind {
                // A mount makes no released files.
                NewKind::File(_) | NewKind::Released(_) => *kind = NewKind::File(0),
                NewKind::Symlink => *mode = 0o777,
                NewKind::Fifo => {}
            }
            *exclusive |= !*open;
        }
        Operation::MakeDirectory { mode, .. } => *mode &= 0o1777,
        _ => {}
    }
    operation
}

/// The directories of the names in an operation.
fn directories(operation: &Operation) -> impl Iterator<Item = FileId> {
    use Operation as O;
    let (one, other) = match operation {
        O::Lookup { directory, .. }
        | O::Create { directory, .. }
        | O::CreateUnnamed { directory, .. }
        | O::MakeDirectory { directory, .. }
        | O::Unlink { directory, .. }
        | O::RemoveDirectory { directory, .. }
        | O::Link { directory, .. }
        | O::ReadDirectory { directory, .. } => (Some(*directory), None),
        O::Rename {
            directory,
            new_directory,
            ..
        } => (Some(*directory), Some(*new_directory)),
        _ => (None, None),
    };
    one.into_iter().chain(other)
}

fn permissions(mode: u16) -> Mode {
    Mode::from_raw_mode(mode.into())
}

fn flags_of(flags: RenameFlags) -> fs::RenameFlags {
    let mut wanted = fs::RenameFlags::empty();
    wanted.set(fs::RenameFlags::NOREPLACE, flags.no_replace);
    wanted.set(fs::RenameFlags::EXCHANGE, flags.exchange);
    wanted.set(fs::RenameFlags::WHITEOUT, flags.whiteout.is_some());
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::Actor;
    use crate::journal::Doing;
    use std::path::Path;
    use std::time::Instant;

    fn name(text: &'static str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    fn journal() -> Journal {
        Journal::new(Instant::now(), 0, Doing::default())
    }

    /// An actor on a local directory, and the identity of the directory `d` in it.
    fn actor(place: &Path) -> (Mount, FileId) {
        std::fs::create_dir(place.join("d")).expect("a directory");
        let mut mount = Mount::new(place).expect("an actor");
        let directory = FileId::ROOT;
        let lookup = Operation::Lookup {
            directory,
            name: name("d"),
        };
        match mount.perform(&lookup, &mut journal()) {
            Some(Ok(Outcome::Identity(id))) => (mount, id),
            other => panic!("not found: {other:?}"),
        }
    }

    fn unlink(directory: FileId) -> Operation {
        let name = name("missing");
        Operation::Unlink { directory, name }
    }

    /// Like a mount, a local file system shows a removed directory without links.
    #[test]
    fn a_missing_name_in_a_removed_directory_is_reported() {
        let place = tempfile::tempdir().expect("a place");
        let (mut mount, directory) = actor(place.path());
        std::fs::remove_dir(place.path().join("d")).expect("it is empty");
        let list = Operation::ReadDirectory { directory, page: 1 };
        for operation in [unlink(directory), list] {
            let observation = mount.perform(&operation, &mut journal());
            assert_eq!(observation, Some(Err(futago_base::Errno::ENOENT)));
        }
        let observation = mount.perform(&Operation::Attributes(directory), &mut journal());
        assert_eq!(observation, Some(Err(futago_base::Errno::ESTALE)));
    }

    #[test]
    fn a_missing_name_in_an_existing_directory_is_reported() {
        let place = tempfile::tempdir().expect("a place");
        let (mut mount, directory) = actor(place.path());
        let observation = mount.perform(&unlink(directory), &mut journal());
        assert_eq!(observation, Some(Err(futago_base::Errno::ENOENT)));
    }
}
