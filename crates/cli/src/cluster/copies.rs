//! Copies the directory of a server from its host to another one, through the launcher.

use super::{
    data,
    launcher::{command_on, run_on},
    server_directory::{MOVED, RETIRE, YES},
    spawn,
};
use anyhow::{Context, ensure};
use futago_base::ServerId;
use futago_node::{Cluster, Copying};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::atomic::AtomicBool,
    time::Duration,
};

/// How often a copy is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// Why a copy failed.
pub enum Failure {
    /// The directory is where it was, and can be used there.
    Before(anyhow::Error),
    /// It may have another name already. The copy must be finished.
    After(anyhow::Error),
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Before(error) | Failure::After(error) => error,
        }
    }
}

/// Which hosts see the data of which others.
pub struct Sight<'a> {
    cluster: &'a Cluster,
    data: &'a Path,
    /// By the host that has a directory and the host that is to have it.
    shared: BTreeMap<(String, String), bool>,
}

impl<'a> Sight<'a> {
    /// That of the hosts of a cluster.
    pub const fn of(cluster: &'a Cluster, data: &'a Path) -> Self {
        Self {
            cluster,
            data,
            shared: BTreeMap::new(),
        }
    }

    /// Whether a server's directory on a host must be copied before another host can use it.
    ///
    /// # Errors
    /// A host does not answer, unless the other one has the directory; or the hosts share their
    /// directories, and this one is missing.
    pub fn must_copy(&mut self, server: ServerId, from: &str, to: &str) -> anyhow::Result<bool> {
        if from == to {
            return Ok(false);
        }
        let directory = directory_of(self.data, server);
        match self.share(from, to) {
            Ok(true) => {
                let place = directory.display();
                ensure!(
                    self.has(to, &directory)?,
                    "{to}: this host does not see {place}"
                );
                Ok(false)
            }
            Ok(false) => self.has_or_sent(from, server),
            Err(_) if self.has(to, &directory)? => Ok(false),
            Err(error) => Err(error.context(format!(
                "{server} is on a host that does not answer, and {to} does not see it"
            ))),
        }
    }

    /// Whether a host sees the data of another one.
    fn share(&mut self, from: &str, to: &str) -> anyhow::Result<bool> {
        let pair = (from.to_owned(), to.to_owned());
        if let Some(&shared) = self.shared.get(&pair) {
            return Ok(shared);
        }
        let mark = self.data.join(format!(".futago-{}", std::process::id()));
        let step = |host, step: &str| run_on(self.cluster, host, &words(step, &mark), None);
        step(from, "mark")?;
        let shared = self.has(to, &mark);
        step(from, "unmark")?;
        let shared = shared?;
        self.shared.insert(pair, shared);
        Ok(shared)
    }

    /// Whether a host has the directory of a server, be it one that was set aside after a copy that
    /// no server uses yet. A server that never began has none.
    fn has_or_sent(&self, host: &str, server: ServerId) -> anyhow::Result<bool> {
        let directory = directory_of(self.data, server);
        let mut sent = directory.clone().into_os_string();
        sent.push(MOVED);
        Ok(self.has(host, &directory)? || self.has(host, Path::new(&sent))?)
    }

    fn has(&self, host: &str, path: &Path) -> anyhow::Result<bool> {
        Ok(run_on(self.cluster, host, &words("has", path), None)? == YES)
    }
}

/// The servers of a cluster that its hosts do not have yet, because it ran on others.
///
/// # Errors
/// A host does not answer, or an earlier copy to another host was not finished.
pub fn needed(cluster: &Cluster, earlier: &Cluster) -> anyhow::Result<Vec<Copying>> {
    let mut copying = Vec::new();
    let Some(data) = &cluster.data else {
        return Ok(copying);
    };
    let mut sight = Sight::of(cluster, data);
    for (server, entry) in (0..).map(ServerId).zip(&cluster.servers) {
        let (Some(from), Some(to)) = (earlier.host_of_directory(server), &entry.host) else {
            continue;
        };
        let before = earlier.server(server).and_then(|entry| entry.host.as_ref());
        ensure!(
            !earlier.is_copied(server) || before == Some(to),
            "{server} was being copied from {from} to {}; start it there first",
            before.map_or("another host", String::as_str)
        );
        if earlier.is_copied(server) || sight.must_copy(server, from, to)? {
            let (server, from) = (server.0, from.to_owned());
            copying.push(Copying { server, from });
        }
    }
    Ok(copying)
}

