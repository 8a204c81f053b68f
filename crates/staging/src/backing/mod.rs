//! A slow directory behind a cluster: what is in it appears in the cluster, and what changes in the
//! cluster is written back.
//!
//! docs/design/backing.md explains the rules.

mod compare;
mod known;
mod listing;
mod write;

use crate::{
    ClusterTree, Direction, Failure, Found, Item, Links, LocalTree, Owner, Perform, Present,
    Progress, Reach, Result, Rules, Setup, Stage, Tree, TreePath, Unreachable, Verification,
};
use compare::Changes;
use futago_base::Timestamp;
use known::Known;
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// Files of more bytes are written back in parts of this size.
const PART_BYTES: u64 = 64 << 20;

/// How often a flush tries files that change meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// A cluster and the directory behind it.
pub struct Backing {
    tree: ClusterTree,
    directory: TreePath,
    /// The file of the state, for the next process.
    state: PathBuf,
    known: Known,
    setup: Setup,
    interrupted: Arc<AtomicBool>,
    lives: Lives,
}

/// Reads the lives of the servers: a number for each, which a restart changes.
pub type Lives = Box<dyn Fn() -> io::Result<Vec<u64>> + Send>;

/// Where a backing store is, and how to work on it.
pub struct BackingPlan {
    /// The directory.
    pub directory: PathBuf,
    /// The file of the state.
    pub state: PathBuf,
    /// The text of the cluster file.
    pub cluster: String,
    /// The number of clients.
    pub clients: usize,
}

/// The changes that the directory lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unflushed {
    /// The number of new and changed nodes, and of removed names.
    pub files: u64,
    /// The bytes of new and changed files.
    pub bytes: u64,
    /// The oldest change.
    pub since: Option<Timestamp>,
    /// The reasons of the last pass, one for each node that it could not write, as far as there are
    /// few.
    pub failures: Vec<Failure>,
}

/// The outcome of one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The nodes that were written or removed.
    pub files: u64,
    /// The bytes that were written.
    pub bytes: u64,
    /// The changes that the directory still lacks.
    pub unflushed: Unflushed,
}

impl Unflushed {
    /// Whether a file changed while it was copied.
    fn has_changes(&self) -> bool {
        let mut failures = self.failures.iter();
        failures.any(|failure| failure.reach == Reach::Changed)
    }

    /// The first reason that another attempt does not remove by itself.
    pub fn error(&self) -> Option<&Failure> {
        let mut failures = self.failures.iter();
        failures.find(|failure| failure.reach != Reach::Changed)
    }
}

impl Backing {
    /// Copies the directory into the empty cluster. A process that finds the state of an earlier
    /// one continues its work instead.
    ///
    /// # Errors
    /// The first node that cannot be copied, or a server or the state file.
    pub fn open(plan: BackingPlan, interrupted: Arc<AtomicBool>, lives: Lives) -> io::Result<Self> {
        let cluster = futago_node::Cluster::parse(&plan.cluster).map_err(io::Error::other)?;
        let mut backing = Self {
            tree: ClusterTree::connect(&cluster)?,
            directory: (&*plan.directory).into(),
            known: Known::load(&plan.state)?,
            state: plan.state,
            setup: setup(plan.cluster, plan.clients),
            interrupted,
            lives,
        };
        if backing.known.is_new() {
            backing.known.set_lives((backing.lives)()?);
            backing.import()?;
        }
        Ok(backing)
    }

    fn import(&mut self) -> io::Result<()> {
        let setup = Setup {
            direction: Direction::In,
            ..self.setup.clone()
        };
        let clients = setup.clients(&self.interrupted)?;
        let root = self.root_item().map_err(io::Error::other)?;
        let summary = Stage::new(clients, self.setup.rules, &Unwatched).run(vec![root], None);
        if let Some(failure) = summary.failures.into_iter().next() {
            return Err(io::Error::other(failure));
        }
        for (path, node) in self.list().map_err(io::Error::other)? {
            self.learn(&path, &node).map_err(io::Error::other)?;
        }
        self.known.save(&self.state)
    }

