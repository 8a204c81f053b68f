//! `futago umount`: takes a mount away.

use crate::{
    cluster::mounts,
    exit::{Exit, Problem},
    output,
};
use anyhow::Context;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `umount`.
#[derive(Args)]
pub struct Umount {
    /// The directory.
    directory: PathBuf,
    /// Take it away also if it is in use; open files work until they are closed.
    #[arg(long)]
    lazy: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    unmounted: String,
}

impl Umount {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Unmounts.
    pub fn run(self) -> anyhow::Result<Exit> {
        let path = mounts::absolute(&self.directory)?;
        if !mounts::is_mounted(&path) {
            let message = format!("no Futago file system is mounted at {}", path.display());
            return Err(Problem::error(Exit::Failed, message));
        }
        mounts::unmount(&path, self.lazy).context(
            "the mount stays; end the programs that use it (fuser -vm shows them) or add --lazy",
        )?;
        let unmounted = output::escape_path(&path);
        output::print(self.json, &Report { unmounted }, |report| {
            format!("unmounted {}\n", report.unmounted)
        })?;
        Ok(Exit::Success)
    }
}
