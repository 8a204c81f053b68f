//! `futago warm`: reads files into the caches of clients.

use crate::{
    caches::{Caches, name_of},
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
};
use anyhow::{anyhow, bail, ensure};
use clap::Args;
use futago_base::{Attributes, FileId, Kind};
use futago_wire::{CacheReply, CacheRequest, Holder};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::{
    io::{self, IsTerminal},
    sync::Arc,
    time::{Duration, Instant},
};

/// So much of a file is asked for at once.
const PART_BYTES: u64 = 64 << 20;
/// How long a client may take for that.
const PART_MAX: Duration = Duration::from_secs(600);

/// Arguments of `warm`.
///
/// The clients read from each other, so the servers send about one copy. A file that is larger than
/// a client's cache is only partly in it in the end.
#[derive(Args)]
pub struct Warm {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Files, and directories with everything in them.
    #[arg(required = true)]
    paths: Vec<RemotePath>,
    /// How many clients, of those that share their caches: `all` or a number.
    #[arg(long, value_name = "all|N", default_value = "all", value_parser = parse_clients)]
    clients: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn parse_clients(text: &str) -> Result<usize, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(usize::MAX),
        (_, Ok(number)) if number > 0 => Ok(number),
        _ => Err("write all or a number".into()),
    }
}

#[derive(Serialize)]
struct Report {
    files: usize,
    clients: usize,
    /// The size of all files.
    bytes: u64,
    /// The data in the caches of all clients in the end.
    cached_bytes: u64,
    seconds: f64,
}

impl Warm {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Has the clients read. Ends with 1 if a cache is too small or a client fails.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        let files = files(&connection, &self.paths)?;
        let mut caches = Caches::of(&connection)?;
        caches.truncate(self.clients);
        ensure!(
            !caches.clients().is_empty(),
            "no client shares its cache; start the cluster with futago up --cooperative on, and mount it"
        );
        let begun = Instant::now();
        let bytes: u64 = files.iter().map(|file| file.size).sum();
        let warming = Warming {
            caches: &caches,
            bar: bar(self.json, bytes * caches.clients().len() as u64),
        };
        let loaded = caches.each(|client| warming.load_all(client, &files));
        warming.bar.finish_and_clear();
        let (mut cached_bytes, mut failures) = (0, Failures::default());
        for (client, loaded) in caches.clients().iter().zip(loaded) {
            match loaded {
                Ok(loaded) => {
                    cached_bytes += loaded;
                    failures.go_on(is_all(client, loaded, bytes))?;
                }
                Err(error) => failures.go_on(Err(error))?,
            }
        }
        let report = Report {
            files: files.len(),
            clients: caches.clients().len(),
            bytes,
            cached_bytes,
            seconds: begun.elapsed().as_secs_f64(),
        };
        output::print(self.json, &report, text)?;
        Ok(failures.exit())
    }
}

/// Fails if a cache has less than all.
fn is_all(client: &Holder, loaded: u64, bytes: u64) -> anyhow::Result<()> {
    let (has, all) = (output::size(loaded), output::size(bytes));
    ensure!(
        loaded >= bytes,
        "{} has {has} of {all}: its cache is smaller, or the files are being changed",
        name_of(client)
    );
    Ok(())
}

fn bar(json: bool, bytes: u64) -> ProgressBar {
    if json || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bytes}/{total_bytes} {bytes_per_sec} {wide_bar}");
    let bar = ProgressBar::new(bytes);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

struct Warming<'a> {
    caches: &'a Caches<'a>,
    bar: ProgressBar,
}

impl Warming<'_> {
    /// Has a client read all files. Returns how much of them it has then.
    fn load_all(&self, client: &Arc<Holder>, files: &[Attributes]) -> anyhow::Result<u64> {
        let loaded = files.iter().map(|file| self.load(client, file));
        loaded.sum()
    }

    fn load(&self, client: &Arc<Holder>, file: &Attributes) -> anyhow::Result<u64> {
        let mut loaded = 0;
        for offset in (0..file.size).step_by(PART_BYTES as usize) {
            let length = PART_BYTES.min(file.size - offset);
            loaded += self.load_part(client, file.id, offset, length)?;
            self.bar.inc(length);
        }
        Ok(loaded)
    }

    fn load_part(
        &self,
        client: &Arc<Holder>,
        file: FileId,
        offset: u64,
        length: u64,
    ) -> anyhow::Result<u64> {
        let request = CacheRequest::Load {
            file,
            offset,
            length,
        };
        match self.caches.ask(client, request, PART_MAX)? {
            CacheReply::Loaded(Ok(bytes)) => Ok(bytes),
            CacheReply::Loaded(Err(errno)) => {
                let name = name_of(client);
                Err(anyhow!("{name}: {errno} ({})", errno.name()))
            }
            _ => bail!("{} gives no sensible answer", name_of(client)),
        }
    }
}

/// The regular files that paths lead to.
pub fn files(connection: &Connection, paths: &[RemotePath]) -> anyhow::Result<Vec<Attributes>> {
    let mut files = Vec::new();
    for path in paths {
        let found = connection.resolve(path)?;
        add(connection, path, found, &mut files)?;
    }
    Ok(files)
}

fn add(
    connection: &Connection,
    path: &RemotePath,
    found: Attributes,
    files: &mut Vec<Attributes>,
) -> anyhow::Result<()> {
    match found.kind {
        Kind::File => files.push(found),
        Kind::Directory => connection.each_entry(path, found.id, |entry| {
            let path = path.join(entry.name.as_bytes());
            let found = connection.attributes(&path)?;
            add(connection, &path, found, files)
        })?,
        _ => {}
    }
    Ok(())
}

fn text(report: &Report) -> String {
    format!(
        "{} files of {} in the caches of {} clients in {:.1} s\n",
        report.files,
        output::size(report.bytes),
        report.clients,
        report.seconds
    )
}
