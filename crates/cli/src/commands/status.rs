//! `futago status`: how the servers are, and where things lie.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::Exit,
    output,
};
use clap::Args;
use futago_base::{Attributes, BucketStart, ChunkId, Kind, ServerId};
use futago_node::{Cluster, server};
use serde::Serialize;
use std::{collections::BTreeSet, time::Duration};

/// Arguments of `status`.
#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Tell where this directory's buckets or this file's chunks are.
    #[arg(long)]
    path: Option<RemotePath>,
    /// How many seconds a server may take to answer.
    #[arg(long, default_value_t = 2.0)]
    wait: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    name: String,
    id: String,
    /// Whether connections over TCP are encrypted.
    secure: bool,
    policy: futago_base::map::Policy,
    partitions: usize,
    chunk_bytes: u32,
    servers: Vec<ServerRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathReport>,
}

#[derive(Serialize)]
struct ServerRow {
    server: u16,
    address: String,
    host: Option<String>,
    process: u32,
    up: bool,
    error: Option<String>,
    /// What the server tells of itself.
    counters: Option<Counters>,
}

/// What a server tells of itself, and what follows from it.
#[derive(Serialize)]
struct Counters {
    #[serde(flatten)]
    status: server::Status,
    /// All requests since the start.
    requests_total: u64,
    /// How long the server had something to do for a request, in microseconds.
    busy_us_per_request: f64,
}

impl From<server::Status> for Counters {
    fn from(status: server::Status) -> Self {
        let requests_total: u64 = status.requests.values().sum();
        Self {
            requests_total,
            busy_us_per_request: status.busy_us as f64 / requests_total.max(1) as f64,
            status,
        }
    }
}

#[derive(Serialize)]
struct PathReport {
    /// Escaped as the manual says.
    path: String,
    id: u64,
    kind: String,
    size: u64,
    /// The server that holds the inode.
    home: u16,
    /// The servers that hold a part.
    servers: BTreeSet<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buckets: Option<Vec<BucketRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<ChunkRow>>,
}

#[derive(Serialize)]
struct BucketRow {
    /// The first hash, in hexadecimal.
    start: String,
    level: u8,
    server: u16,
    entries: u64,
    subdirectories: u32,
}

#[derive(Serialize)]
struct ChunkRow {
    index: u64,
    server: u16,
}

/// The most chunks that are listed; the places of all others follow from the policy.
const CHUNKS_MAX: u64 = 4096;

impl Status {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Asks all servers. Ends with 1 if one does not answer.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut cluster = self.cluster.load()?;
        cluster.limits.give_up_seconds = Duration::try_from_secs_f64(self.wait)?.as_secs_f64();
        let connection = Connection::open(&cluster)?;
        let servers = server_rows(&connection, &cluster);
        let path = match &self.path {
            Some(path) => Some(path_report(&connection, path)?),
            None => None,
        };
        let report = Report {
            name: cluster.name.clone(),
            id: cluster.id.into(),
            secure: cluster.secure,
            policy: cluster.policy,
            partitions: cluster.partitions,
            chunk_bytes: cluster.chunk_bytes,
            servers,
            path,
        };
        output::print(self.json, &report, text)?;
        let all_up = report.servers.iter().all(|row| row.up);
        Ok(if all_up { Exit::Success } else { Exit::Wrong })
    }
}

fn server_rows(connection: &Connection, cluster: &Cluster) -> Vec<ServerRow> {
    let numbered = (0..).map(ServerId).zip(&cluster.servers);
    std::thread::scope(|scope| {
        let asked: Vec<_> = numbered
            .map(|(id, entry)| (id, entry, scope.spawn(move || connection.status(id))))
            .collect();
        let rows = asked.into_iter().map(|(id, entry, answer)| {
            let answer = answer
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("asking failed")));
            let (counters, error) = match answer {
                Ok(status) => (Some(Counters::from(status)), None),
                Err(error) => (None, Some(format!("{error:#}"))),
            };
            ServerRow {
                server: id.0,
                address: entry.address.to_string(),
                host: entry.host.clone(),
                process: entry.process,
                up: error.is_none(),
                error,
                counters,
            }
        });
        rows.collect()
    })
}