/// Makes all copies that the file of a cluster names, while no server runs.
///
/// # Errors
/// One failed. The file names those that are left.
pub fn finish(
    cluster: &mut Cluster,
    file: &Path,
    wait: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    while let Some(copying) = cluster.copying.first() {
        let server = ServerId(copying.server);
        Copy::of(cluster, server)?.make(wait, interrupted)?;
        let copy = Copy::of(cluster, server)?.source();
        cluster.copying.remove(0);
        cluster.replace(file)?;
        if let Some(directory) = &cluster.data {
            data::note(cluster, directory)?;
        }
        copy.clear(cluster);
    }
    Ok(())
}

/// A directory that was copied.
pub struct Source {
    host: String,
    directory: PathBuf,
}

impl Source {
    /// Removes it, once the server is served elsewhere.
    pub fn clear(&self, cluster: &Cluster) {
        // A directory that is left does no harm: the next copy to the host removes it.
        let _ = run_on(cluster, &self.host, &words("clear", &self.directory), None);
    }
}

/// One copy.
pub struct Copy<'a> {
    cluster: &'a Cluster,
    from: &'a str,
    to: &'a str,
    directory: PathBuf,
}

impl<'a> Copy<'a> {
    /// That of a server, to the host that the cluster file names.
    ///
    /// # Errors
    /// It is not to be copied.
    pub fn of(cluster: &'a Cluster, server: ServerId) -> anyhow::Result<Self> {
        let data = cluster
            .data
            .as_ref()
            .context("the cluster has no data directory")?;
        let entry = cluster.server(server);
        let to = entry.and_then(|entry| entry.host.as_deref());
        Ok(Self {
            cluster,
            from: cluster
                .host_of_directory(server)
                .context("the server has no host")?,
            to: to.context("the server has no host")?,
            directory: directory_of(data, server),
        })
    }

    /// The directory at the former host.
    pub fn source(&self) -> Source {
        Source {
            host: self.from.to_owned(),
            directory: self.directory.clone(),
        }
    }

    /// Makes it, once no process uses the directory any more.
    pub fn make(&self, wait: Duration, interrupted: &AtomicBool) -> Result<(), Failure> {
        let mut send = self.sent(wait, interrupted).map_err(Failure::Before)?;
        self.retire(&mut send, interrupted)
            .and_then(|()| {
                let install = self.waiting("install", wait);
                run_on(self.cluster, self.to, &install, None)
            })
            .map(drop)
            .map_err(Failure::After)
    }

    /// The sender, when all has arrived.
    fn sent(&self, wait: Duration, interrupted: &AtomicBool) -> anyhow::Result<Step> {
        let mut send = Step::start(self, self.from, "send", wait, Stdio::piped())?;
        let pipe = send.child.stdout.take().context("no pipe")?;
        let mut receive = Step::start(self, self.to, "receive", wait, pipe.into())?;
        let Err(error) = receive.end(interrupted) else {
            return Ok(send);
        };
        // The sender's error is the cause if it has one.
        drop(send.child.stdin.take());
        match send.end(interrupted) {
            Err(cause) if !cause.to_string().contains("not confirmed") => Err(cause),
            _ => Err(error),
        }
    }

    fn retire(&self, send: &mut Step, interrupted: &AtomicBool) -> anyhow::Result<()> {
        let mut confirmation = send.child.stdin.take().context("no pipe")?;
        confirmation.write_all(RETIRE)?;
        drop(confirmation);
        send.end(interrupted)
    }

    fn waiting(&self, step: &str, wait: Duration) -> Vec<OsString> {
        let mut words = words(step, &self.directory).to_vec();
        words.extend(["--wait".into(), wait.as_secs().to_string().into()]);
        words
    }
}

/// A step that runs on a host.
struct Step {
    host: String,
    child: Child,
    errors: File,
}

impl Step {
    fn start(
        copy: &Copy<'_>,
        host: &str,
        step: &str,
        wait: Duration,
        input: Stdio,
    ) -> anyhow::Result<Self> {
        let errors = tempfile::tempfile()?;
        let mut command = command_on(copy.cluster, host, &copy.waiting(step, wait))?;
        command.stdin(input).stdout(Stdio::piped());
        let started = command.stderr(errors.try_clone()?).spawn();
        Ok(Self {
            host: host.to_owned(),
            child: started.with_context(|| format!("{host}: running the launcher"))?,
            errors,
        })
    }

    /// Waits for its end.
    fn end(&mut self, interrupted: &AtomicBool) -> anyhow::Result<()> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            spawn::sleep(PAUSE, interrupted)?;
        };
        let mut said = String::new();
        self.errors.rewind()?;
        self.errors.read_to_string(&mut said)?;
        ensure!(status.success(), "{}: {}", self.host, said.trim());
        Ok(())
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // It has ended, or has been interrupted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn directory_of(data: &Path, server: ServerId) -> PathBuf {
    data.join(format!("server-{}", server.0))
}

fn words(step: &str, path: &Path) -> [OsString; 3] {
    ["carry".into(), step.into(), path.into()]
}
