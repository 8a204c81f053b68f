//! `futago put`: copies local files into the cluster.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::Exit,
    transfer::{Place, Transfer, Upload},
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::{FileId, Name};
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
        let connection = Connection::open(&self.cluster.load()?)?;
        let mut transfer = Transfer::begin("put")?;
        let into = connection.directory_at(&self.target)?;
        ensure!(
            into.is_some() || self.sources.len() == 1 && !self.target.is_directory_name(),
            "{} is no directory",
            self.target
        );
        if transfer.is_watched() {
            transfer.set_total(
                self.sources
                    .iter()
                    .map(|source| self.size_below(source))
                    .sum(),
            );
        }
        let mut upload = Upload::new(&connection, &mut transfer);
        for source in &self.sources {
            let put = self.put(&connection, &mut upload, source, into);
            // Of one file alone the command fails with the exit code of why.
            match self.sources.len() {
                1 => put?,
                _ => upload.transfer.failures.go_on(put)?,
            }
        }
        transfer.report(self.json)
    }

    fn put(
        &self,
        connection: &Connection,
        upload: &mut Upload<'_>,
        source: &Path,
        into: Option<FileId>,
    ) -> anyhow::Result<()> {
        let (directory, name) = match into {
            Some(directory) => (directory, &last_name(source)?),
            None => {
                let (directory, name) = if self.recursive && source.is_dir() {
                    connection.locate(&self.target)?
                } else {
                    connection.locate_other(&self.target)?
                };
                (directory, &name.clone())
            }
        };
        let to = Place { directory, name };
        if source == Path::new("-") {
            return upload
                .put_stream(std::io::stdin().lock(), to)
                .context("putting standard input");
        }
        let metadata = self.metadata(source);
        let metadata = metadata.with_context(|| format!("putting {}", source.display()))?;
        ensure!(
            self.recursive || !metadata.is_dir(),
            "{} is a directory; add --recursive",
            source.display()
        );
        upload.put(source, &metadata, to)
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

    /// Number of bytes to copy, as far as it can be counted beforehand.
    fn size_below(&self, source: &Path) -> u64 {
        match self.metadata(source) {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(metadata) if metadata.is_dir() => {
                let entries = fs::read_dir(source).into_iter().flatten().flatten();
                entries.map(|entry| self.size_below(&entry.path())).sum()
            }
            _ => 0,
        }
    }
}

fn last_name(source: &Path) -> anyhow::Result<Name> {
    let name = source
        .file_name()
        .with_context(|| format!("{} has no name to keep; say one", source.display()))?;
    Ok(Name::new(name.as_bytes().to_vec())?)
}
