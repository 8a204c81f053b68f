//! The servers of a process: their threads, and how servers come and go while others work.

use super::adoption::{Adoption, Openings};
use super::files;
use super::process::Config;
use super::shard::Setup;
use super::surroundings::Surroundings;
use super::worker::{Common, Worker};
use crate::{Cluster, locations::SharedLocations};
use futago_base::ServerId;
use futago_transport::{Budget, handshake::SERVERS_MAX};
use std::{collections::BTreeSet, io, thread};

/// Memory for incoming large messages, for all connections of the process together.
const INCOMING_BYTES: usize = 256 << 20;

/// The servers of a process, running.
pub struct Servers {
    /// The cluster in it is the latest one.
    config: Config,
    /// The number of the process in the cluster file.
    process: Option<u32>,
    surroundings: Surroundings,
    budget: Budget,
    locations: SharedLocations,
    opening: Openings,
    common: Common,
    workers: Vec<Worker>,
    /// Servers that are being opened.
    adoptions: Vec<Adoption>,
}

/// Why a server is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Its process starts.
    Start,
    /// It comes from another process.
    OtherProcess,
}

impl Servers {
    /// Starts the servers, and returns when all of them listen.
    ///
    /// # Errors
    /// The cluster map is invalid, an address cannot be listened on, a log cannot be opened, or a
    /// thread cannot be started.
    pub fn start(config: &Config) -> io::Result<Self> {
        Self::start_in(config, &Surroundings::default())
    }

    /// As [`Servers::start`], in other surroundings.
    ///
    /// # Errors
    /// As [`Servers::start`].
    pub fn start_in(config: &Config, surroundings: &Surroundings) -> io::Result<Self> {
        files::raise_limit();
        let first = config.servers.first();
        let first = first.and_then(|&id| config.cluster.server(id));
        let mut servers = Self {
            process: first.map(|entry| entry.process),
            surroundings: surroundings.clone(),
            budget: Budget::new(INCOMING_BYTES),
            locations: SharedLocations::new(&config.cluster),
            opening: Openings::default(),
            common: Common::new(surroundings.tick),
            config: config.clone(),
            workers: Vec::new(),
            adoptions: Vec::new(),
        };
        servers.adopt_first()?;
        Ok(servers)
    }

    /// Deals the servers out to threads, and waits until they listen.
    fn adopt_first(&mut self) -> io::Result<()> {
        let all = self.config.servers.clone();
        let of_a_thread = all.len().div_ceil(threads_max()).clamp(1, SERVERS_MAX);
        for ids in all.chunks(of_a_thread) {
            let names: Vec<_> = ids.iter().map(|id| id.0.to_string()).collect();
            self.start_worker(&format!("server-{}", names.join("-")))?;
            for &id in ids {
                self.adopt(id, self.workers.len() - 1, Origin::Start)?;
            }
        }
        let mut adoptions = self.adoptions.drain(..);
        adoptions.try_for_each(Adoption::finish)
    }

    /// Adopts the servers that a later description of the cluster has for this process, and
    /// releases those that it has elsewhere. Returns when the latter are released; what the former
    /// wait for is logged.
    ///
    /// # Errors
    /// The description is of another cluster or an earlier one, or the servers have no logs to move
    /// with.
    pub fn renew(&mut self, cluster: &Cluster) -> io::Result<()> {
        self.settle();
        let wanted = self.wanted(cluster)?;
        self.locations.renew(cluster.into());
        self.config.cluster.epoch = cluster.epoch;
        self.config.cluster.servers.clone_from(&cluster.servers);
        let present = self.present();
        for &server in present.difference(&wanted) {
            self.release(server);
        }
        for &server in wanted.difference(&present) {
            let worker = self.worker_with_room()?;
            self.adopt(server, worker, Origin::OtherProcess)?;
        }
        Ok(())
    }

