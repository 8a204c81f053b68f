//! The process that does one directory's operations: reads them from its input, a line each, and
//! answers each with a line.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, Write};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::os::unix::fs::{
    DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink,
};
use std::path::Path;

use anyhow::Context;
use nix::errno::Errno;
use nix::fcntl::{self, AT_FDCWD, FcntlArg, RenameFlags};
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::stat::{Mode, UtimensatFlags, umask, utimensat};
use nix::sys::time::TimeSpec;

use super::model::join;
use super::operation::{
    Attributes, Content, Entry, Kind, Lock, Operation, Outcome, Replace, SLOTS,
};

/// Answers until the input ends.
pub fn serve(directory: &Path) -> anyhow::Result<()> {
    umask(Mode::empty());
    std::env::set_current_dir(directory)
        .with_context(|| format!("cannot change to {}", directory.display()))?;
    let mut agent = Agent::default();
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let outcome = agent.act(&serde_json::from_str(&line?)?);
        serde_json::to_writer(&mut output, &outcome)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

/// The files that it holds open.
#[derive(Default)]
struct Agent {
    slots: [Option<File>; SLOTS],
}

impl Agent {
    fn act(&mut self, operation: &Operation) -> Outcome {
        self.try_act(operation).unwrap_or_else(|error| {
            Outcome::Error(error.raw_os_error().unwrap_or(Errno::EPROTO as i32))
        })
    }

    fn try_act(&mut self, operation: &Operation) -> io::Result<Outcome> {
        match operation {
            Operation::Create { path, mode } => done(
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(*mode)
                    .open(path),
            ),
            Operation::Unlink { path } => done(fs::remove_file(path)),
            Operation::MakeDirectory { path, mode } => {
                done(fs::DirBuilder::new().mode(*mode).create(path))
            }
            Operation::RemoveDirectory { path } => done(fs::remove_dir(path)),
            Operation::Rename { from, to, how } => rename(from, to, *how),
            Operation::Link { from, to } => done(fs::hard_link(from, to)),
            Operation::Symlink { target, path } => done(symlink(target, path)),
            Operation::ReadLink { path } => Ok(Outcome::Target(target_of(Path::new(path))?)),
            Operation::ChangeMode { path, mode } => {
                done(fs::set_permissions(path, Permissions::from_mode(*mode)))
            }
            Operation::SetTimes { path, time_ns } => set_times(path, *time_ns),
            Operation::Stat { path } => Ok(Outcome::Attributes(attributes(&fs::metadata(path)?))),
            Operation::List { path } => list(path),
            Operation::Tree => Ok(Outcome::Tree(tree()?)),
            _ => self.act_on_data(operation),
        }
    }

    fn act_on_data(&mut self, operation: &Operation) -> io::Result<Outcome> {
        match operation {
            Operation::Write {
                path,
                offset,
                length,
                fill,
                create,
            } => {
                let mut options = OpenOptions::new();
                options
                    .write(true)
                    .create(*create)
                    .truncate(false)
                    .mode(0o644);
                done(
                    options
                        .open(path)?
                        .write_all_at(&vec![*fill; *length], *offset),
                )
            }
            Operation::Append { path, length, fill } => {
                let mut file = OpenOptions::new().append(true).open(path)?;
                done(file.write_all(&vec![*fill; *length]))
            }
            Operation::Read {
                path,
                offset,
                length,
            } => read(&File::open(path)?, *offset, *length),
            Operation::MapRead { path } => map_read(&File::open(path)?),
            Operation::Truncate { path, size } => {
                let size = i64::try_from(*size).map_err(io::Error::other)?;
                done(nix::unistd::truncate(path.as_str(), size).map_err(io::Error::from))
            }
            Operation::Open { slot, path } => {
                self.slots[*slot] = None;
                self.slots[*slot] = Some(OpenOptions::new().read(true).write(true).open(path)?);
                Ok(Outcome::Done)
            }
            Operation::Close { slot } => Ok(self.slots[*slot]
                .take()
                .map_or(Outcome::NotOpen, |_| Outcome::Done)),
            _ => self.act_on_slot(operation),
        }
    }

    fn act_on_slot(&self, operation: &Operation) -> io::Result<Outcome> {
        let (Operation::WriteOpen { slot, .. }
        | Operation::ReadOpen { slot, .. }
        | Operation::StatOpen { slot }
        | Operation::LockRange { slot, .. }
        | Operation::LockWhole { slot, .. }) = operation
        else {
            return Err(Errno::ENOSYS.into());
        };
        let Some(file) = &self.slots[*slot] else {
            return Ok(Outcome::NotOpen);
        };
        match operation {
            Operation::WriteOpen {
                offset,
                length,
                fill,
                ..
            } => done(file.write_all_at(&vec![*fill; *length], *offset)),
            Operation::ReadOpen { offset, length, .. } => read(file, *offset, *length),
            Operation::LockRange {
                kind,
                start,
                length,
                ..
            } => lock_range(file, *kind, *start, *length),
            Operation::LockWhole { kind, .. } => lock_whole(file, *kind),
            _ => Ok(Outcome::Attributes(attributes(&file.metadata()?))),
        }
    }
}

fn done<T>(result: io::Result<T>) -> io::Result<Outcome> {
    result.map(|_| Outcome::Done)
}

fn rename(from: &str, to: &str, how: Replace) -> io::Result<Outcome> {
    let flags = match how {
        Replace::Yes => RenameFlags::empty(),
        Replace::Never => RenameFlags::RENAME_NOREPLACE,
        Replace::Exchange => RenameFlags::RENAME_EXCHANGE,
    };
    let result = fcntl::renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
    done(result.map_err(io::Error::from))
}

fn set_times(path: &str, time_ns: i64) -> io::Result<Outcome> {
    let time = TimeSpec::new(
        time_ns.div_euclid(1_000_000_000),
        time_ns.rem_euclid(1_000_000_000),
    );
    let result = utimensat(AT_FDCWD, path, &time, &time, UtimensatFlags::FollowSymlink);
    done(result.map_err(io::Error::from))
}

fn read(file: &File, offset: u64, length: usize) -> io::Result<Outcome> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(Outcome::Data(Content::of(&bytes[..filled])))
}

