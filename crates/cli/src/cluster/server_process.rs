//! Server processes: how they are started, for the first time and again.

use super::{
    launcher::Launcher,
    records::{ProcessRecord, Role},
    spawn::{self, Session, Started},
};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// How a server process is started. The runtime directory keeps it, so that the process can be
/// started again as it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerProcess {
    /// Its number in the cluster file.
    pub process: u32,
    /// The host that it runs on; none for this one.
    pub host: Option<String>,
    /// The command that starts programs on its host.
    pub launcher: Option<String>,
    /// Its command line, without the launcher's.
    pub command: Vec<OsString>,
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

    /// How another process of the cluster is started: as this one, except for what is numbered.
    ///
    /// # Errors
    /// There is no port for its metrics.
    pub fn another(&self, process: u32, host: Option<String>) -> anyhow::Result<Self> {
        let mut command = self.command.clone();
        let shift = i64::from(process) - i64::from(self.process);
        for at in 1..command.len() {
            let shifted = match command[at - 1].to_str() {
                Some("--process") => process.to_string(),
                Some("--core") => shifted_core(&command[at], shift)?,
                Some("--metrics") => shifted_port(&command[at], shift)?,
                _ => continue,
            };
            command[at] = shifted.into();
        }
        Ok(Self {
            process,
            host,
            launcher: self.launcher.clone(),
            command,
            is_in_session: self.is_in_session,
        })
    }

    /// Notes how it is started.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        let path = path(directory, self.process);
        fs::write(&path, serde_json::to_vec(self)?)
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Forgets how a process was started.
    pub fn forget(directory: &Path, process: u32) {
        // A note that is left does no harm.
        let _ = fs::remove_file(path(directory, process));
    }

    /// The log of a process.
    pub fn log(directory: &Path, process: u32) -> PathBuf {
        directory.join(format!("server-{process}.log"))
    }

    /// Its command line, the launcher's included.
    fn line(&self) -> anyhow::Result<Vec<OsString>> {
        match (&self.host, &self.launcher) {
            (Some(host), Some(launcher)) => {
                Ok(Launcher::parse(launcher)?.command_line(host, &self.command))
            }
            _ => Ok(self.command.clone()),
        }
    }

    /// Starts it and adds it to `started`. A process on another host reads the cluster file from
    /// its standard input.
    pub fn start(
        &self,
        cluster_file: &Path,
        directory: &Path,
        started: &mut Vec<Started>,
    ) -> anyhow::Result<()> {
        self.save(directory)?;
        let log = Self::log(directory, self.process);
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
        let child = spawn::start(what, &self.line()?, &log, input, session)?;
        let record = ProcessRecord::of(child.pid(), role);
        started.push(child);
        // A clean-up finds it so, however early it comes.
        record?.save(directory)
    }
}

fn shifted_core(core: &OsStr, shift: i64) -> anyhow::Result<String> {
    let core: i64 = core.to_string_lossy().parse().context("--core")?;
    Ok((core + shift).max(0).to_string())
}

fn shifted_port(address: &OsStr, shift: i64) -> anyhow::Result<String> {
    let mut address: SocketAddr = address.to_string_lossy().parse().context("--metrics")?;
    let port = u16::try_from(i64::from(address.port()) + shift);
    address.set_port(port.context("--metrics leaves no ports for all processes")?);
    Ok(address.to_string())
}

fn path(directory: &Path, process: u32) -> PathBuf {
    directory.join(format!("server-{process}.command"))
}
