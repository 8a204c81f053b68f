//! `futago pin` and `futago unpin`: what the caches of clients keep in preference to other files.

use super::warm::files;
use crate::{
    caches::Caches,
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
};
use clap::Args;
use futago_base::Attributes;
use futago_wire::{CacheRequest, Holder};
use serde::Serialize;
use std::{sync::Arc, time::Duration};

/// How long a client may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Arguments of `pin`.
///
/// All clients that share their caches now evict these files after all others, until they are
/// unpinned or the clients end. Nothing is read: `futago warm` does that.
#[derive(Args)]
pub struct Pin {
    #[command(flatten)]
    pinned: Pinned,
}

/// Arguments of `unpin`.
///
/// The files are evicted like all others again.
#[derive(Args)]
pub struct Unpin {
    #[command(flatten)]
    pinned: Pinned,
}

#[derive(Args)]
struct Pinned {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Files, and directories with everything in them.
    #[arg(required = true)]
    paths: Vec<RemotePath>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    files: usize,
    clients: usize,
}

impl Pin {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.pinned.json
    }

    /// Pins.
    pub fn run(self) -> anyhow::Result<Exit> {
        self.pinned.run(true)
    }
}

impl Unpin {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.pinned.json
    }

    /// Unpins.
    pub fn run(self) -> anyhow::Result<Exit> {
        self.pinned.run(false)
    }
}

impl Pinned {
    fn run(self, is_pinned: bool) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        let files = files(&connection, &self.paths)?;
        let caches = Caches::of(&connection)?;
        let mut failures = Failures::default();
        for done in caches.each(|client| pin(&caches, client, &files, is_pinned)) {
            failures.go_on(done)?;
        }
        let report = Report {
            files: files.len(),
            clients: caches.clients().len(),
        };
        output::print(self.json, &report, |report| {
            format!("{} files, {} clients\n", report.files, report.clients)
        })?;
        Ok(failures.exit())
    }
}

fn pin(
    caches: &Caches<'_>,
    client: &Arc<Holder>,
    files: &[Attributes],
    is_pinned: bool,
) -> anyhow::Result<()> {
    for file in files {
        let file = file.id;
        caches.ask(client, CacheRequest::Pin { file, is_pinned }, ANSWER_MAX)?;
    }
    Ok(())
}
