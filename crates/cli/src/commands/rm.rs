//! `futago rm`: removes files.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::Exit,
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::{FileId, Kind, Name};
use serde::Serialize;

/// Arguments of `rm`.
#[derive(Args)]
pub struct Rm {
    #[command(flatten)]
    cluster: ClusterFile,
    /// What to remove.
    #[arg(required = true)]
    paths: Vec<RemotePath>,
    /// Remove directories with everything in them.
    #[arg(short, long)]
    recursive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    removed: u64,
}

impl Rm {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Removes.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        let mut report = Report { removed: 0 };
        for path in &self.paths {
            let (directory, name) = connection.locate(path)?;
            let kind = connection.lookup(path, directory, &name)?.kind;
            ensure!(
                kind != Kind::Directory || self.recursive,
                "{path} is a directory; add --recursive"
            );
            remove(&connection, path, directory, &name, &mut report)?;
        }
        output::print(self.json, &report, |report| {
            format!("{} removed\n", report.removed)
        })?;
        Ok(Exit::Success)
    }
}

fn remove(
    connection: &Connection,
    path: &RemotePath,
    directory: FileId,
    name: &Name,
    report: &mut Report,
) -> anyhow::Result<()> {
    let file = connection.lookup(path, directory, name)?;
    if file.kind == Kind::Directory {
        connection.each_entry(path, file.id, |entry| {
            let below = path.join(entry.name.as_bytes());
            remove(connection, &below, file.id, &entry.name, report)
        })?;
        connection.remove_directory(directory, name)
    } else {
        connection.unlink(directory, name)
    }
    .with_context(|| format!("removing {path}"))?;
    report.removed += 1;
    Ok(())
}
