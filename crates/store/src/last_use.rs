//! How a directory was last used, so that a loss of power since is noticed.
//!
//! An empty file has a name that says it. As long as the system has not restarted, all that was
//! handed to it is there again.

use crate::{Directory, StoreError, Sync};
use std::io;

/// The name of a directory in which everything is synchronized.
const CLOSED: &str = "closed";
/// The first part of names if nothing was confirmed that was not durable, and otherwise. The
/// identity of the system's present run follows.
const ALWAYS: &str = "always-";
const PROCESS: &str = "process-";
/// In the place of a run's identity: a synchronization has failed.
const DOUBTED: &str = "doubted";

/// Whether something may be missing in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// The system has restarted, or a synchronization has failed, so what was not synchronized may
    /// be lost.
    pub may_have_losses: bool,
    /// A synchronization may have failed. Files may show what the disk does not have, and the
    /// system does not write it again.
    pub is_doubted: bool,
    /// Clients may have seen what is lost.
    pub was_confirmed: bool,
}

impl LastUse {
    /// Of a directory that has a log.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(directory: &dyn Directory) -> Result<Self, StoreError> {
        let names = names(directory)?;
        let run = directory.run_of_system();
        let is_whole = |name: &String| {
            let of_run = [ALWAYS, PROCESS].map(|sync| format!("{sync}{run}"));
            *name == CLOSED || of_run.contains(name)
        };
        // Without a name, the first synchronization may have failed.
        let is_doubted = names.is_empty() || names.iter().any(|name| name.ends_with(DOUBTED));
        let may_have_losses = is_doubted || !names.iter().any(is_whole);
        Ok(Self {
            may_have_losses,
            is_doubted,
            was_confirmed: may_have_losses
                && (names.is_empty() || names.iter().any(|name| may_confirm(name))),
        })
    }
}

/// Whether clients may see under this name what is not durable.
fn may_confirm(name: &str) -> bool {
    name.starts_with(PROCESS)
}

/// Notes that a directory is used now. The losses of an earlier run must be settled before.
///
/// # Errors
/// Those of the directory.
pub fn begin(directory: &dyn Directory, sync: Sync) -> Result<(), StoreError> {
    let mode = match sync {
        Sync::Always => ALWAYS,
        Sync::Process => PROCESS,
    };
    // Clients may have seen in the former mode what only the new one has durable.
    if sync == Sync::Always && names(directory)?.iter().any(|name| may_confirm(name)) {
        let error = StoreError::io("synchronizing", directory.path(""));
        let synchronized = directory.sync_all();
        let synchronized = synchronized.inspect_err(|_| doubt(directory));
        synchronized.map_err(error)?;
    }
    replace(directory, &format!("{mode}{}", directory.run_of_system()))
}

/// Notes that a synchronization has failed. The note is for the next process of this run of the
/// system, so it need not be synchronized.
pub fn doubt(directory: &dyn Directory) {
    for name in names(directory).unwrap_or_default() {
        let mode = [ALWAYS, PROCESS]
            .into_iter()
            .find(|mode| name.starts_with(mode));
        if let Some(mode) = mode {
            // A disk that cannot make an empty file does not let a server start either.
            let _ = directory.create(&format!("{mode}{DOUBTED}"), &[]);
        }
    }
}

/// Notes that everything in a directory is synchronized, and that nothing will be written.
///
/// # Errors
/// Those of the directory.
pub fn end(directory: &dyn Directory) -> Result<(), StoreError> {
    replace(directory, CLOSED)
}

/// Puts a name in the place of the former ones. In between there are several.
fn replace(directory: &dyn Directory, name: &str) -> Result<(), StoreError> {
    let error = |action| StoreError::io(action, directory.path(name));
    let former = names(directory)?;
    if former == [name] {
        return Ok(());
    }
    if !former.iter().any(|former| former == name) {
        directory.create(name, &[]).map_err(error("making"))?;
    }
    directory.sync_names().map_err(error("synchronizing"))?;
    for former in former.iter().filter(|former| *former != name) {
        directory.remove(former).map_err(error("removing"))?;
    }
    directory.sync_names().map_err(error("synchronizing"))
}

fn names(directory: &dyn Directory) -> Result<Vec<String>, StoreError> {
    let all: io::Result<Vec<String>> = directory.list();
    let mut names = all.map_err(StoreError::io("reading", directory.path("")))?;
    names.retain(|name| {
        name == CLOSED || [ALWAYS, PROCESS].iter().any(|mode| name.starts_with(mode))
    });
    Ok(names)
}
