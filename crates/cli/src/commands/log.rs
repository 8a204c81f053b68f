//! `futago log`: prints the logs of servers and mounts.

use crate::{
    cluster::{ClusterFile, runtime_directory, spawn},
    exit::Exit,
    output,
};
use anyhow::Context;
use clap::Args;
use futago_node::Cluster;
use serde::Serialize;
use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

/// Arguments of `log`.
///
/// Logs are on the host where `futago up` ran; the log of a mount is on the host of the mount. Each
/// line begins with the name of its process.
#[derive(Args)]
pub struct Log {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Print the log of the process of this server only.
    #[arg(long, value_name = "N")]
    server: Option<u16>,
    /// Continue as logs grow, until interrupted.
    #[arg(short, long)]
    follow: bool,
    /// Print where the logs are, as JSON, and not what is in them.
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

/// How often logs are looked at again.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Serialize)]
struct Place {
    source: String,
    path: PathBuf,
    bytes: u64,
}

impl Log {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Prints the logs.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interrupted = spawn::interruption()?;
        let cluster = self.cluster.load()?;
        let paths = self.paths(&cluster)?;
        if self.json {
            let places: Vec<Place> = paths.iter().map(|path| place(path)).collect();
            output::print(true, &places, |_| String::new())?;
            return Ok(Exit::Success);
        }
        let mut tails = Vec::new();
        loop {
            self.find_new(&cluster, &mut tails)?;
            for tail in &mut tails {
                tail.print_new()?;
            }
            if !self.follow {
                return Ok(Exit::Success);
            }
            spawn::sleep(PAUSE, &interrupted)?;
        }
    }

    /// The logs that are there.
    fn paths(&self, cluster: &Cluster) -> anyhow::Result<Vec<PathBuf>> {
        let directory = runtime_directory::of(cluster);
        if let Some(server) = self.server {
            let entry = cluster.servers.get(usize::from(server));
            let entry = entry.with_context(|| format!("there is no server {server}"))?;
            return Ok(vec![
                directory.join(format!("server-{}.log", entry.process)),
            ]);
        }
        let listed = fs::read_dir(&directory);
        let listed =
            listed.with_context(|| format!("looking for logs in {}", directory.display()))?;
        let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        paths.sort();
        Ok(paths)
    }

    /// Mounts may have come meanwhile.
    fn find_new(&self, cluster: &Cluster, tails: &mut Vec<Tail>) -> anyhow::Result<()> {
        for path in self.paths(cluster)? {
            if tails.iter().all(|tail| tail.path != path) {
                tails.push(Tail::open(path)?);
            }
        }
        Ok(())
    }
}

fn place(path: &Path) -> Place {
    Place {
        source: source(path),
        path: path.to_owned(),
        bytes: fs::metadata(path).map_or(0, |metadata| metadata.len()),
    }
}

fn source(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    output::escape_path(Path::new(stem))
}

/// A log, and how far it was printed.
struct Tail {
    path: PathBuf,
    file: BufReader<File>,
    /// The beginning of a line that is not whole yet.
    line: Vec<u8>,
}

impl Tail {
    fn open(path: PathBuf) -> anyhow::Result<Self> {
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        Ok(Self {
            path,
            file: BufReader::new(file),
            line: Vec::new(),
        })
    }

    fn print_new(&mut self) -> anyhow::Result<()> {
        while self.file.read_until(b'\n', &mut self.line)? > 0 {
            if self.line.ends_with(b"\n") {
                let prefix = format!("{}: ", source(&self.path)).into_bytes();
                output::write_all(&[prefix, std::mem::take(&mut self.line)].concat())?;
            }
        }
        Ok(())
    }
}
