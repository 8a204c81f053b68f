//! Moves servers between the processes of a running cluster.
//!
//! The cluster file is the authority. It is replaced in one step, with a larger epoch, and the
//! processes are signalled to read it again. The lock of a server's directory lets one process
//! serve it at a time, so the new process waits until the earlier one has released it.

use super::{
    ClusterFile, cleanup,
    copies::{Copy, Failure, Sight, Source},
    data, launcher,
    moves::Move,
    records::{self, ProcessRecord, Role},
    runtime_directory,
    server_process::ServerProcess,
    spawn::{self, Started},
};
use crate::{
    connection::Connection,
    exit::{Exit, Problem},
    output,
};
use anyhow::{Context, bail, ensure};
use futago_base::ServerId;
use futago_node::{Cluster, Copying, ServerEntry};
use rustix::process::Signal;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

/// How often servers are asked for their process.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a process without servers may take to end.
const END_MAX: Duration = Duration::from_secs(5);

/// A running cluster, whose servers no other command moves meanwhile.
pub struct Moving<'a> {
    file: PathBuf,
    /// Its runtime directory.
    pub directory: PathBuf,
    /// The cluster as its file describes it.
    pub cluster: Cluster,
    wait: Duration,
    interrupted: &'a AtomicBool,
    /// The directories that were left behind by copies.
    copied: BTreeMap<ServerId, Source>,
    _lock: File,
}

impl<'a> Moving<'a> {
    /// Begins.
    ///
    /// # Errors
    /// The servers have no data to move with, or another command moves them.
    pub fn begin(
        file: &ClusterFile,
        wait_seconds: u64,
        interrupted: &'a AtomicBool,
    ) -> anyhow::Result<Self> {
        let directory = runtime_directory::of(&file.load()?);
        let lock = lock(&directory)?;
        // The file may have been replaced before.
        let cluster = file.load()?;
        ensure!(
            cluster.data.is_some(),
            "servers move with their data on disk, and this cluster has all of it in memory; \
             futago up --data makes one that can grow"
        );
        Ok(Self {
            file: file.path.clone(),
            directory,
            cluster,
            wait: Duration::from_secs(wait_seconds),
            interrupted,
            copied: BTreeMap::new(),
            _lock: lock,
        })
    }

    /// Finishes what an earlier command has begun: waits until every process has the servers of the
    /// cluster file. A process that is about to be taken away need not run.
    ///
    /// # Errors
    /// A process does not run, or a server is not served in time.
    pub fn settle(&mut self, unneeded: Option<u32>) -> anyhow::Result<()> {
        self.finish_copies(unneeded)?;
        let entries = (0..).map(ServerId).zip(&self.cluster.servers);
        let needed = entries.filter(|(_, entry)| Some(entry.process) != unneeded);
        let (ids, processes): (Vec<_>, BTreeSet<_>) =
            needed.map(|(id, entry)| (id, entry.process)).unzip();
        processes
            .into_iter()
            .try_for_each(|process| self.ensure_running(process))?;
        let mut reached = self.cluster.clone();
        reached
            .servers
            .retain(|entry| is_running(&self.directory, entry.process));
        announce(&self.file, &reached, &BTreeSet::new());
        self.wait_until_served(&ids)
    }

    /// Makes the copies that the cluster file names, except for those to a process that is taken
    /// away.
    fn finish_copies(&mut self, unneeded: Option<u32>) -> anyhow::Result<()> {
        for copying in self.cluster.copying.clone() {
            let server = ServerId(copying.server);
            if Some(self.process_of(server)) != unneeded {
                announce(&self.file, &self.cluster, &BTreeSet::new());
                self.make_copy(server)?;
            }
        }
        Ok(())
    }

    /// Makes the copy that the cluster file names for a server, and takes it out of the file.
    fn make_copy(&mut self, server: ServerId) -> Result<(), Failure> {
        let copy = Copy::of(&self.cluster, server).map_err(Failure::Before)?;
        copy.make(self.wait, self.interrupted)?;
        let source = copy.source();
        self.copied.insert(server, source);
        let mut copying = self.cluster.copying.clone();
        copying.retain(|copying| copying.server != server.0);
        self.renew(self.cluster.servers.clone(), copying)
            .map_err(Failure::After)
    }

