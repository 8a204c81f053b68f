//! `futago bench broadcast`: many clients read one file at once.

use crate::{
    cluster::{ClusterFile, cooperative},
    exit::Exit,
    output,
};
use anyhow::{Context, anyhow};
use bytes::Bytes;
use bytesize::ByteSize;
use clap::Args;
use futago_node::{
    Cluster, CooperativeChoice, Options,
    blocking::{FileSystem, OpenOptions},
};
use futago_wire::SharingCounters;
use serde::Serialize;
use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

/// The size of one read, as the kernel reads for a program that reads in order.
const READ_BYTES: u32 = 1 << 20;
/// A name that nobody else has.
const NAME: &str = "/.futago-broadcast";

/// Arguments of `bench broadcast`.
///
/// A client alone reads the file first, then all clients at once, each of them with an empty cache.
#[derive(Args)]
pub struct Broadcast {
    #[command(flatten)]
    cluster: ClusterFile,
    /// How many clients read.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,
    /// The size of the file.
    #[arg(long, default_value = "256MiB")]
    size: ByteSize,
    /// Whether the clients read from each other's caches: `on`, `off`, or `size=SIZE` with the size
    /// of each cache. By default what the cluster does.
    #[arg(long, value_name = "on|off|size=SIZE", value_parser = cooperative::parse)]
    cooperative: Option<CooperativeChoice>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    clients: u16,
    bytes: u64,
    cooperative: bool,
    /// How often the servers have sent the file to all clients together.
    copies_out_of_servers: f64,
    /// How long all of them took, the slowest to its end.
    seconds: f64,
    /// How long one took alone.
    seconds_one_client: f64,
    /// How often clients were asked in vain.
    missed: u64,
}

impl Broadcast {
    /// Measures.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let cluster = self.cluster.load()?;
        let bytes = self.size.as_u64();
        let setter = FileSystem::connect(&cluster, options(CooperativeChoice::Off))?;
        let measured = write(&setter, bytes).and_then(|()| self.measure(&cluster, bytes));
        // The file is removed whatever has happened, and its absence is no error.
        let removed = setter.remove_file(NAME.as_bytes());
        let report = measured?;
        removed.context(NAME)?;
        output::print(self.json, &report, text)?;
        Ok(Exit::Success)
    }

    fn measure(&self, cluster: &Cluster, bytes: u64) -> anyhow::Result<Report> {
        let choice = self.cooperative.unwrap_or_default();
        let alone = read_at_once(cluster, choice, 1)?;
        let together = read_at_once(cluster, choice, self.clients)?;
        Ok(Report {
            clients: self.clients,
            bytes,
            cooperative: together.is_cooperative,
            copies_out_of_servers: together.counters.bytes_from_servers as f64 / bytes as f64,
            seconds: together.lasted.as_secs_f64(),
            seconds_one_client: alone.lasted.as_secs_f64(),
            missed: together.counters.missed,
        })
    }
}

fn options(cooperative: CooperativeChoice) -> Options {
    Options {
        cooperative,
        leases: true,
        ..Options::default()
    }
}

fn write(client: &FileSystem, bytes: u64) -> anyhow::Result<()> {
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = client.open(NAME.as_bytes(), create).context(NAME)?;
    let block: Bytes = (0..READ_BYTES).map(|at| (at % 251) as u8).collect();
    for offset in (0..bytes).step_by(block.len()) {
        let length = bytes.saturating_sub(offset).min(block.len() as u64);
        file.write_at(offset, block.slice(..length as usize))?;
    }
    file.synchronize()?;
    Ok(file.close()?)
}

/// The results of clients together.
struct Together {
    counters: SharingCounters,
    lasted: Duration,
    is_cooperative: bool,
}

/// Has new clients read the file at once.
fn read_at_once(
    cluster: &Cluster,
    choice: CooperativeChoice,
    clients: u16,
) -> anyhow::Result<Together> {
    let connect = |_| FileSystem::connect(cluster, options(choice));
    let clients: Vec<_> = (0..clients).map(connect).collect::<Result<_, _>>()?;
    let start = Barrier::new(clients.len());
    let lasted: anyhow::Result<Vec<Duration>> = thread::scope(|scope| {
        let reading = clients.iter();
        let reading: Vec<_> = reading
            .map(|client| scope.spawn(|| read(client, &start)))
            .collect();
        let ended = reading.into_iter().map(|it| it.join());
        ended
            .map(|it| it.map_err(|_| anyhow!("a reader has panicked"))?)
            .collect()
    });
    let mut counters = SharingCounters::default();
    for client in &clients {
        let of_one = client
            .futago()
            .run_blocking(async |it| it.sharing_counters())?;
        counters.bytes_from_servers += of_one.bytes_from_servers;
        counters.missed += of_one.missed;
    }
    Ok(Together {
        counters,
        lasted: lasted?.into_iter().max().unwrap_or_default(),
        is_cooperative: match choice {
            CooperativeChoice::AsCluster => cluster.cooperative.is_some(),
            CooperativeChoice::On(_) => true,
            CooperativeChoice::Off => false,
        },
    })
}

/// Reads the file from its beginning to its end. Returns how long that took.
fn read(client: &FileSystem, start: &Barrier) -> anyhow::Result<Duration> {
    let file = client.open(NAME.as_bytes(), OpenOptions::default());
    // The others wait for this one, too, if it fails.
    start.wait();
    let (begun, file, mut offset) = (Instant::now(), file?, 0);
    loop {
        let data = file.read_at(offset, READ_BYTES)?;
        if data.is_empty() {
            file.close()?;
            return Ok(begun.elapsed());
        }
        offset += data.len() as u64;
    }
}

fn text(report: &Report) -> String {
    format!(
        "{} clients, {}: {:.3} copies out of the servers, {:.3} s ({:.2} of one client alone, {:.3} s)\n",
        report.clients,
        output::size(report.bytes),
        report.copies_out_of_servers,
        report.seconds,
        report.seconds / report.seconds_one_client.max(f64::MIN_POSITIVE),
        report.seconds_one_client
    )
}
