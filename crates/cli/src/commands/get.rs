//! `futago get`: copies files out of the cluster.

use super::put::Copied;
use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::{Exit, Failures},
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::{Attributes, Kind};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

/// Arguments of `get`.
#[derive(Args)]
pub struct Get {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Files of the cluster.
    #[arg(required = true)]
    sources: Vec<RemotePath>,
    /// Where to: a local directory, or the new name of a single file.
    target: PathBuf,
    /// Copy directories with everything in them.
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
        let mut copied = Copied::default();
        let mut failures = Failures::default();
        let into = self.target.is_dir();
        ensure!(
            into || self.sources.len() == 1,
            "{} is no directory, so only one file can be put there",
            self.target.display()
        );
        for source in &self.sources {
            let target = match source.last_name() {
                Some(name) if into => self.target.join(OsStr::from_bytes(name)),
                _ => self.target.clone(),
            };
            let file = connection.resolve(source)?;
            let mut progress = Progress {
                copied: &mut copied,
                failures: &mut failures,
            };
            let got = self.get(&connection, source, &file, &target, &mut progress);
            failures.go_on(got)?;
        }
        output::print(self.json, &copied, Copied::text)?;
        Ok(failures.exit())
    }

    fn get(
        &self,
        connection: &Connection,
        source: &RemotePath,
        file: &Attributes,
        target: &Path,
        progress: &mut Progress<'_>,
    ) -> anyhow::Result<()> {
        match file.kind {
            Kind::Directory => self.get_directory(connection, source, file, target, progress),
            Kind::File => get_file(connection, source, file, target, progress.copied),
            kind => {
                output::notice(format_args!(
                    "futago: {source} is a {kind:?} and is not copied"
                ));
                Ok(())
            }
        }
    }

    fn get_directory(
        &self,
        connection: &Connection,
        source: &RemotePath,
        file: &Attributes,
        target: &Path,
        progress: &mut Progress<'_>,
    ) -> anyhow::Result<()> {
        ensure!(self.recursive, "{source} is a directory; add --recursive");
        if !target.is_dir() {
            fs::create_dir(target).with_context(|| format!("making {}", target.display()))?;
        }
        progress.copied.directories += 1;
        connection.each_entry(source, file.id, |entry| {
            let name = entry.name.as_bytes();
            let (path, below) = (source.join(name), target.join(OsStr::from_bytes(name)));
            let got = match connection.listed(&path, file.id, entry) {
                Ok(Some(attributes)) => self.get(connection, &path, &attributes, &below, progress),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            progress.failures.go_on(got)
        })
    }
}

/// How far a copy has come.
struct Progress<'a> {
    copied: &'a mut Copied,
    /// What cannot be had does not keep the rest.
    failures: &'a mut Failures,
}

fn get_file(
    connection: &Connection,
    source: &RemotePath,
    file: &Attributes,
    target: &Path,
    copied: &mut Copied,
) -> anyhow::Result<()> {
    let context = || format!("writing {}", target.display());
    let mut output = File::create(target).with_context(context)?;
    let bar = output::progress(file.size, "get");
    connection.read_all(source, file, |data| {
        output.write_all(data).with_context(context)?;
        copied.bytes += data.len() as u64;
        bar.inc(data.len() as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    let mode = fs::Permissions::from_mode(u32::from(file.mode) & 0o777);
    output.set_permissions(mode).with_context(context)?;
    copied.files += 1;
    Ok(())
}
