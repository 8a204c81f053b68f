//! `futago put`: copies local files into the cluster.

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
use std::{
    fs::{self, File},
    io::Read,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// Arguments of `put`.
#[derive(Args)]
pub struct Put {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Local files; `-` is standard input.
    #[arg(required = true)]
    sources: Vec<PathBuf>,
    /// Where to: a directory of the cluster, or the new name of a single file.
    target: RemotePath,
    /// Copy directories with everything in them.
    #[arg(short, long)]
    recursive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was copied.
#[derive(Default, Serialize)]
pub struct Copied {
    /// Files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Bytes of data.
    pub bytes: u64,
}

impl Copied {
    /// For people.
    pub fn text(&self) -> String {
        format!(
            "{} file(s), {} director(y/ies), {}\n",
            self.files,
            self.directories,
            output::size(self.bytes)
        )
    }
}

/// How much is read at once.
const BUFFER_BYTES: usize = 1 << 20;

impl Put {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Copies.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        let mut copied = Copied::default();
        let into = connection.directory_at(&self.target)?;
        ensure!(
            into.is_some() || self.sources.len() == 1,
            "{} is no directory, so only one file can be put there",
            self.target
        );
        for source in &self.sources {
            let (directory, name) = match into {
                Some(directory) => (directory, last_name(source)?),
                None => connection.locate(&self.target)?,
            };
            self.put(&connection, source, directory, &name, &mut copied)?;
        }
        output::print(self.json, &copied, Copied::text)?;
        Ok(Exit::Success)
    }

    fn put(
        &self,
        connection: &Connection,
        source: &Path,
        directory: FileId,
        name: &Name,
        copied: &mut Copied,
    ) -> anyhow::Result<()> {
        let context = || format!("putting {}", source.display());
        if source == Path::new("-") {
            return put_data(
                connection,
                &mut std::io::stdin().lock(),
                0,
                0o644,
                directory,
                name,
                copied,
            )
            .with_context(context);
        }
        let metadata = fs::metadata(source).with_context(context)?;
        let mode = (metadata.mode() & 0o7777) as u16;
        if metadata.is_dir() {
            ensure!(
                self.recursive,
                "{} is a directory; add --recursive",
                source.display()
            );
            let id = connection
                .make_directory(directory, name, mode)
                .with_context(context)?;
            copied.directories += 1;
            for entry in fs::read_dir(source).with_context(context)? {
                let entry = entry.with_context(context)?;
                let name = Name::new(entry.file_name().as_bytes().to_vec())?;
                self.put(connection, &entry.path(), id, &name, copied)?;
            }
            return Ok(());
        }
        let mut file = File::open(source).with_context(context)?;
        put_data(
            connection,
            &mut file,
            metadata.len(),
            mode,
            directory,
            name,
            copied,
        )
        .with_context(context)
    }
}

fn last_name(source: &Path) -> anyhow::Result<Name> {
    let name = source
        .file_name()
        .with_context(|| format!("{} has no name to keep; say one", source.display()))?;
    Ok(Name::new(name.as_bytes().to_vec())?)
}

fn put_data(
    connection: &Connection,
    source: &mut dyn Read,
    length: u64,
    mode: u16,
    directory: FileId,
    name: &Name,
    copied: &mut Copied,
) -> anyhow::Result<()> {
    let bar = output::progress(length, "put");
    let file = connection.create_or_empty(directory, name, mode)?;
    ensure!(
        file.kind == Kind::File,
        "{name} exists and is no regular file"
    );
    let mut offset = 0;
    loop {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        source.take(BUFFER_BYTES as u64).read_to_end(&mut buffer)?;
        if buffer.is_empty() {
            break;
        }
        let length = buffer.len() as u64;
        connection.write(file.id, offset, buffer)?;
        offset += length;
        bar.inc(length);
    }
    bar.finish_and_clear();
    copied.files += 1;
    copied.bytes += offset;
    Ok(())
}
