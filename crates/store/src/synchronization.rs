//! Makes what was written survive a loss of power.

use crate::{Directory, StoreError, files::Unsynced, last_use};
use std::{io, sync::Arc};

/// The work of synchronizing a store, which may be done by another thread while the store is used.
#[derive(Debug)]
pub struct Synchronization {
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) unsynced: Unsynced,
    /// The latest batch that is durable afterwards.
    pub(crate) position: u64,
    /// The files that nothing durable needs afterwards, in the order in which they are removed.
    pub(crate) unneeded: Vec<String>,
}

impl Synchronization {
    /// Does it.
    ///
    /// # Errors
    /// If the system fails to. Nobody knows then what is on the disk, so the store is unusable. The
    /// directory says so when it is opened again.
    pub fn run(&self) -> Result<(), StoreError> {
        let outcome = self.synchronize();
        outcome.inspect_err(|_| last_use::doubt(&*self.directory))
    }

    fn synchronize(&self) -> Result<(), StoreError> {
        match self.unsynced.all {
            true => self.check("", self.directory.sync_all())?,
            false => self.synchronize_written()?,
        }
        for name in &self.unneeded {
            self.check(name, self.directory.remove(name))?;
            // A log with a gap would seem damaged, so no later removal may survive alone.
            self.check("", self.directory.sync_names())?;
        }
        Ok(())
    }

    /// Data before names, so that a new file is never there without its contents.
    fn synchronize_written(&self) -> Result<(), StoreError> {
        for name in &self.unsynced.written {
            self.check(name, self.directory.sync(name))?;
        }
        if self.unsynced.has_new_names {
            self.check("", self.directory.sync_names())?;
        }
        Ok(())
    }

    fn check(&self, name: &str, outcome: io::Result<()>) -> Result<(), StoreError> {
        outcome.map_err(StoreError::io("synchronizing", self.directory.path(name)))
    }
}
