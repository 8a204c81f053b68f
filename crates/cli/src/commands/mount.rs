//! `futago mount`: makes the file system of a cluster a directory.

mod gateway;
mod options;

use crate::{
    cluster::{
        ClusterFile,
        core_dumps::CoreDumps,
        mount_point::Permission,
        mounts,
        records::{ProcessRecord, Role},
        runtime_directory,
        spawn::{self, Session},
    },
    exit::Exit,
    output,
};
use anyhow::{Context, bail};
use clap::{Args, builder::TypedValueParser};
use futago_gate_fuse::{Options, remount};
use options::Caller;
use serde::Serialize;
use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

/// How long a mount may take, at most.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Arguments of `mount`.
#[derive(Args)]
pub struct Mount {
    #[command(flatten)]
    cluster: ClusterFile,
    /// The directory; it is not made.
    directory: PathBuf,
    /// Serve the mount in this process, until it is unmounted or interrupted.
    #[arg(long)]
    foreground: bool,
    /// Mount options, as mount(8) separates them by commas: ro, noexec, dev and suid (root only),
    /// fsname=NAME, allow_other, no_allow_other, no_cache, cache=SIZE (how much of files' data the
    /// mount keeps), cooperative=on, off or size=SIZE (whether it reads from other clients' caches,
    /// and how much it keeps for them), read_ahead=SIZE (the kernel's window, root only); remount
    /// changes the flags of what is mounted there.
    #[arg(short, long = "options", value_delimiter = ',')]
    options: Vec<String>,
    /// How many threads serve the mount: one for a single caller, the others for several. By
    /// default one more than there are cores, 3 to 9.
    #[arg(long, value_name = "N", value_parser = thread_count())]
    threads: Option<u16>,
    /// Record what is done through the mount to this file, as a trace that the twin can replay. A
    /// file that is there is overwritten.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Offer Prometheus metrics of this mount at this address, such as 127.0.0.1:9200.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    permission: Permission,
    #[command(flatten)]
    core_dumps: CoreDumps,
    /// Have all threads serve all the time, so that they can be tested.
    #[arg(long, hide = true)]
    all_threads: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    mount: String,
}

impl Mount {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Mounts, and returns when the mount can be used.
    pub fn run(self) -> anyhow::Result<Exit> {
        if options::are_of_remount(&self.options) {
            return self.remount();
        }
        if self.foreground {
            return self.serve();
        }
        let interrupted = spawn::interruption()?;
        let extra = self.extra()?;
        let place = Place {
            directory: &self.directory,
            permission: self.permission,
        };
        let mount = in_background(&self.cluster, place, &extra, &interrupted)?;
        self.report(&mount)
    }

    /// Changes the flags of what is mounted.
    fn remount(self) -> anyhow::Result<Exit> {
        let path = mounts::absolute(&self.directory)?;
        let Some(source) = mounts::source(&path) else {
            bail!(
                "no Futago file system is mounted at {}, so there is nothing to remount",
                path.display()
            );
        };
        let source = source.to_string_lossy();
        let change = options::parse_remount(&source, &self.options, Caller::current())?;
        remount(&path, change).with_context(|| format!("remounting {}", path.display()))?;
        self.report(&path)
    }

    fn report(&self, mount: &Path) -> anyhow::Result<Exit> {
        let mount = output::escape_path(mount);
        output::print(self.json, &Report { mount }, |report| {
            format!("mounted at {}\n", report.mount)
        })?;
        Ok(Exit::Success)
    }

    /// The arguments of the serving process, besides the mount point.
    fn extra(&self) -> anyhow::Result<Vec<OsString>> {
        // The command refuses options before it starts anything.
        options::parse("", &self.options, Caller::current())?;
        let mut extra = serving_arguments(self.threads, self.record.as_deref())?;
        if !self.options.is_empty() {
            extra.extend(["--options".into(), self.options.join(",").into()]);
        }
        if let Some(address) = self.metrics {
            extra.extend(["--metrics".into(), address.to_string().into()]);
        }
        extra.extend(self.core_dumps.arguments());
        extra.extend(self.all_threads.then(|| "--all-threads".into()));
        Ok(extra)
    }

