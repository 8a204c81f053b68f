//! `futago serve`: the process that `futago up` starts on each host, and mpirun or srun on request.

use crate::{
    allocator,
    cluster::{
        cleanup,
        core_dumps::CoreDumps,
        memory, plan,
        ranks::{Meeting, Rank},
        records::{self, ProcessRecord, Role},
        runtime_directory,
        settings::Settings,
    },
    exit::Exit,
    logs,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_node::{Cluster, cores::OnOneCore, server};
use rustix::process::{getegid, geteuid};
use std::{
    fs::{self, File},
    io::Read,
    net::SocketAddr,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};
use zeroize::Zeroizing;

/// Arguments of a cluster whose server processes mpirun or srun starts.
#[derive(Args)]
struct Ranks {
    /// Make a new cluster of all processes that mpirun or srun has started together, and serve as
    /// one of them. The cluster file is in a directory that all hosts see; the cluster ends when
    /// the launcher ends its processes.
    #[arg(long, required_unless_present = "process")]
    ranks: bool,
    /// The first TCP port on each host, if there are several hosts.
    #[arg(long, default_value_t = 7330, requires = "ranks")]
    port: u16,
    /// How many seconds the ranks may take to meet.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "ranks")]
    wait: u64,
    #[command(flatten)]
    settings: Settings,
}

/// Arguments of `serve`.
#[derive(Args)]
pub struct Serve {
    /// The cluster file; `-` reads it from standard input and keeps it in the runtime directory.
    #[arg(long)]
    cluster: PathBuf,
    /// The number of this process in the cluster file.
    #[arg(long, conflicts_with = "ranks")]
    process: Option<u32>,
    #[command(flatten)]
    ranks: Ranks,
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
        match self.number() {
            Ok(number) => format!("server-{number}"),
            Err(_) => "server".to_owned(),
        }
    }

    /// It prints nothing but a line that says that it is ready.
    pub const fn json(&self) -> bool {
        false
    }

    /// Serves until a signal ends it.
    pub fn run(self) -> anyhow::Result<Exit> {
        // The signal says that servers move; it must not end a process that just begins.
        signal_hook::flag::register(libc::SIGHUP, Arc::default())?;
        self.core_dumps.restrict()?;
        allocator::keep_freed_memory();
        let _bound = self.core.map(OnOneCore::bind).transpose()?;
        if !self.ranks.ranks {
            return self.serve();
        }
        let rank = Rank::of_this_process()?;
        let wait = Duration::from_secs(self.ranks.wait);
        let meeting = Meeting::beside(&self.cluster, rank, wait)?;
        meeting.hold(|hosts| self.ranks.make_cluster(&self.cluster, hosts))?;
        let directory = runtime_directory::of(&self.load()?);
        let served = self.serve();
        if rank.number == 0 {
            meeting.end();
            let _ = fs::remove_file(&self.cluster);
        }
        if !records::list(&directory)
            .iter()
            .any(ProcessRecord::is_alive)
        {
            // Another rank that ends now may remove it, too.
            let _ = runtime_directory::remove(&directory);
        }
        served
    }

    /// The number of this process in the cluster file.
    fn number(&self) -> anyhow::Result<u32> {
        match self.process {
            Some(process) => Ok(process),
            None => Ok(Rank::of_this_process()?.number),
        }
    }

    fn serve(&self) -> anyhow::Result<Exit> {
        let (cluster, process) = (self.load()?, self.number()?);
        let servers = cluster.servers_of_process(process);
        ensure!(
            !servers.is_empty(),
            "the cluster file has no process {process}"
        );
        let memory_bytes = memory::of_each_server(&cluster, process)?;
        let directory = runtime_directory::of(&cluster);
        runtime_directory::make(&directory)?;
        let record = ProcessRecord::of(std::process::id(), Role::Server(process))?;
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
        note_life(&record, &directory);
        logs::say_opening();
        let result = server::run(&config, &self.file()?, logs::say_ready);
        let result = result.with_context(|| format!("serving as process {process}"));
        record.end(
            &directory,
            result.as_ref().err().map(|error| format!("{error:#}")),
        );
        result?;
        Ok(Exit::Success)
    }

    /// The cluster file, which is replaced when servers move.
    fn file(&self) -> anyhow::Result<PathBuf> {
        match &self.runtime_directory {
            Some(directory) if self.cluster == Path::new("-") => {
                Ok(directory.join(self.copy_name()?))
            }
            _ => Ok(self.cluster.clone()),
        }
    }

    /// The name of the cluster file that comes from standard input.
    fn copy_name(&self) -> anyhow::Result<String> {
        Ok(format!("cluster-{}.toml", self.number()?))
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
        let name = self.copy_name()?;
        let path = self.file()?;
        runtime_directory::put(directory, &name, &text)
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(Cluster::load(&path)?)
    }
}

impl Ranks {
    /// Makes the cluster file of a server process on each of these hosts.
    fn make_cluster(&self, path: &Path, hosts: &[String]) -> anyhow::Result<()> {
        cleanup::make_way(path)?;
        let mut cluster = self.settings.new_cluster()?;
        let is_one_host = hosts.iter().all(|host| *host == hosts[0]);
        let directory = runtime_directory::choose(&String::from(cluster.id), is_one_host);
        let count = hosts.len() as u32;
        cluster.servers = if is_one_host {
            plan::on_this_host(count, 1, &plan::Transport::Unix, &directory)?
        } else {
            plan::on_hosts(hosts, count, 1, self.port)?
        };
        cluster.runtime_directory = Some(directory);
        self.settings.share_memory(&mut cluster)?;
        Ok(cluster.create(path)?)
    }
}

/// How often a process notes that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Has a thread note that this process lives, until the process ends.
fn note_life(record: &ProcessRecord, directory: &Path) {
    let (record, directory) = (record.clone(), directory.to_owned());
    let note = move || loop {
        record.touch(&directory);
        thread::sleep(SIGN_OF_LIFE);
    };
    let thread = thread::Builder::new().name("sign-of-life".into());
    if let Err(error) = thread.spawn(note) {
        tracing::warn!(%error, "nobody can tell how long this process lives");
    }
}

/// The largest cluster file.
const CLUSTER_BYTES_MAX: usize = 4 << 20;

/// Reads a cluster file without a buffer in between and into memory that does not grow, because a
/// copy of the key would stay behind.
pub fn read_cluster(input: File) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::with_capacity(CLUSTER_BYTES_MAX + 1));
    let most = CLUSTER_BYTES_MAX as u64 + 1;
    input.take(most).read_to_end(&mut text)?;
    ensure!(
        text.len() <= CLUSTER_BYTES_MAX,
        "the cluster file from standard input is longer than {CLUSTER_BYTES_MAX} bytes"
    );
    Ok(text)
}
