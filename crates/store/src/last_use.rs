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

/// Whether something may be missing in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// The system has restarted, so what was not synchronized may be lost.
    pub may_have_losses: bool,
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
        let may_have_losses = !names.iter().any(is_whole);
        let was_always = |name: &String| name.starts_with(ALWAYS);
        Ok(Self {
            may_have_losses,
            was_confirmed: may_have_losses && !names.iter().any(was_always),
        })
    }
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
    replace(directory, &format!("{mode}{}", directory.run_of_system()))
}

/// Notes that everything in a directory is synchronized, and that nothing will be written.
///
/// # Errors
/// Those of the directory.
pub fn end(directory: &dyn Directory) -> Result<(), StoreError> {
    replace(directory, CLOSED)
}

/// Puts a name in the place of the former ones. In between there is none, which is no claim.
fn replace(directory: &dyn Directory, name: &str) -> Result<(), StoreError> {
    let error = |action| StoreError::io(action, directory.path(name));
    let former = names(directory)?;
    if former == [name] {
        return Ok(());
    }
    for name in former {
        directory.remove(&name).map_err(error("removing"))?;
    }
    directory.sync_names().map_err(error("synchronizing"))?;
    directory.create(name, &[]).map_err(error("making"))?;
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
