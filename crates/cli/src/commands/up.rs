//! `futago up`: starts a cluster.

use crate::{
    cluster::{
        ClusterFile, backing, cleanup, copies,
        core_dumps::CoreDumps,
        data,
        launcher::{Launcher, parse_hosts},
        mount_point::Permission,
        plan, runtime_directory,
        server_process::ServerProcess,
        settings::Settings,
        spawn::{self, Started},
    },
    commands::{down, mount},
    exit::{Exit, exit_of},
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::ServerId;
use futago_node::{BackingStore, Cluster, FlushPolicy, Loading, Sync, cores};
use serde::Serialize;
use std::{
    ffi::OsString,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Arguments of `up`.
#[derive(Args)]
pub struct Up {
    #[command(flatten)]
    cluster: ClusterFile,
    /// How many server processes; by default one, or one a host.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    servers: Option<u32>,
    /// How many servers every process hosts. They share its threads, at most one for every two
    /// cores.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    shards: u32,
    /// Have every server process stay on one core of its host: they are dealt out to the cores that
    /// they may use.
    #[arg(long)]
    bind_to_core: bool,
    /// A file of host names, one a line; without it everything runs on this host.
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// How to run a program on another host; ssh, srun or anything like them.
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh -o BatchMode=yes {host}"
    )]
    launcher: String,
    /// The first TCP port on other hosts.
    #[arg(long, default_value_t = 7330)]
    port: u16,
    /// How servers on this host are reached: unix, tcp, or ofi[:PROVIDER] for a provider of
    /// libfabric (tcp if none is named; verbs for InfiniBand). Other hosts are reached over TCP,
    /// or with ofi over the provider too.
    #[arg(long, value_name = "unix|tcp|ofi[:PROVIDER]", default_value_t)]
    transport: plan::Transport,
    #[command(flatten)]
    core_dumps: CoreDumps,
    /// Mount the file system here as soon as it is ready.
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    #[command(flatten)]
    mount_permission: Permission,
    /// How many threads may serve the mount, as `futago mount --threads`.
    #[arg(long, value_name = "N", requires = "mount", value_parser = mount::thread_count())]
    threads: Option<u16>,
    /// Record what is done through the mount, as `futago mount --record`.
    #[arg(long, value_name = "FILE", requires = "mount")]
    record: Option<PathBuf>,
    /// A directory of every host, in which servers keep what they have: what has returned survives
    /// the end of their processes. With the directory of an earlier cluster, that one goes on.
    // A cluster that goes on must not begin with the backing directory once more.
    #[arg(long, value_name = "DIR", conflicts_with = "backing")]
    data: Option<PathBuf>,
    /// All that has returned survives the end of servers, and after fsync a loss of power
    /// (process); or all of it survives a loss of power (always): then every operation waits for
    /// the disk.
    #[arg(long, value_name = "WHEN", default_value_t, requires = "data")]
    sync: Sync,
    /// A directory, such as one of a parallel file system, which the cluster begins with and which
    /// changes are written back to.
    #[arg(long, value_name = "DIR")]
    backing: Option<PathBuf>,
    /// When changes are written back: soon after a file is at rest (close), every N seconds
    /// (interval=N), when a file was not changed for N seconds (idle=N), or by `futago flush` alone
    /// (none).
    #[arg(long, value_name = "POLICY", default_value_t, requires = "backing")]
    flush: FlushPolicy,
    /// When the data of the directory's files is copied into the cluster: when a program needs it
    /// (on-demand), or before the cluster is ready (first). Names and attributes are copied first.
    #[arg(long, value_name = "WHEN", default_value_t, requires = "backing")]
    load: Loading,
    #[command(flatten)]
    settings: Settings,
    /// How many seconds the servers may take to get ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    /// Offer Prometheus metrics: process 0 at this address, the others at the ports after it.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Stay until interrupted, then end the cluster.
    #[arg(long)]
    foreground: bool,
    /// As --foreground, and end the cluster when standard input ends too: the process at its other
    /// end takes the cluster along, however it ends.
    #[arg(long, hide = true)]
    until_input_ends: bool,
    /// Make the directory of --data, which must not be there, and remove it with the cluster.
    #[arg(long, hide = true, requires_all = ["data", "until_input_ends"])]
    discard_data: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    cluster: String,
    id: String,
    processes: u32,
    servers: usize,
    runtime_directory: String,
    mount: Option<String>,
}

