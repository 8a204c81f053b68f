//! The file that names the cluster.

use futago_node::{
    Cluster,
    cluster::{ClusterError, Reason},
};
use std::{io, path::Path};

/// Loads a cluster file.
///
/// # Errors
/// That of reading the file; `InvalidInput` for one that is not valid.
pub fn load(file: &Path) -> io::Result<Cluster> {
    Cluster::load(file).map_err(unusable)
}

/// The error for a cluster file that cannot be used.
fn unusable(error: ClusterError) -> io::Error {
    let kind = match &error.reason {
        Reason::Io(failed) => failed.kind(),
        _ => io::ErrorKind::InvalidInput,
    };
    io::Error::new(kind, error)
}
