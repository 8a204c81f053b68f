//! `futago get`: copies files out of the cluster.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    transfer::{self, Plan, Transfer, get_into},
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::{Attributes, Kind, Name};
use futago_staging::{Direction, Found, Item};
use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Arguments of `get`.
///
/// A copy keeps permissions, times of modification, extended attributes, holes and, if root copies,
/// owners. Each file gets its name when it is complete.
#[derive(Args)]
pub struct Get {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Files of the cluster.
    #[arg(required = true)]
    sources: Vec<RemotePath>,
    /// Where to: a local directory, or the new name of a single file.
    target: PathBuf,
    /// Copy directories with everything in them; keep symbolic links and hard links.
    #[arg(short, long)]
    recursive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Get {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Copies.
    pub fn run(self) -> anyhow::Result<Exit> {
        let cluster = self.cluster.load()?;
        let connection = Connection::open(&cluster)?;
        let transfer = Transfer::begin(&cluster, "get")?;
        let (is_directory, named) = (self.target.is_dir(), self.target.as_os_str().as_bytes());
        ensure!(
            is_directory || self.sources.len() == 1 && !named.ends_with(b"/"),
            "{} is no directory",
            self.target.display()
        );
        if let [source] = &self.sources[..]
            && let Some(target) = special(&self.target)
        {
            let file = connection.resolve_file(source)?;
            let opened = File::options().write(true).open(target);
            let got = get_into(&transfer, &connection, source, &file, opened?);
            let got = got.with_context(|| format!("getting {source}"))?;
            return transfer.conclude_stream(got, self.json);
        }
        let mut failures = Failures::default();
        let mut items = Vec::new();
        for source in &self.sources {
            let item = self.item(&connection, source);
            let item = item.with_context(|| format!("getting {source}"));
            // Of one file alone the command fails with the exit code of why.
            match self.sources.len() {
                1 => items.push(item?),
                _ => failures.go_on(item.map(|item| items.push(item)))?,
            }
        }
        let report = transfer.run(&Plan::plain(Direction::Out), items)?;
        transfer::conclude(&report, &failures, self.json)
    }

    fn item(&self, connection: &Connection, source: &RemotePath) -> anyhow::Result<Item> {
        let file = self.attributes(connection, source)?;
        ensure!(
            self.recursive || file.kind != Kind::Directory,
            "{source} is a directory; add --recursive"
        );
        let target = match source.last_name() {
            Some(name) if self.target.is_dir() => self.target.join(OsStr::from_bytes(name)),
            _ => self.target.clone(),
        };
        let target = std::path::absolute(followed(target))?;
        Ok(Item {
            source: source.clone(),
            target: target.as_path().into(),
            metadata: (&file).into(),
            found: Found::Other,
        })
    }

    /// Attributes of a source. `--recursive` follows no link, unless its path ends in
    /// a slash.
    fn attributes(
        &self,
        connection: &Connection,
        source: &RemotePath,
    ) -> anyhow::Result<Attributes> {
        if !self.recursive || source.is_directory_name() {
            return connection.resolve(source);
        }
        let (directory, name): (_, Name) = connection.locate(source)?;
        connection.lookup(source, directory, &name)
    }
}

/// The target if it exists and is neither file nor directory: a device is written to, not replaced.
fn special(target: &Path) -> Option<&Path> {
    let found = fs::metadata(target).ok()?;
    (!found.is_file() && !found.is_dir()).then_some(target)
}

/// Follows a symbolic link to a file, so that the copy replaces the file and not the link.
fn followed(target: PathBuf) -> PathBuf {
    if target.is_symlink() && target.is_file() {
        return fs::canonicalize(&target).unwrap_or(target);
    }
    target
}