    /// Moves a server to a host that does not have its directory. Its process there must be
    /// started, or read the cluster file, afterwards.
    ///
    /// # Errors
    /// The directory cannot be copied. The server stays where it was, if that is possible.
    pub fn copy(&mut self, moved: &Move, target: &ServerEntry) -> anyhow::Result<()> {
        let (before, server) = (self.cluster.clone(), ServerId(moved.server));
        self.begin_copy(server, target)?;
        // The host that has the directory may have no other server.
        announce(&self.file, &before, &BTreeSet::new());
        match self.make_copy(server) {
            Ok(()) => Ok(()),
            Err(Failure::After(error)) => Err(error.context(format!(
                "{server} is on its way; futago grow --servers 0 goes on with it"
            ))),
            Err(Failure::Before(error)) => {
                self.renew(before.servers, before.copying)?;
                self.bring_back(moved.from)?;
                Err(error.context(format!("{server} stays where it was")))
            }
        }
    }

    /// Has the cluster file say that a server is copied, so that nobody serves it.
    fn begin_copy(&mut self, server: ServerId, target: &ServerEntry) -> anyhow::Result<()> {
        let from = self.cluster.host_of_directory(server);
        let from = from.context("the server has no host")?.to_owned();
        let mut servers = self.cluster.servers.clone();
        servers[usize::from(server.0)].clone_from(target);
        let mut copying = self.cluster.copying.clone();
        copying.retain(|copying| copying.server != server.0);
        let server = server.0;
        copying.push(Copying { server, from });
        self.renew(servers, copying)
    }

    /// Has a process serve again what it has released.
    fn bring_back(&self, process: u32) -> anyhow::Result<()> {
        self.announce(&BTreeSet::new());
        let gone = || !is_running(&self.directory, process);
        // One without servers ends.
        if self.cluster.servers_of_process(process).len() > 1 || !spawn::wait_until(END_MAX, gone) {
            return Ok(());
        }
        let mut started = Vec::new();
        let process = ServerProcess::load(&self.directory, process)?;
        process.start(&self.file, &self.directory, &mut started)?;
        spawn::wait_ready(&mut started, self.wait, self.interrupted)
    }

    /// Has a server that was copied be served by its process, which is started if it is new.
    ///
    /// # Errors
    /// The process does not start, and the server is moved back; or it is not served in time.
    pub fn serve_copied(
        &mut self,
        moved: &Move,
        added: &[ServerProcess],
        before: &ServerEntry,
    ) -> anyhow::Result<()> {
        let mut started = Vec::new();
        if let Err(error) = self.begin_serving(moved.to, added, &mut started) {
            started.iter_mut().for_each(Started::end);
            self.take_back(moved, before)?;
            let server = ServerId(moved.server);
            return Err(error.context(format!("{server} is back where it was")));
        }
        self.wait_until_served_and_clear(moved)
    }

    /// Starts a process if it is new, or has it read the cluster file.
    fn begin_serving(
        &self,
        process: u32,
        added: &[ServerProcess],
        started: &mut Vec<Started>,
    ) -> anyhow::Result<()> {
        let mut added = added.iter();
        match added.find(|new| new.process == process && !is_running(&self.directory, process)) {
            Some(new) => self.start(std::slice::from_ref(new), started),
            None => {
                self.announce(&BTreeSet::new());
                Ok(())
            }
        }
    }

    /// Copies a server back that its new process cannot serve.
    fn take_back(&mut self, moved: &Move, before: &ServerEntry) -> anyhow::Result<()> {
        let (server, to, from) = (moved.server, moved.from, moved.to);
        let back = Move { server, from, to };
        self.copy(&back, before)?;
        self.bring_back(to)?;
        self.wait_until_served_and_clear(&back)
    }

    fn wait_until_served_and_clear(&mut self, moved: &Move) -> anyhow::Result<()> {
        self.wait_until_moved(std::slice::from_ref(moved))?;
        if let Some(source) = self.copied.remove(&ServerId(moved.server)) {
            source.clear(&self.cluster);
        }
        Ok(())
    }

    fn ensure_running(&self, process: u32) -> anyhow::Result<()> {
        let servers = self.cluster.servers_of_process(process);
        let server = servers.first().map_or(0, |id| id.0);
        ensure!(
            is_running(&self.directory, process),
            "process {process} does not run; futago restart --server {server} starts it",
        );
        Ok(())
    }