    /// The directory as an item that is copied to the root of the cluster.
    fn root_item(&self) -> Result<Item> {
        let missing = || Failure::of_file(&self.directory, "opening", "it does not exist");
        let metadata = LocalTree.metadata(&self.directory, Links::Followed)?;
        Ok(Item {
            source: self.directory.clone(),
            target: TreePath::root(),
            metadata: metadata.ok_or_else(missing)?,
            found: Found::Other,
        })
    }

    /// Writes back everything that was changed before this call. A file that changes meanwhile is
    /// tried again, a few times.
    ///
    /// # Errors
    /// As [`Backing::write_back`].
    pub fn flush(&mut self) -> Result<Pass> {
        let mut whole = Pass::default();
        for _ in 0..ATTEMPTS_MAX {
            let pass = self.write_back(None)?;
            whole.files += pass.files;
            whole.bytes += pass.bytes;
            whole.unflushed = pass.unflushed;
            if !whole.unflushed.has_changes() {
                break;
            }
        }
        Ok(whole)
    }

    /// The changes that the directory lacks now.
    ///
    /// # Errors
    /// A server does not answer, or has lost its files.
    pub fn unflushed(&self) -> Result<Unflushed> {
        let changes = self.changes(None)?;
        Ok(changes.unflushed())
    }

    /// Writes back what was changed before this call and, with `rest`, not within that time.
    ///
    /// # Errors
    /// A server does not answer, or has lost its files: then nothing is written.
    pub fn write_back(&mut self, rest: Option<Duration>) -> Result<Pass> {
        let changes = self.changes(rest)?;
        if changes.is_empty() {
            return Ok(Pass::default());
        }
        let pass = self.write(changes)?;
        let saved = self.known.save(&self.state);
        saved.map_err(|error| Failure::local(&(&*self.state).into(), "writing", &error))?;
        Ok(pass)
    }

    /// The differences between the cluster and what is known to be in the directory.
    fn changes(&self, rest: Option<Duration>) -> Result<Changes> {
        // The first look names the reason why the listing fails; the second covers its time.
        self.ensure_servers_live()?;
        let listed = self.list()?;
        self.ensure_servers_live()?;
        Ok(Changes::between(&self.known, &listed, rest))
    }

    /// Fails if a server was restarted. The files that it has lost were not removed by anybody.
    fn ensure_servers_live(&self) -> Result<()> {
        let root = TreePath::root();
        let lives = (self.lives)().map_err(|error| Failure::cluster(&root, "listing", &error))?;
        match self.known.has_lives(&lives) {
            true => Ok(()),
            false => Err(Failure::of_file(
                &root,
                "listing",
                "a server was restarted and has lost its files; nothing is written back any more",
            )),
        }
    }

    /// The path in the directory of a path in the cluster.
    fn local(&self, path: &TreePath) -> TreePath {
        match path.last_name() {
            None => self.directory.clone(),
            Some(_) => self.directory.join(&path.bytes()[1..]),
        }
    }

    fn clients(&self) -> io::Result<Vec<Box<dyn Perform>>> {
        self.setup.clients(&self.interrupted)
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        self.directory.local()
    }
}

fn setup(cluster: String, clients: usize) -> Setup {
    Setup {
        cluster,
        direction: Direction::Out,
        rules: Rules {
            owner: Owner::of_this_process(),
            present: Present::SameMetadata,
            verification: Verification::Omitted,
            unreachable: Unreachable::EndsCopy,
            part_bytes: PART_BYTES,
        },
        clients,
    }
}

/// Nobody watches an agent.
struct Unwatched;

impl Progress for Unwatched {
    fn expect(&self, _: u64) {}
    fn advance(&self, _: u64) {}
    fn fail(&self, _: &Failure) {}
}