fn path_report(connection: &Connection, path: &RemotePath) -> anyhow::Result<PathReport> {
    let file = connection.resolve(path)?;
    let home = connection.map().home(file.id).0;
    let mut report = PathReport {
        path: path.to_string(),
        id: file.id.0,
        kind: format!("{:?}", file.kind).to_lowercase(),
        size: file.size,
        home,
        servers: BTreeSet::from([home]),
        buckets: None,
        chunks: None,
    };
    match file.kind {
        Kind::Directory => {
            let buckets = bucket_rows(connection, path, &file)?;
            report.servers = buckets.iter().map(|bucket| bucket.server).collect();
            report.buckets = Some(buckets);
        }
        Kind::File => {
            let chunks = chunk_rows(connection, &file);
            report
                .servers
                .extend(chunks.iter().map(|chunk| chunk.server));
            report.chunks = Some(chunks);
        }
        _ => {}
    }
    Ok(report)
}

fn bucket_rows(
    connection: &Connection,
    path: &RemotePath,
    file: &Attributes,
) -> anyhow::Result<Vec<BucketRow>> {
    let mut rows = Vec::new();
    let mut next = Some(BucketStart(0));
    while let Some(start) = next {
        let header = connection.header(path, file.id, start)?;
        rows.push(BucketRow {
            start: format!("{:016x}", start.0),
            level: header.level,
            server: connection.map().bucket_server(file.id, start).0,
            entries: header.entries,
            subdirectories: header.subdirectories,
        });
        next = start.end(header.level);
    }
    Ok(rows)
}

fn chunk_rows(connection: &Connection, file: &Attributes) -> Vec<ChunkRow> {
    let count = file.size.div_ceil(u64::from(file.chunk_bytes.max(1)));
    (0..count.min(CHUNKS_MAX))
        .map(|index| {
            let chunk = ChunkId {
                file: file.id,
                index,
            };
            ChunkRow {
                index,
                server: connection.map().chunk_server(chunk).0,
            }
        })
        .collect()
}

fn counters_text(counters: &Counters) -> String {
    let status = &counters.status;
    format!(
        "    process {}, up {:.0} s, {} of {} used, {} inodes, {} connections\n    \
         {} requests, {:.1} us of work each\n",
        status.process_id,
        status.uptime_s,
        output::size(status.used_bytes),
        output::size(status.limit_bytes),
        status.files,
        status.connections,
        counters.requests_total,
        counters.busy_us_per_request,
    )
}

fn text(report: &Report) -> String {
    let secure = if report.secure { ", secure" } else { "" };
    let mut text = format!("cluster {} ({}){secure}\n", report.name, report.id);
    for row in &report.servers {
        let state = row.error.as_deref().unwrap_or("up");
        let host = row
            .host
            .as_ref()
            .map(|host| format!(" on {host}"))
            .unwrap_or_default();
        text += &format!("server {}{host} at {}: {state}\n", row.server, row.address);
        if let Some(counters) = &row.counters {
            text += &counters_text(counters);
        }
    }
    let Some(path) = &report.path else {
        return text;
    };
    text += &format!(
        "{}: {} {}, {} bytes or entries, home server {}\n",
        path.path, path.kind, path.id, path.size, path.home
    );
    for bucket in path.buckets.iter().flatten() {
        text += &format!(
            "    bucket {} level {}: server {}, {} entries\n",
            bucket.start, bucket.level, bucket.server, bucket.entries
        );
    }
    for chunk in path.chunks.iter().flatten() {
        text += &format!("    chunk {}: server {}\n", chunk.index, chunk.server);
    }
    text
}
