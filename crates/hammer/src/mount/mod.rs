//! An actor that makes system calls on a mount.
//!
//! It names directories and files by descriptors, so that a call asks for at most the last name: what it says is
//! then one operation of the reference. A descriptor that was opened with `O_PATH` stands for the node and
//! keeps nothing open at the servers.

mod data;
mod names;
mod node;

use crate::actor::Actor;
use crate::journal::Journal;
use futago_base::{Errno, FileId, Kind};
use futago_twin::fuzz::Known;
use futago_twin::model::{Observed, Operation, Outcome};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An actor on a mount.
pub struct Mount {
    directory: PathBuf,
    known: Known,
    /// Descriptors of all that it has met, as it has met them last.
    nodes: BTreeMap<FileId, (Kind, OwnedFd)>,
    /// Open files.
    open: Vec<(FileId, OwnedFd)>,
}

impl Mount {
    /// An actor on the mount at `directory`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn new(directory: &Path) -> io::Result<Self> {
        let mut mount = Self {
            directory: directory.to_owned(),
            known: Known::default(),
            nodes: BTreeMap::new(),
            open: Vec::new(),
        };
        mount.enter()?;
        Ok(mount)
    }

    fn enter(&mut self) -> io::Result<()> {
        let root = fs::open(&self.directory, OFlags::PATH, Mode::empty())?;
        self.nodes.insert(FileId::ROOT, (Kind::Directory, root));
        Ok(())
    }

    /// The descriptor of a node that it has met.
    fn node(&self, id: FileId) -> io::Result<BorrowedFd<'_>> {
        let (_, node) = self.nodes.get(&id).ok_or(io::Errno::BADF)?;
        Ok(std::os::fd::AsFd::as_fd(node))
    }

    /// A path that leads to a node without asking for a name.
    fn path(&self, id: FileId) -> io::Result<String> {
        Ok(path_of(self.node(id)?))
    }

    /// Takes note of a node.
    fn meet(&mut self, node: OwnedFd) -> io::Result<(FileId, Kind)> {
        let (id, kind) = identity(&node)?;
        self.known.learn(id, kind);
        // Whoever looks a directory up finds it as it is, even one that the kernel has taken for removed elsewhere.
        self.nodes.insert(id, (kind, node));
        Ok((id, kind))
    }

    /// The same of an open file; it stays open if it is a regular one.
    fn meet_open(&mut self, file: OwnedFd) -> io::Result<Outcome> {
        let node = fs::open(path_of(&file), OFlags::PATH, Mode::empty())?;
        let (id, kind) = self.meet(node)?;
        if kind == Kind::File {
            self.open.push((id, file));
        }
        Ok(Outcome::Identity(id))
    }
}

fn path_of(descriptor: impl std::os::fd::AsFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd())
}

/// What the kernel knows of a node without asking. It was seen, once in millions of look-ups, to know a node without its number,
/// probably one whose attributes it was told to forget before it had taken them in: then it has to ask.
fn identity(node: &OwnedFd) -> io::Result<(FileId, Kind)> {
    let asked = StatxFlags::INO | StatxFlags::TYPE;
    let ask = |sync| fs::statx(node, "", AtFlags::EMPTY_PATH | sync, asked);
    let mut state = ask(AtFlags::STATX_DONT_SYNC)?;
    if state.stx_ino == 0 {
        state = ask(AtFlags::STATX_FORCE_SYNC)?;
    }
    Ok((FileId(state.stx_ino), node::kind(state.stx_mode)))
}

/// What a call says of the file system.
#[allow(clippy::unnecessary_wraps, reason = "others may tell nothing")]
fn told(result: io::Result<Outcome>) -> Option<Observed> {
    Some(result.map_err(|errno| Errno::from_number(errno.raw_os_error()).unwrap_or(Errno::EIO)))
}

impl Actor for Mount {
    fn known(&self) -> &Known {
        &self.known
    }

    fn perform(&mut self, operation: &Operation, journal: &mut Journal) -> Option<Observed> {
        let observed = self.perform_call(operation, journal);
        if matches!(observed, None | Some(Err(Errno::ESTALE))) {
            self.end_walk();
        }
        observed
    }

    fn rest(&mut self) {
        self.open.clear();
        self.known = Known::default();
        self.nodes.retain(|id, _| *id == FileId::ROOT);
    }
}

impl Mount {
    /// A mount holds what a thread looks up after `ESTALE` until the thread has used it. The
    /// reference holds nothing, so the thread uses something else.
    fn end_walk(&self) {
        if let Ok(root) = self.node(FileId::ROOT) {
            // Whatever it tells.
            fs::fstatfs(root).ok();
        }
    }

    fn perform_call(&mut self, operation: &Operation, journal: &mut Journal) -> Option<Observed> {
        use Operation as O;
        match operation {
            O::Lookup { .. }
            | O::Create { .. }
            | O::CreateUnnamed { .. }
            | O::MakeDirectory { .. }
            | O::Unlink { .. }
            | O::RemoveDirectory { .. }
            | O::Rename { .. }
            | O::Link { .. }
            | O::ReadDirectory { .. } => self.names(operation, journal),
            O::Open(_)
            | O::Close(_)
            | O::Truncate { .. }
            | O::Read { .. }
            | O::Write { .. }
            | O::Append { .. }
            | O::Allocate { .. } => self.data(operation, journal),
            _ => self.attributes(operation, journal),
        }
    }
}