impl Up {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Starts the cluster; leaves nothing behind if that fails or is interrupted.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interrupted = spawn::interruption()?;
        if self.until_input_ends {
            interrupt_when_input_ends(interrupted.clone());
        }
        // It is removed after everything else, on every way out of here.
        let _discarded = self.discarded_data()?;
        cleanup::make_way(&self.cluster.path)?;
        let mut cluster = self.new_cluster()?;
        if let Some(mount) = &self.mount {
            self.mount_permission
                .check(mount, &cluster, &self.cluster.path)?;
        }
        if let Some(directory) = &cluster.data {
            data::note(&cluster, directory)?;
        }
        // The file comes first: with it, `down` removes whatever else there is.
        cluster.create(&self.cluster.path)?;
        let mut started = Vec::new();
        let wait = Duration::from_secs(self.wait);
        let copied = copies::finish(&mut cluster, &self.cluster.path, wait, &interrupted);
        let up = copied.and_then(|()| self.bring_up(&cluster, &mut started, &interrupted));
        if let Err(error) = up {
            self.take_back(&cluster, &mut started);
            return Err(error);
        }
        if self.foreground || self.until_input_ends {
            while !interrupted.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
            if let Err(error) = down::flush(&self.cluster, &cluster) {
                if !self.until_input_ends {
                    return Err(error);
                }
                output::notice(format_args!("futago: changes are lost: {error:#}"));
            }
            self.take_back(&cluster, &mut started);
        }
        Ok(Exit::Success)
    }

    /// The directory of the data, if it is to end with the cluster.
    fn discarded_data(&self) -> anyhow::Result<Option<data::Discarded>> {
        let directory = self.data.as_deref().filter(|_| self.discard_data);
        directory.map(data::Discarded::make).transpose()
    }

    fn bring_up(
        &self,
        cluster: &Cluster,
        started: &mut Vec<Started>,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<()> {
        let directory = runtime_directory::of(cluster);
        runtime_directory::make(&directory)?;
        self.advise();
        self.start_all(cluster, &directory, started)?;
        spawn::wait_ready(started, Duration::from_secs(self.wait), interrupted)?;
        let servers: Vec<ServerId> = (0..).map(ServerId).take(cluster.servers.len()).collect();
        futago_node::ensure_reachable(cluster, &servers, spawn::REACH_MAX)?;
        if cluster.backing.is_some() {
            backing::start(&self.cluster.path, cluster, started, interrupted)?;
        }
        let mount = self.mount(interrupted)?;
        spawn::ensure_uninterrupted(interrupted)?;
        self.report(cluster, &directory, mount)
    }

    /// Advises against several processes on few cores: those without work poll beside those that
    /// have some.
    fn advise(&self) {
        let (processes, cores) = (self.servers.unwrap_or(1), cores::allowed().len());
        if self.hosts.is_none() && (1..processes as usize).contains(&cores) {
            output::notice(format_args!(
                "futago: {processes} server processes share {}; one process with --shards {} does \
                 the same with less time of the processor",
                output::counted(cores as u64, "core", "cores"),
                processes * self.shards,
            ));
        }
    }

    fn new_cluster(&self) -> anyhow::Result<Cluster> {
        let mut cluster = self.settings.new_cluster()?;
        cluster.fabric = self.transport.fabric()?;
        let mut earlier = None;
        if let Some(directory) = &self.data {
            let directory = data::make(directory)?;
            earlier = data::take_over(&mut cluster, &directory)?;
            cluster.data = Some(directory);
            cluster.sync = self.sync;
        }
        let id = String::from(cluster.id);
        let directory = runtime_directory::choose(&id, self.hosts.is_none());
        cluster.servers = match &self.hosts {
            None => {
                let processes = self.servers.unwrap_or(1);
                plan::on_this_host(processes, self.shards, &self.transport, &directory)?
            }
            Some(file) => {
                let text = fs::read_to_string(file)
                    .with_context(|| format!("reading the hosts in {}", file.display()))?;
                let hosts = parse_hosts(&text).with_context(|| file.display().to_string())?;
                Launcher::parse(&self.launcher)?;
                cluster.launcher = Some(self.launcher.clone());
                let processes = self.servers.unwrap_or(hosts.len() as u32);
                plan::on_hosts(&hosts, processes, self.shards, self.port)?
            }
        };
        cluster.runtime_directory = Some(directory);
        if let Some(earlier) = earlier {
            cluster.copying = copies::needed(&cluster, &earlier)?;
        }
        cluster.backing = self.backing_store()?;
        self.settings.share_memory(&mut cluster)?;
        Ok(cluster)
    }

    fn backing_store(&self) -> anyhow::Result<Option<BackingStore>> {
        let Some(directory) = &self.backing else {
            return Ok(None);
        };
        let found = fs::canonicalize(directory);
        let directory = found.with_context(|| format!("opening {}", directory.display()))?;
        ensure!(
            directory.is_dir(),
            "{} is no directory",
            directory.display()
        );
        // The cluster file is text and names it.
        ensure!(
            directory.to_str().is_some(),
            "{} is not UTF-8",
            directory.display()
        );
        Ok(Some(BackingStore {
            directory,
            flush: self.flush,
            load: self.load,
        }))
    }

    fn start_all(
        &self,
        cluster: &Cluster,
        directory: &Path,
        started: &mut Vec<Started>,
    ) -> anyhow::Result<()> {
        let mut processes: Vec<(u32, Option<&String>)> = cluster
            .servers
            .iter()
            .map(|s| (s.process, s.host.as_ref()))
            .collect();
        processes.dedup();
        // One that has its session for itself gets as much of a core as all of its clients; of
        // several, each would.
        let here = processes.iter().filter(|(_, host)| host.is_none());
        let is_in_session = self.until_input_ends || here.count() > 1;
        for (number, &(process, host)) in processes.iter().enumerate() {
            let earlier = processes[..number].iter().filter(|other| other.1 == host);
            let core = self.bind_to_core.then(|| earlier.count());
            let server = ServerProcess {
                process,
                host: host.cloned(),
                launcher: host.map(|_| self.launcher.clone()),
                command: self.command_line(process, host, core, directory)?,
                is_in_session,
            };
            server.start(&self.cluster.path, directory, started)?;
        }
        Ok(())
    }

    fn command_line(
        &self,
        process: u32,
        host: Option<&String>,
        core: Option<usize>,
        directory: &Path,
    ) -> anyhow::Result<Vec<OsString>> {
        let file = match host {
            None => std::path::absolute(&self.cluster.path)?.into(),
            Some(_) => "-".into(),
        };
        let mut command: Vec<OsString> = vec![
            std::env::current_exe()?.into(),
            "serve".into(),
            "--cluster".into(),
            file,
            "--process".into(),
            process.to_string().into(),
            "--runtime-directory".into(),
            directory.into(),
        ];
        command.extend(self.core_dumps.arguments());
        if let Some(core) = core {
            command.extend(["--core".into(), core.to_string().into()]);
        }
        if let Some(address) = self.metrics_of(process)? {
            command.extend(["--metrics".into(), address.to_string().into()]);
        }
        Ok(command)
    }

    fn metrics_of(&self, process: u32) -> anyhow::Result<Option<SocketAddr>> {
        let Some(first) = self.metrics else {
            return Ok(None);
        };
        let port = u16::try_from(u32::from(first.port()) + process);
        let port = port.context("--metrics leaves no ports for all processes; use a lower one")?;
        Ok(Some(SocketAddr::new(first.ip(), port)))
    }

    fn mount(&self, interrupted: &AtomicBool) -> anyhow::Result<Option<PathBuf>> {
        let Some(directory) = &self.mount else {
            return Ok(None);
        };
        let mut extra = mount::serving_arguments(self.threads, self.record.as_deref())?;
        extra.extend(self.core_dumps.arguments());
        let place = mount::Place {
            directory,
            permission: self.mount_permission,
        };
        mount::in_background(&self.cluster, place, &extra, interrupted).map(Some)
    }

    fn report(
        &self,
        cluster: &Cluster,
        runtime_directory: &Path,
        mount: Option<PathBuf>,
    ) -> anyhow::Result<()> {
        let report = Report {
            cluster: output::escape_path(&self.cluster.path),
            id: cluster.id.into(),
            processes: cluster
                .servers
                .iter()
                .map(|s| s.process + 1)
                .max()
                .unwrap_or(0),
            servers: cluster.servers.len(),
            runtime_directory: output::escape_path(runtime_directory),
            mount: mount.as_deref().map(output::escape_path),
        };
        let printed = output::print(self.json, &report, |report| {
            let mounted = report
                .mount
                .as_ref()
                .map(|path| format!(", mounted at {path}"));
            format!(
                "{} server process(es) ready, {} server(s){}\n",
                report.processes,
                report.servers,
                mounted.unwrap_or_default()
            )
        });
        match printed {
            // The cluster is up, whether its caller reads that or not.
            Err(error) if exit_of(&error) == Exit::ReaderGone => Ok(()),
            printed => printed,
        }
    }

    /// Ends and removes everything. If something cannot be removed, the cluster file stays, for
    /// `down`.
    fn take_back(&self, cluster: &Cluster, started: &mut [Started]) {
        match cleanup::everywhere(cluster) {
            Ok(ended) => {
                for problem in ended.problems {
                    output::notice(format_args!("futago: cleaning up: {problem}"));
                }
            }
            Err(error) => output::notice(format_args!("futago: cleaning up: {error:#}")),
        }
        for process in started {
            process.kill();
        }
        if !runtime_directory::of(cluster).exists() {
            let _ = fs::remove_file(&self.cluster.path);
        }
    }
}

fn interrupt_when_input_ends(interrupted: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        // An error ends it just as well.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        interrupted.store(true, Ordering::Relaxed);
    });
}
