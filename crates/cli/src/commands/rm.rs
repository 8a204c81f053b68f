//! `futago rm`: removes files.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::{FileId, Name};
use serde::Serialize;

/// Arguments of `rm`.
#[derive(Args)]
pub struct Rm {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Paths to remove.
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
        let mut removal = Removal {
            connection: &connection,
            recursive: self.recursive,
            removed: 0,
            failures: Failures::default(),
        };
        for path in &self.paths {
            let removed = removal.remove_named(path);
            // The removal of one name alone fails with its own exit code.
            if self.paths.len() == 1 && removal.failures.is_empty() {
                removed?;
            } else {
                removal.failures.go_on(removed)?;
            }
        }
        let report = Report {
            removed: removal.removed,
        };
        output::print(self.json, &report, |report| {
            format!("{} removed\n", report.removed)
        })?;
        Ok(removal.failures.exit())
    }
}

/// A removal under way.
struct Removal<'a> {
    connection: &'a Connection,
    recursive: bool,
    removed: u64,
    /// A path that cannot be removed does not keep the rest.
    failures: Failures,
}

impl Removal<'_> {
    fn remove_named(&mut self, path: &RemotePath) -> anyhow::Result<()> {
        if path.last_name().is_none() {
            return self.empty_root(path);
        }
        let (directory, name) = self.connection.locate_other(path)?;
        let removed = self.try_remove(path, directory, &name);
        removed.with_context(|| format!("removing {path}"))
    }

    /// Removes everything; the root itself is always there.
    fn empty_root(&mut self, path: &RemotePath) -> anyhow::Result<()> {
        ensure!(self.recursive, "{path} is a directory; add --recursive");
        let root = self.connection.resolve(path)?;
        let connection = self.connection;
        connection.each_entry(path, root.id, |entry| {
            self.remove(&path.join(entry.name.as_bytes()), root.id, &entry.name)
        })?;
        output::notice("futago: the root directory is emptied and stays");
        Ok(())
    }

    fn remove(&mut self, path: &RemotePath, directory: FileId, name: &Name) -> anyhow::Result<()> {
        let removed = self.try_remove(path, directory, name);
        self.failures
            .go_on(removed.with_context(|| format!("removing {path}")))
    }

    /// The server of a file may be gone: its name is removed without asking what it is.
    fn try_remove(
        &mut self,
        path: &RemotePath,
        directory: FileId,
        name: &Name,
    ) -> anyhow::Result<()> {
        if !self.connection.unlink(path, directory, name)? {
            ensure!(self.recursive, "it is a directory; add --recursive");
            self.empty(path, directory, name)?;
            self.connection.remove_directory(directory, name)?;
        }
        self.removed += 1;
        Ok(())
    }

    fn empty(&mut self, path: &RemotePath, directory: FileId, name: &Name) -> anyhow::Result<()> {
        let connection = self.connection;
        let id = connection.lookup(path, directory, name)?.id;
        connection.each_entry(path, id, |entry| {
            self.remove(&path.join(entry.name.as_bytes()), id, &entry.name)
        })
    }
}
