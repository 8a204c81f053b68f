//! One process at a time uses a directory.

use crate::StoreError;
use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

/// Locks a directory for this process, as long as the file is open.
pub fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join("lock");
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(StoreError::io("opening", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(directory.into())),
        Err(TryLockError::Error(error)) => Err(StoreError::io("locking", path)(error)),
    }
}
