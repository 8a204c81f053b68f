//! `futago backing`: the agent that writes changes back.

use crate::{
    cluster::{
        ClusterFile,
        backing::{self, Reply, Request},
        records::{ProcessRecord, Role},
        runtime_directory, spawn,
    },
    connection::Connection,
    exit::Exit,
    logs,
};
use anyhow::Context;
use clap::Args;
use futago_node::{Cluster, FlushPolicy, cores};
use futago_staging::{Backing, BackingPlan, Failure, Lives, Pass};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Arguments of `backing`.
#[derive(Args)]
pub struct Agent {
    #[command(flatten)]
    cluster: ClusterFile,
}

/// A running agent.
struct Running {
    backing: Backing,
    policy: FlushPolicy,
    last_error: Option<String>,
    /// The latest file whose data could not be loaded.
    load_error: Option<String>,
    interrupted: Arc<AtomicBool>,
}

impl Agent {
    /// It prints nothing but a line that says that it is ready.
    pub const fn json(&self) -> bool {
        false
    }

    /// Copies the directory into the cluster, then loads data and writes changes back until a
    /// signal comes.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interrupted = spawn::interruption()?;
        let cluster = self.cluster.load()?;
        let store = cluster
            .backing
            .clone()
            .context("the cluster has no backing store")?;
        let directory = runtime_directory::of(&cluster);
        let record = ProcessRecord::of(std::process::id(), Role::Backing)?;
        record.save(&directory)?;
        let plan = BackingPlan {
            directory: store.directory,
            state: backing::state(&cluster),
            cluster: cluster.text()?.to_string(),
            clients: cores::allowed().len().clamp(2, 8),
            loading: store.load,
        };
        let backing = Backing::open(plan, Arc::clone(&interrupted), lives(&cluster)?);
        let mut running = Running {
            backing: backing.context("copying the backing directory into the cluster")?,
            policy: store.flush,
            last_error: None,
            load_error: None,
            interrupted,
        };
        let listener = listen(&cluster)?;
        logs::say_ready();
        let result = running.serve(&listener);
        record.remove(&directory);
        result.map(|()| Exit::Success)
    }
}

/// A socket in the directory of the cluster, which nobody else may enter.
fn listen(cluster: &Cluster) -> anyhow::Result<UnixListener> {
    let path = backing::socket(cluster);
    // An agent that was killed has left it.
    let _ = fs::remove_file(&path);
    UnixListener::bind(&path).with_context(|| format!("listening at {}", path.display()))
}

/// The servers' process numbers, which a restart changes.
fn lives(cluster: &Cluster) -> anyhow::Result<Lives> {
    let connection = Connection::open(cluster)?;
    Ok(Box::new(move || {
        let statuses = connection.statuses().into_iter();
        let life = |status: anyhow::Result<futago_node::server::Status>| {
            let status = status.map_err(|_| io::Error::from_raw_os_error(libc::EIO))?;
            Ok(u64::from(status.process_id))
        };
        statuses.map(|(_, status)| life(status)).collect()
    }))
}

impl Running {
    fn serve(&mut self, listener: &UnixListener) -> anyhow::Result<()> {
        while !self.interrupted.load(Ordering::Relaxed) {
            match wait(listener, self.pause())? {
                true => {
                    if let Ok((stream, _)) = listener.accept()
                        && let Err(error) = self.reply(stream)
                    {
                        tracing::warn!("a request to the backing agent failed: {error:#}");
                    }
                }
                false if self.policy != FlushPolicy::None => {
                    let pass = self.backing.write_back(self.rest());
                    self.note(pass);
                }
                false => {}
            }
            self.note_load_failure();
        }
        Ok(())
    }

    /// How long the agent waits before it looks for changes.
    const fn pause(&self) -> Duration {
        match self.policy {
            FlushPolicy::Interval(seconds) => Duration::from_secs(seconds as u64),
            FlushPolicy::Close | FlushPolicy::Idle(_) | FlushPolicy::None => Duration::from_secs(1),
        }
    }

    /// How long a file must be unchanged.
    const fn rest(&self) -> Option<Duration> {
        match self.policy {
            FlushPolicy::Close => Some(Duration::from_secs(1)),
            FlushPolicy::Idle(seconds) => Some(Duration::from_secs(seconds as u64)),
            FlushPolicy::Interval(_) | FlushPolicy::None => None,
        }
    }

    /// Notes the outcome of a pass.
    fn note(&mut self, pass: Result<Pass, Failure>) -> Reply {
        self.last_error = match &pass {
            Err(failure) => Some(failure.to_string()),
            Ok(pass) => pass.unflushed.error().map(ToString::to_string),
        };
        if let Some(error) = &self.last_error {
            tracing::warn!("not everything is written back: {error}");
        }
        match pass {
            Ok(pass) => Reply::Flushed(pass),
            Err(failure) => Reply::Failed(failure.to_string()),
        }
    }

    fn note_load_failure(&mut self) {
        if let Some(failure) = self.backing.take_load_failure() {
            tracing::warn!("the data of a file cannot be loaded: {failure}");
            self.load_error = Some(failure.to_string());
        }
    }

    fn reply(&mut self, stream: UnixStream) -> anyhow::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        let reply = match serde_json::from_str(&line)? {
            Request::Flush => {
                // The error of a load is reported until the next flush on request.
                self.load_error = None;
                let pass = self.backing.flush();
                self.note(pass)
            }
            Request::Status => {
                self.note_load_failure();
                self.status()
            }
        };
        (&stream).write_all((serde_json::to_string(&reply)? + "\n").as_bytes())?;
        Ok(())
    }

    fn status(&self) -> Reply {
        match self.backing.unflushed() {
            Ok(unflushed) => Reply::Status {
                unflushed,
                released_files: self.backing.released_files(),
                last_error: self.last_error.clone().or(self.load_error.clone()),
            },
            Err(failure) => Reply::Failed(failure.to_string()),
        }
    }
}

/// Waits for a connection; `false` after so long, or after a signal.
fn wait(listener: &UnixListener, pause: Duration) -> anyhow::Result<bool> {
    let pause = Timespec::try_from(pause)?;
    let mut input = [PollFd::new(listener, PollFlags::IN)];
    match rustix::event::poll(&mut input, Some(&pause)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
