//! The agent of a cluster's backing store: how it is started and asked.

use super::{
    ClusterFile,
    records::{self, ProcessRecord, Role},
    runtime_directory,
    spawn::{self, Session, Started},
};
use crate::exit::{Exit, Problem};
use anyhow::{Context, bail};
use futago_node::Cluster;
use futago_staging::{Pass, Unflushed};
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

/// A request to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Write everything back.
    Flush,
    /// Report the changes that are not written back.
    Status,
}

/// The agent's reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Of a flush.
    Flushed(Pass),
    /// Of a request for the status, with the error of the last pass or of the last file whose data
    /// could not be loaded.
    Status {
        /// The changes that are not written back.
        unflushed: Unflushed,
        /// The number of files whose data is in the directory alone.
        released_files: u64,
        /// The error.
        last_error: Option<String>,
    },
    /// The request failed.
    Failed(String),
}

/// The longest import: the user ends it earlier.
const IMPORT_MAX: Duration = Duration::from_secs(365 * 86_400);

/// The socket of the agent.
pub fn socket(cluster: &Cluster) -> PathBuf {
    runtime_directory::of(cluster).join("backing-0.sock")
}

/// The file of the agent's state.
pub fn state(cluster: &Cluster) -> PathBuf {
    runtime_directory::of(cluster).join("backing-0.state")
}

/// Starts the agent, and waits until it has copied the directory.
///
/// # Errors
/// If it ends before, or is interrupted.
pub fn start(
    file: &Path,
    cluster: &Cluster,
    started: &mut Vec<Started>,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let directory = runtime_directory::of(cluster);
    let line = [
        std::env::current_exe()?.into_os_string(),
        "backing".into(),
        "--cluster".into(),
        std::path::absolute(file)?.into(),
    ];
    let (what, log) = (
        "the backing agent".to_owned(),
        directory.join("backing-0.log"),
    );
    let child = spawn::start(what, &line, &log, None, Session::Own)?;
    let record = ProcessRecord::of(child.pid(), Role::Backing);
    started.push(child);
    record?.save(&directory)?;
    spawn::wait_ready(started, IMPORT_MAX, interrupted)
}

/// Starts the agent again if it has ended.
///
/// # Errors
/// As [`start`].
pub fn ensure_running(file: &ClusterFile, cluster: &Cluster) -> anyhow::Result<()> {
    let records = records::list(&runtime_directory::of(cluster));
    let is_agent = |record: &ProcessRecord| record.role == Role::Backing && record.is_alive();
    if records.iter().any(is_agent) {
        return Ok(());
    }
    let interrupted = spawn::interruption()?;
    start(&file.path, cluster, &mut Vec::new(), &interrupted)
}

/// Asks the agent. Without `wait` the reply may take any time.
///
/// # Errors
/// If there is no agent on this host, or it does not reply in time.
pub fn ask(cluster: &Cluster, request: Request, wait: Option<Duration>) -> anyhow::Result<Reply> {
    let path = socket(cluster);
    let mut stream = UnixStream::connect(&path).map_err(|error| {
        let path = path.display();
        Problem::error(
            Exit::Unreachable,
            format!("the backing agent does not run on this host ({path}: {error})"),
        )
    })?;
    stream.set_read_timeout(wait)?;
    let line = serde_json::to_string(&request)? + "\n";
    stream.write_all(line.as_bytes())?;
    let mut reply = String::new();
    let read = BufReader::new(stream).read_line(&mut reply);
    if read.context("the backing agent is busy, or has ended")? == 0 {
        bail!("the backing agent has ended");
    }
    serde_json::from_str(&reply).context("the backing agent's reply")
}

/// Has the agent write everything back.
///
/// # Errors
/// If it cannot; what is not written back is in the result.
pub fn flush(file: &ClusterFile, cluster: &Cluster) -> anyhow::Result<Pass> {
    ensure_running(file, cluster)?;
    match ask(cluster, Request::Flush, None)? {
        Reply::Flushed(pass) => Ok(pass),
        Reply::Failed(error) => Err(Problem::error(Exit::Unreachable, error)),
        Reply::Status { .. } => bail!("the backing agent's reply does not belong to the request"),
    }
}