    /// The servers that a description of the cluster has for this process.
    fn wanted(&self, cluster: &Cluster) -> io::Result<BTreeSet<ServerId>> {
        let ours = &self.config.cluster;
        let is_same = cluster.id == ours.id && cluster.servers.len() == ours.servers.len();
        if !is_same || cluster.epoch < ours.epoch {
            return Err(io::Error::other(
                "the cluster file is not a later one of this cluster",
            ));
        }
        let wanted = self
            .process
            .map(|process| cluster.servers_of_process(process));
        let wanted: BTreeSet<_> = wanted.into_iter().flatten().collect();
        if ours.data.is_none() && wanted != self.present() {
            return Err(io::Error::other(
                "servers without a data directory cannot move",
            ));
        }
        Ok(wanted)
    }

    /// The servers of all threads, those that are being opened included.
    fn present(&self) -> BTreeSet<ServerId> {
        let of_threads = self.workers.iter().flat_map(|worker| &worker.servers);
        of_threads.copied().collect()
    }

    /// Whether there are no servers.
    pub(super) fn is_empty(&self) -> bool {
        self.workers.iter().all(|worker| worker.servers.is_empty())
    }

    /// Takes note of the servers that could not be adopted.
    fn settle(&mut self) {
        let (ended, going_on) = std::mem::take(&mut self.adoptions)
            .into_iter()
            .partition(Adoption::has_ended);
        self.adoptions = going_on;
        for adoption in ended {
            let server = adoption.server;
            if adoption.finish().is_err() {
                self.forget(server);
            }
        }
    }

    fn forget(&mut self, server: ServerId) {
        for worker in &mut self.workers {
            worker.servers.remove(&server);
        }
    }

    fn release(&mut self, server: ServerId) {
        let is_of = |adoption: &mut Adoption| adoption.server == server;
        let given_up = self.adoptions.extract_if(.., is_of);
        given_up.for_each(|adoption| adoption.cancel());
        let mut workers = self.workers.iter_mut();
        if let Some(worker) = workers.find(|worker| worker.servers.contains(&server)) {
            worker.release(server);
        }
    }

    fn adopt(&mut self, id: ServerId, worker: usize, origin: Origin) -> io::Result<()> {
        let setup = Setup {
            id,
            cluster: self.config.cluster.clone(),
            core: futago_server::Config {
                tick: self.surroundings.tick,
                ..self.config.core()
            },
            memory_bytes: self.config.memory_bytes,
            surroundings: self.surroundings.clone(),
            budget: self.budget.clone(),
            locations: self.locations.clone(),
            opening: self.opening.clone(),
            has_moved: origin == Origin::OtherProcess,
        };
        let adoption = self.workers[worker].adopt(setup)?;
        self.adoptions.push(adoption);
        Ok(())
    }

    /// The thread with the fewest servers, or one more.
    fn worker_with_room(&mut self) -> io::Result<usize> {
        let load = |&at: &usize| self.workers[at].servers.len();
        let least = (0..self.workers.len()).min_by_key(load);
        let is_free = |at: &usize| load(at) == 0 || self.workers.len() >= threads_max();
        match least.filter(|at| is_free(at) && load(at) < SERVERS_MAX) {
            Some(at) => Ok(at),
            None => {
                self.start_worker(&format!("servers-{}", self.workers.len()))?;
                Ok(self.workers.len() - 1)
            }
        }
    }

    fn start_worker(&mut self, name: &str) -> io::Result<()> {
        self.workers.push(Worker::start(name, &self.common)?);
        Ok(())
    }

    /// Waits until a thread has ended.
    pub(super) async fn ended(&self) {
        self.common.ending.notified().await;
    }

    /// Stops the servers and waits for their end.
    ///
    /// # Errors
    /// A server has panicked.
    pub fn stop(mut self) -> io::Result<()> {
        self.begin_stop();
        self.workers.drain(..).try_for_each(Worker::join)
    }

    fn begin_stop(&self) {
        self.adoptions.iter().for_each(Adoption::cancel);
        self.common.stop.send_replace(true);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.begin_stop();
    }
}

/// The most server threads: one for every two cores, because clients need cores, too.
fn threads_max() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}
