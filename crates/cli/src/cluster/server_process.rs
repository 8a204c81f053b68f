//! Server processes: how they are started, for the first time and again.

use super::{
    records::{ProcessRecord, Role},
    spawn::{self, Session, Started},
};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// How a server process is started. The runtime directory keeps it, so that the process can be
/// started again as it was.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerProcess {
    /// Its number in the cluster file.
    pub process: u32,
    /// The host that it runs on; none for this one.
    pub host: Option<String>,
    /// Its command line, the launcher's included.
    pub line: Vec<OsString>,
    /// Whether it belongs to the session of its parent.
    pub is_in_session: bool,
}

impl ServerProcess {
    /// Reads how a process was started.
    ///
    /// # Errors
    /// If `futago up` has not started it, or its runtime directory is gone.
    pub fn load(directory: &Path, process: u32) -> anyhow::Result<Self> {
        let path = path(directory, process);
        let text = fs::read(&path).with_context(|| {
            let path = path.display();
            format!("process {process} was not started by futago up here: reading {path}")
        })?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// Starts it and adds it to `started`. A process on another host reads the cluster file from
    /// its standard input.
    pub fn start(
        &self,
        cluster_file: &Path,
        directory: &Path,
        started: &mut Vec<Started>,
    ) -> anyhow::Result<()> {
        let path = path(directory, self.process);
        fs::write(&path, serde_json::to_vec(self)?)
            .with_context(|| format!("writing {}", path.display()))?;
        let log = directory.join(format!("server-{}.log", self.process));
        let (what, role, input) = match &self.host {
            Some(host) => (
                format!("server process {} on {host}", self.process),
                Role::Launcher(self.process),
                Some(File::open(cluster_file)?),
            ),
            None => (
                format!("server process {}", self.process),
                Role::Server(self.process),
                None,
            ),
        };
        let session = match self.is_in_session {
            true => Session::Shared,
            false => Session::Own,
        };
        let child = spawn::start(what, &self.line, &log, input, session)?;
        let record = ProcessRecord::of(child.pid(), role);
        started.push(child);
        // A clean-up finds it so, however early it comes.
        record?.save(directory)
    }
}

fn path(directory: &Path, process: u32) -> PathBuf {
    directory.join(format!("server-{process}.command"))
}
