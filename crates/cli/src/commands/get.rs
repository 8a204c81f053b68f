//! `futago get`: copies files out of the cluster.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::Exit,
    transfer::{Download, Transfer},
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::{Attributes, Kind, Name};
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
        let connection = Connection::open(&self.cluster.load()?)?;
        let mut transfer = Transfer::begin("get")?;
        let (is_directory, named) = (self.target.is_dir(), self.target.as_os_str().as_bytes());
        ensure!(
            is_directory || self.sources.len() == 1 && !named.ends_with(b"/"),
            "{} is no directory",
            self.target.display()
        );
        if transfer.is_watched() {
            let sizes = self.sources.iter();
            transfer.set_total(sizes.map(|source| self.size(&connection, source)).sum());
        }
        let mut download = Download::new(&connection, &mut transfer);
        for source in &self.sources {
            let got = self.get(&connection, &mut download, source);
            // Of one file alone the command fails with the exit code of why.
            match self.sources.len() {
                1 => got?,
                _ => download.transfer.failures.go_on(got)?,
            }
        }
        transfer.report(self.json)
    }

    fn get(
        &self,
        connection: &Connection,
        download: &mut Download<'_>,
        source: &RemotePath,
    ) -> anyhow::Result<()> {
        let file = self.attributes(connection, source)?;
        ensure!(
            self.recursive || file.kind != Kind::Directory,
            "{source} is a directory; add --recursive"
        );
        let target = match source.last_name() {
            Some(name) if self.target.is_dir() => self.target.join(OsStr::from_bytes(name)),
            _ => self.target.clone(),
        };
        match special(&target) {
            Some(target) if file.kind == Kind::File => {
                let opened = File::options().write(true).open(target);
                download.get_into(source, &file, opened?)
            }
            _ => download.get(source, &file, &followed(target)),
        }
        .with_context(|| format!("getting {source}"))
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

    /// Number of bytes to copy, as far as it can be counted beforehand.
    fn size(&self, connection: &Connection, source: &RemotePath) -> u64 {
        let file = self.attributes(connection, source);
        file.map_or(0, |file| size_below(connection, source, &file))
    }
}

fn size_below(connection: &Connection, path: &RemotePath, file: &Attributes) -> u64 {
    match file.kind {
        Kind::File => file.size,
        Kind::Directory => {
            let mut size = 0;
            let listed = connection.each_entry(path, file.id, |entry| {
                if let Some(attributes) = &entry.attributes {
                    size += size_below(connection, &path.join(entry.name.as_bytes()), attributes);
                }
                Ok(())
            });
            listed.map_or(0, |()| size)
        }
        _ => 0,
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
