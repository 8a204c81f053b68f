//! `futago bench`: measures a cluster, or any directory, with several client processes, and other
//! directories beside it.

mod beside;
mod broadcast;
mod io500;
mod report;

use crate::{
    bench::{self, Job, Target, Work, coordinator::Plan},
    cluster::ClusterFile,
    connection::Connection,
    exit::{Exit, Problem},
};
use beside::Beside;
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use futago_lab::workload::{Access, FileLayout, IoWorkload, MetadataWorkload};
use std::path::PathBuf;

/// Arguments of `bench`.
#[derive(Args)]
pub struct Bench {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Many small files: create, stat, read and unlink.
    Metadata(Metadata),
    /// Large files: write and read.
    Io(Io),
    /// The IO500 benchmark: all phases, scores and result files.
    Io500(io500::Io500),
    /// Many clients read one file at once: how often do the servers send it?
    Broadcast(broadcast::Broadcast),
    /// A client process of a benchmark.
    #[command(hide = true)]
    Client,
}

#[derive(Args)]
struct Common {
    /// The cluster file that `futago up` wrote.
    #[arg(long, value_name = "FILE", env = "FUTAGO_CLUSTER")]
    cluster: Option<PathBuf>,
    /// Measure this directory (a mount, tmpfs, ext4) by system calls, instead of the library. With
    /// --cluster too, the servers' requests and CPU time are still printed.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Have the library's clients take leases, under which they keep data, attributes and names,
    /// and what they write.
    #[arg(long, conflicts_with = "path")]
    leases: bool,
    /// How much data of one read or write the library's clients have under way at a time; 0 for one
    /// chunk. By default 4 MiB.
    #[arg(long, value_name = "SIZE", conflicts_with = "path")]
    window: Option<ByteSize>,
    /// Measure this directory too, every phase interleaved with the first one's, and print how much
    /// faster the first is. Can be given several times.
    #[arg(long, value_name = "NAME=DIR")]
    beside: Vec<Beside>,
    /// How many times to do everything. Of several rounds, each phase shows the one of the median
    /// rate.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How many client processes each of them has.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: u32,
    /// How many operations each client has under way.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    in_flight: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Metadata {
    #[command(flatten)]
    common: Common,
    /// Files of each client.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    files: u64,
    /// All clients in one directory.
    #[arg(long)]
    shared_dir: bool,
    /// The size of each file; 0 leaves the read phase out.
    #[arg(long, default_value = "64B")]
    bytes: ByteSize,
}

#[derive(Args)]
struct Io {
    #[command(flatten)]
    common: Common,
    /// The files that each client writes and reads.
    #[arg(long, default_value = "1GiB")]
    size: ByteSize,
    /// Bytes an operation.
    #[arg(long, default_value = "1MiB")]
    transfer: ByteSize,
    /// All clients in one file, their blocks interleaved.
    #[arg(long)]
    shared_file: bool,
    /// Bytes of one client that lie together in a shared file, and that strided transfers pass by;
    /// by default as much as a transfer.
    #[arg(long)]
    block: Option<ByteSize>,
    /// Transfers in random order, each once.
    #[arg(long)]
    random: bool,
    /// The first transfer of every block, then the second of every block, and so on.
    #[arg(long, conflicts_with = "random")]
    strided: bool,
    /// Read everything three more times, which shows the effect of caches.
    #[arg(long)]
    again: bool,
}

/// The largest file that the metadata benchmark makes: its data travels in one message.
const FILE_BYTES_MAX: u64 = 1 << 20;

impl Bench {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        match &self.kind {
            Kind::Metadata(metadata) => metadata.common.json,
            Kind::Io(io) => io.common.json,
            Kind::Io500(io500) => io500.json,
            Kind::Broadcast(broadcast) => broadcast.json,
            Kind::Client => false,
        }
    }

    /// Measures.
    pub fn run(self) -> anyhow::Result<Exit> {
        let (common, work) = match self.kind {
            Kind::Client => return bench::client::run().map(|()| Exit::Success),
            Kind::Io500(io500) => return io500.run(),
            Kind::Broadcast(broadcast) => return broadcast.run(),
            Kind::Metadata(metadata) => metadata.work()?,
            Kind::Io(io) => io.work()?,
        };
        let jobs = common.jobs(work)?;
        let servers = match &common.cluster {
            Some(path) => Some(Connection::open(
                &ClusterFile { path: path.clone() }.load()?,
            )?),
            None => None,
        };
        let plan = Plan {
            clients: common.clients,
            rounds: common.rounds,
            servers: servers.as_ref(),
        };
        let measured = bench::coordinator::run(&jobs, plan)?;
        report::print(&common, &jobs, measured)?;
        Ok(Exit::Success)
    }
}

impl Common {
    /// The work on every target, what is measured beside the first behind it.
    fn jobs(&self, work: Work) -> anyhow::Result<Vec<Job>> {
        let mut targets = vec![self.target()?];
        for beside in &self.beside {
            targets.push(Target::Directory(std::path::absolute(&beside.directory)?));
        }
        let of_target = |target| Job {
            work,
            target,
            in_flight: self.in_flight,
        };
        Ok(targets.into_iter().map(of_target).collect())
    }

    fn target(&self) -> anyhow::Result<Target> {
        match (&self.path, &self.cluster) {
            (Some(path), _) => Ok(Target::Directory(std::path::absolute(path)?)),
            (None, Some(cluster)) => Ok(Target::Cluster {
                file: std::path::absolute(cluster)?,
                leases: self.leases,
                window_bytes: self.window.map(|window| window.as_u64() as usize),
            }),
            (None, None) => Err(usage("say what to measure: --cluster FILE or --path DIR")),
        }
    }
}

fn usage(message: &str) -> anyhow::Error {
    Problem::error(Exit::Usage, message)
}

impl Metadata {
    fn work(self) -> anyhow::Result<(Common, Work)> {
        let bytes = self.bytes.as_u64();
        if bytes > FILE_BYTES_MAX {
            return Err(usage(
                "--bytes is 1MiB at most; bench io measures large files",
            ));
        }
        let workload = MetadataWorkload {
            clients: self.common.clients,
            files: self.files,
            shared_directory: self.shared_dir,
            bytes: bytes as u32,
        };
        Ok((self.common, Work::Metadata(workload)))
    }
}

impl Io {
    fn work(self) -> anyhow::Result<(Common, Work)> {
        let workload = IoWorkload {
            clients: self.common.clients,
            size_bytes: self.size.as_u64(),
            transfer_bytes: u32::try_from(self.transfer.as_u64()).unwrap_or(u32::MAX),
            block_bytes: self.block.unwrap_or(self.transfer).as_u64(),
            file: match self.shared_file {
                true => FileLayout::Shared,
                false => FileLayout::Own,
            },
            access: match (self.random, self.strided) {
                (true, _) => Access::Random,
                (_, true) => Access::Strided,
                _ => Access::Sequential,
            },
        };
        let checked = workload.check();
        checked.map_err(|mistake| usage(&format!("--{} {}", mistake.of, mistake.reason)))?;
        let again = self.again;
        Ok((self.common, Work::Io { workload, again }))
    }
}