    /// Replaces the cluster file by one with these servers.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn replace(&mut self, servers: Vec<ServerEntry>) -> anyhow::Result<()> {
        self.renew(servers, self.cluster.copying.clone())
    }

    fn renew(&mut self, servers: Vec<ServerEntry>, copying: Vec<Copying>) -> anyhow::Result<()> {
        let mut cluster = self.cluster.clone();
        cluster.epoch = cluster.epoch.checked_add(1).context("no epoch is left")?;
        (cluster.servers, cluster.copying) = (servers, copying);
        cluster.replace(&self.file)?;
        if let Some(directory) = &cluster.data {
            data::note(&cluster, directory)?;
        }
        self.cluster = cluster;
        Ok(())
    }

    /// Starts processes, and has the cluster file name these servers for them. If the processes do
    /// not start, all stays as it was.
    ///
    /// # Errors
    /// They do not start, or the cluster file cannot be written.
    pub fn start_with(
        &mut self,
        added: &[ServerProcess],
        servers: Vec<ServerEntry>,
    ) -> anyhow::Result<()> {
        // `restart` finds them, however this ends.
        let saved = |process: &ServerProcess| process.save(&self.directory);
        added.iter().try_for_each(saved)?;
        let before = self.cluster.servers.clone();
        self.replace(servers)?;
        let mut started = Vec::new();
        let Err(error) = self.start(added, &mut started) else {
            return Ok(());
        };
        started.iter_mut().for_each(Started::end);
        self.replace(before)?;
        self.announce(&BTreeSet::new());
        Err(error.context("all servers stay where they were"))
    }

    fn start(&self, added: &[ServerProcess], started: &mut Vec<Started>) -> anyhow::Result<()> {
        for process in added {
            process.start(&self.file, &self.directory, started)?;
        }
        // Servers are released when those that adopt them stand by.
        spawn::wait_opening(started, self.wait, self.interrupted)?;
        let new = added.iter().map(|process| process.process).collect();
        self.announce(&new);
        spawn::wait_ready(started, self.wait, self.interrupted)
    }

    /// Has the cluster file name these servers, of which a process has none, and waits for its end.
    ///
    /// # Errors
    /// A server is not served by its new process in time, or the cluster file cannot be written.
    pub fn end_with(
        &mut self,
        process: u32,
        servers: Vec<ServerEntry>,
        moves: &[Move],
    ) -> anyhow::Result<()> {
        let before = self.cluster.clone();
        self.replace(servers)?;
        if is_running(&self.directory, process) {
            // It may be the last one of its host.
            announce(&self.file, &before, &BTreeSet::new());
        } else {
            self.announce(&BTreeSet::new());
        }
        self.wait_until_moved(moves)?;
        ensure!(
            spawn::wait_until(self.wait, || !is_running(&self.directory, process)),
            "process {process} has no servers any more, and does not end"
        );
        ServerProcess::forget(&self.directory, process);
        Ok(())
    }

    /// Has the processes read the cluster file again, except for these, which have just started.
    fn announce(&self, except: &BTreeSet<u32>) {
        announce(&self.file, &self.cluster, except);
    }

    /// Waits until servers that moved are served by their processes.
    ///
    /// # Errors
    /// One is not in time.
    pub fn wait_until_moved(&self, moves: &[Move]) -> anyhow::Result<()> {
        let servers: Vec<ServerId> = moves.iter().map(|moved| ServerId(moved.server)).collect();
        self.wait_until_served(&servers)
    }

    fn wait_until_served(&self, servers: &[ServerId]) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.wait;
        let mut cluster = self.cluster.clone();
        cluster.limits.give_up_seconds = self.wait.as_secs_f64().clamp(0.1, 10.0);
        let connection = Connection::open(&cluster)?;
        for &server in servers {
            while let Err(error) = self.is_served(&connection, server) {
                if Instant::now() >= deadline {
                    return Err(self.explained(server, &error));
                }
                spawn::sleep(PAUSE, self.interrupted)?;
            }
        }
        Ok(())
    }

    /// Fails if a server is not served by its process.
    fn is_served(&self, connection: &Connection, server: ServerId) -> anyhow::Result<()> {
        let (by, expected) = (connection.status(server)?.process, self.process_of(server));
        ensure!(by == expected, "process {by} has not released it");
        Ok(())
    }

    fn process_of(&self, server: ServerId) -> u32 {
        self.cluster.server(server).map_or(0, |entry| entry.process)
    }

    /// An error with what the log of the server's process says.
    fn explained(&self, server: ServerId, error: &anyhow::Error) -> anyhow::Error {
        let process = self.process_of(server);
        let lines = spawn::last_lines(&ServerProcess::log(&self.directory, process), "");
        anyhow::anyhow!(
            "{server} is not served by process {process} yet: {error:#}; the log of process \
             {process} ends with:\n{lines}"
        )
    }

    /// Divides moves into those whose hosts share the directory of the server, and those for which
    /// it must be copied.
    ///
    /// # Errors
    /// A host does not answer.
    pub fn divide(&self, moves: &[Move], entries: &[ServerEntry]) -> anyhow::Result<Divided> {
        let mut divided = Divided::default();
        let data = self.cluster.data.as_deref().unwrap_or(Path::new("/"));
        let mut sight = Sight::of(&self.cluster, data);
        for moved in moves {
            let server = ServerId(moved.server);
            let from = self.cluster.host_of_directory(server);
            let to = entries[usize::from(moved.server)].host.as_deref();
            let is_unfinished = self.cluster.is_copied(server);
            let must_copy = match (from, to) {
                (Some(from), Some(to)) => is_unfinished || sight.must_copy(server, from, to)?,
                _ => false,
            };
            let moves = match must_copy {
                true => &mut divided.copied,
                false => &mut divided.shared,
            };
            moves.push(*moved);
        }
        Ok(divided)
    }
}

