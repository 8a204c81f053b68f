//! `futago cat`: writes files to standard output.

use crate::{
    cluster::ClusterFile,
    connection::{Connection, RemotePath},
    exit::Exit,
    output,
};
use clap::Args;

/// Arguments of `cat`.
#[derive(Args)]
pub struct Cat {
    #[command(flatten)]
    cluster: ClusterFile,
    /// The files.
    #[arg(required = true)]
    paths: Vec<RemotePath>,
}

impl Cat {
    /// Contents are no figures.
    pub const fn json(&self) -> bool {
        false
    }

    /// Copies.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        for path in &self.paths {
            let file = connection.resolve_file(path)?;
            connection.read_all(path, &file, output::write_all)?;
        }
        Ok(Exit::Success)
    }
}
