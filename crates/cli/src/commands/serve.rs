//! `futago serve`: the process that `futago up` starts on each host.

use crate::{
    allocator,
    cluster::{
        core_dumps::CoreDumps,
        memory,
        records::{ProcessRecord, Role},
        runtime_directory,
    },
    exit::Exit,
    logs,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_node::{Cluster, cores::OnOneCore, server};
use rustix::process::{getegid, geteuid};
use std::{
    fs::File,
    io::Read,
    net::SocketAddr,
    os::fd::AsFd,
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Arguments of `serve`.
#[derive(Args)]
pub struct Serve {
    /// The cluster file; `-` reads it from standard input and keeps it in the runtime directory.
    #[arg(long)]
    cluster: PathBuf,
    /// The number of this process in the cluster file.
    #[arg(long)]
    process: u32,
    /// The runtime directory, if the cluster file comes from standard input.
    #[arg(long)]
    runtime_directory: Option<PathBuf>,
    /// Stay on one of the cores that this process may use, counted from 0 and around.
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    #[command(flatten)]
    core_dumps: CoreDumps,
    /// Where to offer Prometheus metrics, such as 127.0.0.1:9100.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
}

impl Serve {
    /// The role of this process, for the log.
    pub fn role(&self) -> String {
        format!("server-{}", self.process)
    }

    /// It prints nothing but a line that says that it is ready.
    pub const fn json(&self) -> bool {
        false
    }

    /// Serves until a signal ends it.
    pub fn run(self) -> anyhow::Result<Exit> {
        self.core_dumps.restrict()?;
        allocator::keep_freed_memory();
        let _bound = self.core.map(OnOneCore::bind).transpose()?;
        let cluster = self.load()?;
        let servers = cluster.servers_of_process(self.process);
        ensure!(
            !servers.is_empty(),
            "the cluster file has no process {}",
            self.process
        );
        let memory_bytes = memory::of_each_server(&cluster, self.process)?;
        let directory = runtime_directory::of(&cluster);
        runtime_directory::make(&directory)?;
        let record = ProcessRecord::of(std::process::id(), Role::Server(self.process))?;
        record.save(&directory)?;
        if let Some(address) = self.metrics {
            futago_node::metrics_exporter::serve(address)?;
        }
        let config = server::Config {
            cluster,
            servers,
            memory_bytes,
            root_owner: (geteuid().as_raw(), getegid().as_raw()),
        };
        let result = server::run(&config, logs::say_ready);
        record.remove(&directory);
        result.with_context(|| format!("serving as process {}", self.process))?;
        Ok(Exit::Success)
    }

    fn load(&self) -> anyhow::Result<Cluster> {
        if self.cluster != Path::new("-") {
            return Ok(Cluster::load(&self.cluster)?);
        }
        let directory = self
            .runtime_directory
            .as_ref()
            .context("a cluster file from standard input needs --runtime-directory")?;
        runtime_directory::make(directory)?;
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let text = read_cluster(input.into())?;
        let name = format!("cluster-{}.toml", self.process);
        let path = directory.join(&name);
        runtime_directory::put(directory, &name, &text)
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(Cluster::load(&path)?)
    }
}

/// The largest cluster file.
const CLUSTER_BYTES_MAX: usize = 4 << 20;

/// Reads a cluster file without a buffer in between and into memory that does not grow, because a
/// copy of the key would stay behind.
fn read_cluster(input: File) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::with_capacity(CLUSTER_BYTES_MAX + 1));
    let most = CLUSTER_BYTES_MAX as u64 + 1;
    input.take(most).read_to_end(&mut text)?;
    ensure!(
        text.len() <= CLUSTER_BYTES_MAX,
        "the cluster file from standard input is longer than {CLUSTER_BYTES_MAX} bytes"
    );
    Ok(text)
}
