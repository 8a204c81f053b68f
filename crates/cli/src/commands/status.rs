//! `futago status`: how the servers are, and where things lie.

mod backing;
mod down;

use crate::{
    caches::{self, Caches, ClientRow},
    cluster::{
        ClusterFile,
        fate::{self, Down},
        spawn,
    },
    connection::{Connection, RemotePath},
    exit::Exit,
    output,
};
use backing::BackingReport;
use clap::Args;
use futago_base::{Attributes, BucketStart, ChunkId, Kind};
use futago_node::{Cluster, server};
use serde::Serialize;
use std::{collections::BTreeSet, io::IsTerminal, time::Duration};

/// Arguments of `status`.
#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Tell where this directory's buckets or this file's chunks are.
    #[arg(long)]
    path: Option<RemotePath>,
    /// Tell what each client that shares its cache has read and sent.
    #[arg(long)]
    clients: bool,
    /// Show it anew every so many seconds, until interrupted.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
    watch: Option<f64>,
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
    /// The provider of the fabric that all messages go over.
    #[serde(skip_serializing_if = "Option::is_none")]
    fabric: Option<String>,
    /// The version of the cluster map: servers that move raise it.
    epoch: u32,
    policy: futago_base::map::Policy,
    partitions: usize,
    chunk_bytes: u32,
    servers: Vec<ServerRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backing: Option<BackingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathReport>,
    /// The clients that share their caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<Vec<ClientRow>>,
}

#[derive(Serialize)]
struct ServerRow {
    server: u16,
    address: String,
    host: Option<String>,
    process: u32,
    up: bool,
    /// Whether it is on its way to its process, from another one or from its log.
    moving: bool,
    /// When it started, in RFC 3339; none if it is down.
    since: Option<String>,
    /// If it is down.
    down: Option<Down>,
    error: Option<String>,
    /// The status from the server.
    counters: Option<Counters>,
}

/// The status of a server, and the figures that follow from it.
#[derive(Serialize)]
struct Counters {
    #[serde(flatten)]
    status: server::Status,
    /// All requests since the start.
    requests_total: u64,
    /// How long the server had something to do for a request, in microseconds.
    busy_us_per_request: f64,
}

impl Counters {
    /// When the server started.
    fn since(&self) -> Option<String> {
        let started = jiff::Timestamp::from_millisecond(self.status.started_ms as i64);
        started.ok().map(fate::rfc_3339)
    }
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

/// How long the backing agent may take at least: it lists the whole tree.
const LISTING_MAX: Duration = Duration::from_secs(20);

/// How long a launcher may take at least to ask the host of a server that does not answer.
const LAUNCHER_MAX: Duration = Duration::from_secs(5);

/// The most chunks that are listed; the places of all others follow from the policy.
const CHUNKS_MAX: u64 = 4096;

impl Status {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Asks all servers. Ends with 1 if one does not answer, or changes cannot be written back.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut cluster = self.cluster.load()?;
        cluster.limits.give_up_seconds = Duration::try_from_secs_f64(self.wait)?.as_secs_f64();
        let connection = Connection::open(&cluster)?;
        let Some(seconds) = self.watch else {
            let report = self.report(&connection, &cluster)?;
            output::print(self.json, &report, text)?;
            let all_up = report.servers.iter().all(|row| row.up);
            let is_backed = report.backing.as_ref().is_none_or(BackingReport::is_well);
            return Ok(if all_up && is_backed {
                Exit::Success
            } else {
                Exit::Wrong
            });
        };
        let interrupted = spawn::interruption()?;
        let pause = Duration::try_from_secs_f64(seconds)?;
        loop {
            let report = self.report(&connection, &cluster)?;
            output::print(self.json, &report, |report| on_top(&text(report)))?;
            spawn::sleep(pause, &interrupted)?;
        }
    }

