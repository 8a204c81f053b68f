//! `futago put`: copies local files into the cluster.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    transfer::{self, Plan, Transfer, put_stream},
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_staging::{Direction, Found, Item};
use std::{
    fs::{self, Metadata},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Arguments of `put`.
///
/// A copy keeps permissions, times of modification, extended attributes, holes and, if root copies,
/// owners. Each file gets its name when it is complete.
#[derive(Args)]
pub struct Put {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Local files; `-` is standard input.
    #[arg(required = true)]
    sources: Vec<PathBuf>,
    /// Where to: a directory of the cluster, or the new name of a single file.
    target: RemotePath,
    /// Copy directories with everything in them; keep symbolic links and hard links.
    #[arg(short, long)]
    recursive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Put {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Copies.
    pub fn run(self) -> anyhow::Result<Exit> {
        let cluster = self.cluster.load()?;
        let connection = Connection::open(&cluster)?;
        let transfer = Transfer::begin(&cluster, "put")?;
        let is_directory = connection.directory_at(&self.target)?.is_some();
        ensure!(
            is_directory || self.sources.len() == 1 && !self.target.is_directory_name(),
            "{} is no directory",
            self.target
        );
        if self.sources == [Path::new("-")] {
            let target = self.target_of(Path::new("-"), is_directory)?;
            connection.locate_other(&target)?;
            let put = put_stream(&transfer, std::io::stdin().lock(), &target);
            return transfer.conclude_stream(put.context("putting standard input")?, self.json);
        }
        let mut failures = Failures::default();
        let mut items = Vec::new();
        for source in &self.sources {
            let item = self.item(&connection, source, is_directory);
            let item = item.with_context(|| format!("putting {}", source.display()));
            // Of one file alone the command fails with the exit code of why.
            match self.sources.len() {
                1 => items.push(item?),
                _ => failures.go_on(item.map(|item| items.push(item)))?,
            }
        }
        let report = transfer.run(&Plan::plain(Direction::In), items)?;
        transfer::conclude(&report, &failures, self.json)
    }

    fn item(
        &self,
        connection: &Connection,
        source: &Path,
        is_directory: bool,
    ) -> anyhow::Result<Item> {
        let metadata = self.metadata(source)?;
        ensure!(
            self.recursive || metadata.is_file(),
            "{} is no regular file; add --recursive",
            source.display()
        );
        let target = self.target_of(source, is_directory)?;
        if !metadata.is_dir() {
            connection.locate_other(&target)?;
        }
        // A link that is followed, and those on the way to it, are not part of the copy.
        let source = match metadata.is_symlink() {
            true => std::path::absolute(source)?,
            false => fs::canonicalize(source)?,
        };
        Ok(Item {
            source: source.as_path().into(),
            target,
            metadata: (&metadata).into(),
            found: Found::Other,
        })
    }

    /// The path of a source's copy.
    fn target_of(&self, source: &Path, is_directory: bool) -> anyhow::Result<RemotePath> {
        Ok(match is_directory {
            true => self.target.join(last_name(source)?),
            false => self.target.clone(),
        })
    }

    /// Metadata of a source. `--recursive` does not follow a link, unless its path ends in a
    /// slash.
    fn metadata(&self, source: &Path) -> std::io::Result<Metadata> {
        if self.recursive && !source.as_os_str().as_bytes().ends_with(b"/") {
            fs::symlink_metadata(source)
        } else {
            fs::metadata(source)
        }
    }
}

fn last_name(source: &Path) -> anyhow::Result<&[u8]> {
    let name = source.file_name();
    let name = name.with_context(|| format!("{} has no name to keep; say one", source.display()));
    Ok(name?.as_bytes())
}
