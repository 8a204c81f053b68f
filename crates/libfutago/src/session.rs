//! The connection of the process, and its file mode creation mask.

use futago_node::{Options, blocking::FileSystem};
use futago_posix::{cluster_file, log, process};
use procfs::process::Process;
use std::{
    env, io,
    path::Path,
    sync::atomic::{AtomicU16, Ordering},
};
use tracing::level_filters::LevelFilter;

/// The mask of a process whose own one cannot be read.
const UMASK: u16 = 0o022;

static CURRENT_UMASK: AtomicU16 = AtomicU16::new(UMASK);

/// Connects to the cluster of a file, unless the process is connected.
///
/// # Errors
/// Those of reading the file and of connecting.
pub fn begin(file: &Path) -> io::Result<()> {
    if process::is_connected() {
        return Ok(());
    }
    let level = env::var("FUTAGO_LOG")
        .ok()
        .and_then(|level| level.parse().ok());
    log::start(level.unwrap_or(LevelFilter::WARN));
    CURRENT_UMASK.store(umask_of_process().unwrap_or(UMASK), Ordering::Relaxed);
    let options = Options {
        leases: true,
        ..Options::default()
    };
    process::connect(&cluster_file::load(file)?, options)
}

/// The mask of the process. `umask` itself would change it while other threads create files.
fn umask_of_process() -> Option<u16> {
    let status = Process::myself().ok()?.status().ok()?;
    Some((status.umask? & 0o777) as u16)
}

/// The client, with the mask.
///
/// # Errors
/// `ENOTCONN` without a connection; in a child, those of connecting.
pub fn files() -> io::Result<FileSystem> {
    Ok(process::files()?.with_umask(CURRENT_UMASK.load(Ordering::Relaxed)))
}

/// Sets the mask and returns the one before it.
pub fn set_umask(mask: u16) -> u16 {
    CURRENT_UMASK.swap(mask & 0o777, Ordering::Relaxed)
}