    fn report(&self, connection: &Connection, cluster: &Cluster) -> anyhow::Result<Report> {
        let path = self.path.as_ref();
        let path = path.map(|path| path_report(connection, path)).transpose()?;
        Ok(Report {
            name: cluster.name.clone(),
            id: cluster.id.into(),
            secure: cluster.secure,
            fabric: cluster.fabric.as_ref().map(ToString::to_string),
            epoch: cluster.epoch,
            policy: cluster.policy,
            partitions: cluster.partitions,
            chunk_bytes: cluster.chunk_bytes,
            servers: self.server_rows(connection, cluster)?,
            backing: BackingReport::of(
                cluster,
                Duration::try_from_secs_f64(self.wait)?.max(LISTING_MAX),
            ),
            path,
            clients: match self.clients {
                true => Some(Caches::of(connection)?.rows(Duration::try_from_secs_f64(self.wait)?)),
                false => None,
            },
        })
    }

    fn server_rows(
        &self,
        connection: &Connection,
        cluster: &Cluster,
    ) -> anyhow::Result<Vec<ServerRow>> {
        let mut rows = server_rows(connection, cluster);
        let wait = Duration::try_from_secs_f64(self.wait)?.max(LAUNCHER_MAX);
        let silent = rows
            .iter()
            .filter(|row| !row.up && !row.moving)
            .map(|row| row.server);
        let mut reasons = down::reasons(cluster, &silent.collect::<Vec<_>>(), wait);
        for row in &mut rows {
            row.down = reasons.remove(&row.server);
        }
        Ok(rows)
    }
}

/// On a terminal, where the last one was.
fn on_top(text: &str) -> String {
    match std::io::stdout().is_terminal() {
        true => format!("\x1b[H\x1b[2J{text}"),
        false => format!("{text}\n"),
    }
}

fn server_rows(connection: &Connection, cluster: &Cluster) -> Vec<ServerRow> {
    let answers = connection.statuses();
    let answered = answers
        .iter()
        .filter_map(|(_, answer)| answer.as_ref().ok());
    let opening: BTreeSet<u16> = answered.flat_map(|status| status.opening.clone()).collect();
    let answers = answers.into_iter().zip(&cluster.servers);
    let rows = answers.map(|((id, answer), entry)| {
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
            moving: match &counters {
                Some(counters) => counters.status.process != entry.process,
                None => opening.contains(&id.0) || cluster.is_copied(id),
            },
            since: counters.as_ref().and_then(Counters::since),
            down: None,
            error,
            counters,
        }
    });
    rows.collect()
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

/// The columns for people.
const TITLES: [&str; 9] = [
    "server", "state", "up", "used", "of", "files", "clients", "requests", "address",
];

/// The columns of [`TITLES`].
fn cells(row: &ServerRow) -> Vec<String> {
    let state = match (row.up, row.moving) {
        (_, true) => "moving",
        (true, false) => "up",
        (false, false) => "down",
    };
    let mut cells = vec![row.server.to_string(), state.to_owned()];
    match &row.counters {
        Some(counters) => cells.extend([
            format!("{} s", counters.status.uptime_s as u64),
            output::size(counters.status.used_bytes),
            output::size(counters.status.limit_bytes),
            counters.status.files.to_string(),
            counters.status.sessions.to_string(),
            counters.requests_total.to_string(),
        ]),
        None => cells.extend(vec!["?".to_owned(); 6]),
    }
    let host = row.host.iter().map(|host| format!("{host}, "));
    cells.push(host.chain([row.address.clone()]).collect());
    cells
}

fn text(report: &Report) -> String {
    let secure = if report.secure { ", secure" } else { "" };
    let fabric = report.fabric.as_ref();
    let fabric = fabric.map_or_else(String::new, |provider| format!(", over ofi:{provider}"));
    let mut text = format!("cluster {} ({}){secure}{fabric}\n", report.name, report.id);
    let rows = report.servers.iter().map(cells).collect();
    text += &output::table(&TITLES, &[0, 2, 3, 4, 5, 6, 7], rows);
    for row in &report.servers {
        if let Some(error) = &row.error {
            text += &format!("server {}: {error}\n", row.server);
        }
        if let Some(Down { since, reason }) = &row.down {
            let since = since.as_deref().unwrap_or("an unknown time");
            text += &format!("server {}: down since {since}: {reason}\n", row.server);
        }
    }
    text.extend(report.backing.as_ref().map(BackingReport::text));
    text.extend(report.clients.as_deref().map(caches::text));
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