    fn serve(self) -> anyhow::Result<Exit> {
        self.core_dumps.restrict()?;
        let cluster = self.cluster.load()?;
        let mut asked = options::parse(&cluster.name, &self.options, Caller::current())?;
        asked.options.threads = self.threads.map_or(asked.options.threads, usize::from);
        asked.options.all_threads = self.all_threads;
        if let Some(address) = self.metrics {
            futago_node::metrics_exporter::serve(address)?;
            asked.publishes_metrics = true;
        }
        let path = self
            .permission
            .check(&self.directory, &cluster, &self.cluster.path)?;
        let runtime = runtime_directory::of(&cluster);
        runtime_directory::make(&runtime)?;
        let record = ProcessRecord::of(std::process::id(), Role::Mount(path.clone()))?;
        record.save(&runtime)?;
        let removed = (record.clone(), runtime.clone());
        let at_exit = move || removed.0.remove(&removed.1);
        let result = gateway::serve(&cluster, &path, &asked, self.record.as_deref(), at_exit);
        record.remove(&runtime);
        result.with_context(|| format!("mounting at {}", path.display()))?;
        Ok(Exit::Success)
    }
}

/// A value of `--threads`.
pub fn thread_count() -> impl TypedValueParser<Value = u16> {
    clap::value_parser!(u16).range(1..=Options::THREADS_MAX as i64)
}

/// `--threads` and `--record` once more, for the process that serves the mount.
pub fn serving_arguments(
    threads: Option<u16>,
    record: Option<&Path>,
) -> anyhow::Result<Vec<OsString>> {
    let mut arguments = Vec::new();
    if let Some(threads) = threads {
        arguments.extend(["--threads".into(), threads.to_string().into()]);
    }
    if let Some(file) = record {
        // That process works in another directory.
        arguments.extend(["--record".into(), std::path::absolute(file)?.into()]);
    }
    Ok(arguments)
}

/// Where a mount is to be.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The mount point.
    pub directory: &'a Path,
    /// Whether the mount point may hide files.
    pub permission: Permission,
}

/// Starts a process that serves the mount and waits until it can be used. Returns the mount point.
pub fn in_background(
    file: &ClusterFile,
    place: Place<'_>,
    extra: &[OsString],
    interrupted: &AtomicBool,
) -> anyhow::Result<PathBuf> {
    let cluster = file.load()?;
    let permission = place.permission;
    let path = permission.check(place.directory, &cluster, &file.path)?;
    let runtime = runtime_directory::of(&cluster);
    runtime_directory::make(&runtime)?;
    let log = runtime.join(format!("mount-of-{}.log", std::process::id()));
    let cluster_path = std::path::absolute(&file.path)?;
    let mut line: Vec<OsString> = vec![
        std::env::current_exe()?.into(),
        "mount".into(),
        "--cluster".into(),
        cluster_path.into(),
        "--foreground".into(),
    ];
    line.extend(permission.arguments());
    line.extend_from_slice(extra);
    // The mount point is no option, even if its name begins with a dash.
    line.extend(["--".into(), path.clone().into()]);
    let mut started = [spawn::start(
        "the mount".to_owned(),
        &line,
        &log,
        None,
        Session::Own,
    )?];
    let ready = ProcessRecord::of(started[0].pid(), Role::Mount(path.clone())).and_then(|record| {
        // A clean-up finds it so, however early it comes.
        record.save(&runtime)?;
        spawn::wait_ready(&mut started, READY_TIMEOUT, interrupted)?;
        spawn::ensure_uninterrupted(interrupted)
    });
    if let Err(error) = ready {
        started[0].end();
        if mounts::is_mounted(&path) {
            mounts::unmount(&path, true)?;
        }
        return Err(error);
    }
    Ok(path)
}
