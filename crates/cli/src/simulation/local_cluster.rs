//! A cluster of server processes on this host that lasts as long as its owner.

use crate::{cluster::ClusterFile, output};
use anyhow::{Context, bail};
use bytesize::ByteSize;
use futago_node::Cluster;
use futago_twin::{
    scenario::{Body, Medium},
    world::{Activity, Setup},
};
use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

/// A cluster of server processes on this host. It ends with this value, and also if this process is
/// killed: `futago up` holds the other end of a pipe and notices.
pub struct LocalCluster {
    /// The cluster file of the servers.
    pub cluster: Cluster,
    /// Where the servers keep what they have, if they have a disk.
    pub data: Option<PathBuf>,
    up: Child,
    /// The cluster lives as long as this is open.
    input: Option<ChildStdin>,
}

/// How clients reach the servers of their own host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Through memory that both have mapped.
    #[default]
    Memory,
    /// Over sockets, as servers of other hosts.
    Sockets,
}

/// Memory of each server for records, and for data that is not evenly spread.
const SERVER_BYTES: u64 = 1 << 30;

impl LocalCluster {
    /// Starts the servers of a scenario, each a process. Those with disks have them in a new
    /// directory below `scratch`, which is removed with the cluster.
    pub fn start(body: &Body, setup: &Setup, way: Way, scratch: &Path) -> anyhow::Result<Self> {
        let name = format!("futago-measurement-{}", std::process::id());
        let path = std::env::temp_dir().join(format!("{name}.toml"));
        let on_disk = body.cluster.store == Medium::Disk;
        let data = on_disk.then(|| scratch.join(format!("{name}.data")));
        let servers = body.cluster.servers;
        let policy = serde_json::to_value(setup.protocol.policy)?;
        let bytes = data_bytes(setup).saturating_mul(2);
        let memory = (u64::from(servers) * SERVER_BYTES).saturating_add(bytes);
        let mut up = Command::new(std::env::current_exe()?)
            .args(["up", "--until-input-ends", "--cluster"])
            .arg(&path)
            .args(["--servers", &servers.to_string()])
            .args(["--partitions", &body.cluster.partitions.to_string()])
            .args(["--policy", policy.as_str().unwrap_or_default()])
            .args(["--chunk-size", &format!("{}B", body.cluster.chunk.as_u64())])
            .args(["--memory", &ByteSize(memory).to_string()])
            .args(["--transport", way.transport()])
            .args(body.cluster.bind_to_core.then_some("--bind-to-core"))
            .args(disk_arguments(body, data.as_deref()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting futago up")?;
        let input = up.stdin.take();
        wait_until_ready(&mut up)?;
        let cluster = way.of(ClusterFile { path }.load()?);
        Ok(Self {
            cluster,
            data,
            up,
            input,
        })
    }
}

/// Whether and how servers keep what they have on a disk.
fn disk_arguments(body: &Body, directory: Option<&Path>) -> Vec<OsString> {
    let Some(directory) = directory else {
        return Vec::new();
    };
    let sync = body.cluster.sync.to_string();
    vec![
        "--discard-data".into(),
        "--data".into(),
        directory.into(),
        "--sync".into(),
        sync.into(),
    ]
}

impl Way {
    /// The transport of the servers.
    const fn transport(self) -> &'static str {
        match self {
            Self::Memory => "unix",
            Self::Sockets => "tcp",
        }
    }

    /// The cluster, as clients reach it this way. A server offers shared memory only to clients
    /// that ask for its own cluster, so another identity makes them use sockets.
    const fn of(self, mut cluster: Cluster) -> Cluster {
        if matches!(self, Self::Sockets) {
            cluster.id.0 ^= 1;
        }
        cluster
    }
}

/// It prints a line when all servers are ready, and ends without one if they are not.
fn wait_until_ready(up: &mut Child) -> anyhow::Result<()> {
    let output = up.stdout.take().context("futago up has no output")?;
    let mut line = String::new();
    if BufReader::new(output).read_line(&mut line)? > 0 {
        return Ok(());
    }
    let mut reason = String::new();
    if let Some(mut errors) = up.stderr.take() {
        errors.read_to_string(&mut reason)?;
    }
    up.wait()?;
    bail!("futago up: {}", reason.trim())
}

/// The bytes that all phases write together.
fn data_bytes(setup: &Setup) -> u64 {
    let phases = setup.phases.iter();
    let bytes = phases.map(|phase| match &phase.activity {
        Activity::Names(_) => 0,
        Activity::Data(data) => data.workload.size_bytes * u64::from(data.workload.clients),
        Activity::Trace(trace) => trace.held_bytes(),
    });
    bytes.fold(0, u64::saturating_add)
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        drop(self.input.take());
        if let Err(error) = self.up.wait() {
            output::notice(format_args!(
                "futago: the cluster of the measurement may be left running: {error}"
            ));
        }
    }
}