fn map_read(file: &File) -> io::Result<Outcome> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Errno::EISDIR.into());
    }
    let length = usize::try_from(metadata.len()).map_err(io::Error::other)?;
    let Some(size) = NonZeroUsize::new(length) else {
        return Ok(Outcome::Data(Content::of(&[])));
    };
    // SAFETY: a new private read-only mapping at an address of the kernel's choice; no other
    // operation runs in this process while it exists, and the checker never truncates a file while
    // another agent maps it.
    let content = unsafe {
        let address = mmap(
            None,
            size,
            ProtFlags::PROT_READ,
            MapFlags::MAP_PRIVATE,
            file.as_fd(),
            0,
        )?;
        let bytes = std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), length);
        let content = Content::of(bytes);
        munmap(address, length)?;
        content
    };
    Ok(Outcome::Data(content))
}

fn lock_range(file: &File, kind: Lock, start: u64, length: u64) -> io::Result<Outcome> {
    let kind = match kind {
        Lock::Shared => libc::F_RDLCK,
        Lock::Exclusive => libc::F_WRLCK,
        Lock::Unlock => libc::F_UNLCK,
    };
    let lock = libc::flock {
        l_type: i16::try_from(kind).map_err(io::Error::other)?,
        l_whence: i16::try_from(libc::SEEK_SET).map_err(io::Error::other)?,
        l_start: i64::try_from(start).map_err(io::Error::other)?,
        l_len: i64::try_from(length).map_err(io::Error::other)?,
        l_pid: 0,
    };
    done(fcntl::fcntl(file, FcntlArg::F_SETLK(&lock)).map_err(io::Error::from))
}

fn lock_whole(file: &File, kind: Lock) -> io::Result<Outcome> {
    file.unlock()?;
    let taken = match kind {
        Lock::Shared => file.try_lock_shared(),
        Lock::Exclusive => file.try_lock(),
        Lock::Unlock => Ok(()),
    };
    match taken {
        Ok(()) => Ok(Outcome::Done),
        Err(fs::TryLockError::WouldBlock) => Err(Errno::EAGAIN.into()),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn list(path: &str) -> io::Result<Outcome> {
    let mut names = BTreeMap::new();
    for entry in fs::read_dir(if path.is_empty() { "." } else { path })? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let again = names.insert(name, kind(entry.file_type()?));
        if again.is_some() {
            // A directory never lists a name twice.
            return Err(Errno::EUCLEAN.into());
        }
    }
    Ok(Outcome::Names(names))
}

fn tree() -> io::Result<BTreeMap<String, Entry>> {
    let mut tree = BTreeMap::new();
    let mut paths = vec![String::new()];
    while let Some(path) = paths.pop() {
        let real = if path.is_empty() {
            Path::new(".")
        } else {
            Path::new(&path)
        };
        let attributes = attributes(&fs::symlink_metadata(real)?);
        let mut content = Content::of(&[]);
        match attributes.kind {
            Kind::Directory => {
                for entry in fs::read_dir(real)? {
                    paths.push(join(&path, &entry?.file_name().to_string_lossy()));
                }
            }
            Kind::File => content = Content::of(&fs::read(real)?),
            Kind::Symlink => content = Content::of(target_of(real)?.as_bytes()),
        }
        tree.insert(
            path,
            Entry {
                attributes,
                content,
            },
        );
    }
    Ok(tree)
}

fn target_of(path: &Path) -> io::Result<String> {
    Ok(fs::read_link(path)?.to_string_lossy().into_owned())
}

fn attributes(metadata: &fs::Metadata) -> Attributes {
    Attributes {
        kind: kind(metadata.file_type()),
        mode: metadata.mode() & 0o7777,
        links: metadata.nlink(),
        size: (!metadata.is_dir()).then_some(metadata.size()),
        modified_ns: Some(metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec()),
        inode: metadata.ino(),
        changed_ns: Some(metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec()),
    }
}

fn kind(file_type: fs::FileType) -> Kind {
    if file_type.is_dir() {
        Kind::Directory
    } else if file_type.is_symlink() {
        Kind::Symlink
    } else {
        Kind::File
    }
}
