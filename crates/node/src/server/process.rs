//! A process that hosts one or more servers.

use super::shard::Setup;
use super::{files, pages, thread as server_thread};
use crate::{Clock, Cluster};
use futago_base::{Duration, ServerId};
use futago_transport::{Budget, handshake::SERVERS_MAX};
use std::{
    io,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
    sync::{Notify, watch},
};

/// The configuration of a server process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster.
    pub cluster: Cluster,
    /// The servers that this process hosts. They share only threads and connections. There is at
    /// most one thread for every two cores, because a thread that polls without success delays
    /// threads with work.
    pub servers: Vec<ServerId>,
    /// The memory for records and data of each of them, in bytes.
    pub memory_bytes: u64,
    /// The owner of the root directory, as (user, group).
    pub root_owner: (u32, u32),
}

/// Memory for incoming large messages, for all connections of the process together.
const INCOMING_BYTES: usize = 256 << 20;

impl Config {
    fn core(&self) -> futago_server::Config {
        futago_server::Config {
            root_uid: self.root_owner.0,
            root_gid: self.root_owner.1,
            ..futago_server::Config::default()
        }
    }
}

/// Serves until SIGTERM or SIGINT, or until a server has panicked. Calls `ready` once, when every
/// server of the process listens.
pub fn run(config: &Config, ready: impl FnOnce()) -> io::Result<()> {
    pages::keep_small();
    let servers = Servers::start(config)?;
    let outcome = wait_for_the_end(&servers, ready);
    servers.stop()?;
    outcome
}

/// The servers of a process, running.
pub struct Servers {
    stop: watch::Sender<bool>,
    ending: Arc<Notify>,
    threads: Vec<JoinHandle<()>>,
}

impl Servers {
    /// Starts the servers, and returns when all of them listen.
    ///
    /// # Errors
    /// The cluster map is invalid, an address cannot be listened on, or a thread cannot be started.
    pub fn start(config: &Config) -> io::Result<Self> {
        Self::start_by(config, &Clock::default())
    }

    /// As [`Servers::start`], with a clock of their own.
    ///
    /// # Errors
    /// As [`Servers::start`].
    pub fn start_by(config: &Config, clock: &Clock) -> io::Result<Self> {
        files::raise_limit();
        let (stop, _) = watch::channel(false);
        let (report, reports) = mpsc::channel();
        let budget = Budget::new(INCOMING_BYTES);
        let mut servers = Self {
            stop,
            ending: Arc::default(),
            threads: Vec::new(),
        };
        let of_a_thread = config.servers.len().div_ceil(threads_max());
        let of_a_thread = of_a_thread.clamp(1, SERVERS_MAX);
        for ids in config.servers.chunks(of_a_thread) {
            let setup = |&id: &ServerId| Setup {
                id,
                cluster: config.cluster.clone(),
                core: config.core(),
                memory_bytes: config.memory_bytes,
                data: config.cluster.data.clone(),
                clock: clock.clone(),
                budget: budget.clone(),
                sharing: ids.len() as u64,
            };
            servers.start_thread(ids.iter().map(setup).collect(), report.clone())?;
        }
        for _ in &config.servers {
            reports.recv().map_err(io::Error::other)??;
        }
        Ok(servers)
    }

    fn start_thread(
        &mut self,
        setups: Vec<Setup>,
        report: mpsc::Sender<io::Result<()>>,
    ) -> io::Result<()> {
        let stopped = self.stop.subscribe();
        let ids: Vec<_> = setups.iter().map(|setup| setup.id.0.to_string()).collect();
        let name = format!("server-{}", ids.join("-"));
        let ending = Ending(Arc::clone(&self.ending));
        let run = move || {
            let _ending = ending;
            server_thread::run(setups, &report, &stopped);
        };
        self.threads
            .push(thread::Builder::new().name(name).spawn(run)?);
        Ok(())
    }

    /// Stops the servers and waits for their end.
    ///
    /// # Errors
    /// A server has panicked.
    pub fn stop(mut self) -> io::Result<()> {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            thread
                .join()
                .map_err(|_| io::Error::other("a server thread has panicked"))?;
        }
        Ok(())
    }
}

/// The most server threads: one for every two cores, because clients need cores, too.
fn threads_max() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Reports the end of a thread, even after a panic.
struct Ending(Arc<Notify>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn wait_for_the_end(servers: &Servers, ready: impl FnOnce()) -> io::Result<()> {
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            ready();
            tokio::select! {
                _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
                _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
                () = servers.ending.notified() => tracing::error!("a server has ended: stopping"),
            }
            Ok(())
        })
}

/// Converts a span to the standard library's type.
pub fn std_duration(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.0)
}