/// Moves, by what becomes of the directories.
#[derive(Debug, Default)]
pub struct Divided {
    /// Both hosts see them.
    pub shared: Vec<Move>,
    /// They are copied.
    pub copied: Vec<Move>,
}

/// The entries of servers, with those that move replaced by those of the target.
pub fn replaced(
    servers: &[ServerEntry],
    moves: &[Move],
    target: &[ServerEntry],
) -> Vec<ServerEntry> {
    let mut servers = servers.to_vec();
    for moved in moves {
        let at = usize::from(moved.server);
        servers[at].clone_from(&target[at]);
    }
    servers
}

/// Has the processes of a cluster read its file again, except for these. A host that cannot be
/// reached is named for people: whether a server is where it belongs shows later.
pub fn announce(file: &Path, cluster: &Cluster, except: &BTreeSet<u32>) {
    let directory = runtime_directory::of(cluster);
    signal(&directory, except);
    let hosts = cluster.servers.iter().filter_map(|it| it.host.as_ref());
    for host in hosts.collect::<BTreeSet<_>>() {
        let words = ["announce".into(), "--here".into(), directory.clone().into()];
        let opened = File::open(file).with_context(|| file.display().to_string());
        let renewed = opened.and_then(|file| launcher::run_on(cluster, host, &words, Some(file)));
        if let Err(error) = renewed {
            output::notice(format_args!("futago: {error:#}"));
        }
    }
}

/// Signals the server processes of this host.
pub fn signal(directory: &Path, except: &BTreeSet<u32>) {
    for record in records::list(directory) {
        if let Role::Server(process) = record.role
            && !except.contains(&process)
        {
            cleanup::send(&record, Signal::HUP);
        }
    }
}

/// Whether a process of the cluster runs, as far as this host knows.
pub fn is_running(directory: &Path, process: u32) -> bool {
    let is_of = |record: &ProcessRecord| {
        [Role::Server(process), Role::Launcher(process)].contains(&record.role)
    };
    let mut records = records::list(directory).into_iter();
    records.any(|record| is_of(&record) && record.is_alive())
}

/// Locks the runtime directory of a cluster for commands that move servers.
fn lock(directory: &Path) -> anyhow::Result<File> {
    let file = File::open(directory);
    let file = file.with_context(|| {
        let directory = directory.display();
        format!("the cluster does not run on this host: opening {directory}")
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Problem::error(
            Exit::InUse,
            "another futago grow or shrink moves servers of this cluster now",
        )),
        Err(TryLockError::Error(error)) => bail!("locking {}: {error}", directory.display()),
    }
}
