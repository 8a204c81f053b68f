//! A slow directory behind a cluster: what is in it appears in the cluster, and what changes in the
//! cluster is written back.
//!
//! docs/design/backing.md explains the rules.

mod compare;
mod known;
mod listing;
mod released;
mod restore;
mod write;

use crate::{
    ClusterTree, Contents, Direction, Failure, Found, Item, Links, LocalTree, Owner, Perform,
    Present, Progress, Reach, Result, Rules, Setup, Stage, Tree, TreePath, Unreachable,
    Verification,
};
use compare::Changes;
use futago_base::{FileId, Kind, Timestamp};
use futago_node::Loading;
use known::Known;
use released::Released;
use restore::Restorer;
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
    released: Arc<Released>,
    restorer: Option<Restorer>,
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
    /// When the data of files is copied to the cluster.
    pub loading: Loading,
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
    /// Copies the directory into the empty cluster, or its names and attributes if data is loaded
    /// on demand. A process that finds the state of an earlier one continues its work instead.
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
            released: Arc::default(),
            restorer: None,
        };
        if backing.known.is_new() {
            backing.known.set_lives((backing.lives)()?);
            backing.import(plan.loading)?;
        }
        if plan.loading == Loading::OnDemand {
            backing.start_restorer(&cluster)?;
        }
        Ok(backing)
    }

    fn import(&mut self, loading: Loading) -> io::Result<()> {
        let mut setup = Setup {
            direction: Direction::In,
            ..self.setup.clone()
        };
        if loading == Loading::OnDemand {
            setup.rules.contents = Contents::Released;
            setup.rules.part_bytes = u64::MAX;
        }
        let clients = setup.clients(&self.interrupted)?;
        let root = self.root_item().map_err(io::Error::other)?;
        let summary = Stage::new(clients, setup.rules, &Unwatched).run(vec![root], None);
        if let Some(failure) = summary.failures.into_iter().next() {
            return Err(io::Error::other(failure));
        }
        for (path, node) in self.list().map_err(io::Error::other)? {
            let is_known = self.learn(&path, &node).map_err(io::Error::other)?;
            let has_data = node.kind == Kind::File && node.size > 0;
            if is_known && has_data && loading == Loading::OnDemand {
                self.known.note_released(&path);
            }
        }
        self.known.save(&self.state)
    }

    fn start_restorer(&mut self, cluster: &futago_node::Cluster) -> io::Result<()> {
        self.released = Arc::new(Released::of(&self.known));
        let (tree, directory) = (ClusterTree::connect(cluster)?, self.directory.clone());
        let released = Arc::clone(&self.released);
        let restorer = Restorer::start(tree, self.setup.rules, directory, released)?;
        self.restorer = Some(restorer);
        Ok(())
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
        self.known.note_loaded(|file| self.released.contains(file));
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
        local_path(&self.directory, path)
    }

    /// Brings the data to the cluster that nothing but this path of the directory has. It must be
    /// done before the path changes.
    fn ensure_loaded(&self, path: &TreePath) -> Result<()> {
        let same = self.known.get(path).filter(|same| same.released);
        let Some(file) = same.map(|same| same.inode) else {
            return Ok(());
        };
        if !self.released.give_up(file, path) {
            self.tree.load(path, FileId(file)).map_err(|failure| {
                let cause = format!("its data must be loaded before: {}", failure.cause);
                Failure::of_file(&self.local(path), "writing back", cause)
            })?;
            self.released.remove(file);
        }
        Ok(())
    }

    /// The number of files whose data is in the directory alone.
    pub fn released_files(&self) -> u64 {
        self.released.len() as u64
    }

    /// The latest file since the last call whose data could not be loaded.
    pub fn take_load_failure(&self) -> Option<Failure> {
        self.restorer.as_ref()?.take_failure()
    }

    fn clients(&self) -> io::Result<Vec<Box<dyn Perform>>> {
        self.setup.clients(&self.interrupted)
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        self.directory.local()
    }
}

/// The path in a directory of a path in the cluster.
fn local_path(directory: &TreePath, path: &TreePath) -> TreePath {
    match path.last_name() {
        None => directory.clone(),
        Some(_) => directory.join(&path.bytes()[1..]),
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
            contents: Contents::Copied,
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
