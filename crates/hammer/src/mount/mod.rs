//! An actor that makes system calls on a mount.
//!
//! It names directories and files by descriptors, so that a call looks up at most the last name. So
//! each call is one operation of the reference. A descriptor that was opened with `O_PATH` refers
//! to the node and holds nothing open at the servers.

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
    /// Descriptors of all nodes that it has found, as of the last time.
    nodes: BTreeMap<FileId, (Kind, OwnedFd)>,
    /// Open files.
    open: Vec<(FileId, OwnedFd)>,
}

impl Mount {
    /// An actor on the mount at `directory`.
    ///
    /// # Errors
    /// The directory cannot be opened.
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

    /// The descriptor of a node that it has found.
    fn node(&self, id: FileId) -> io::Result<BorrowedFd<'_>> {
        let (_, node) = self.nodes.get(&id).ok_or(io::Errno::BADF)?;
        Ok(std::os::fd::AsFd::as_fd(node))
    }

    /// A path to a node that needs no lookup.
    fn path(&self, id: FileId) -> io::Result<String> {
        Ok(path_of(self.node(id)?))
    }

    /// Registers a node.
    fn meet(&mut self, node: OwnedFd) -> io::Result<(FileId, Kind)> {
        let (id, kind) = identity(&node)?;
        self.known.learn(id, kind);
        // A lookup finds the current state of a directory, even of one that the kernel regarded as
        // removed elsewhere.
        self.nodes.insert(id, (kind, node));
        Ok((id, kind))
    }

    /// Registers the node of an open file, which stays open if it is a regular file.
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

/// The attributes that the kernel has cached for a node.
///
/// Once in millions of lookups the kernel knew a node without its inode number. The likely reason
/// is that the node's attributes were invalidated before the kernel had processed them. Then the
/// kernel has to request them.
fn identity(node: &OwnedFd) -> io::Result<(FileId, Kind)> {
    let asked = StatxFlags::INO | StatxFlags::TYPE;
    let ask = |sync| fs::statx(node, "", AtFlags::EMPTY_PATH | sync, asked);
    let mut state = ask(AtFlags::STATX_DONT_SYNC)?;
    if state.stx_ino == 0 {
        state = ask(AtFlags::STATX_FORCE_SYNC)?;
    }
    Ok((FileId(state.stx_ino), node::kind(state.stx_mode)))
}

/// The observation of a call.
#[allow(
    clippy::unnecessary_wraps,
    reason = "the other observers may return nothing"
)]
fn observation(result: io::Result<Outcome>) -> Option<Observed> {
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
    /// A mount holds the result of a lookup after `ESTALE` until the thread has used it. The
    /// reference holds nothing, so the thread makes another call that uses it.
    fn end_walk(&self) {
        if let Ok(root) = self.node(FileId::ROOT) {
            // The result does not matter.
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
