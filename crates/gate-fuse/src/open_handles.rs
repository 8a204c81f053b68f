//! The open files by the numbers that the kernel knows them by.

use crate::interruption::locked;
use futago_base::Errno;
use futago_files::OpenFile;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The open files of a mount.
#[derive(Debug, Default)]
pub struct OpenHandles(Mutex<HashMap<u64, Arc<OpenFile>>>);

impl OpenHandles {
    /// Adds an open file.
    pub fn add(&self, open: &Arc<OpenFile>) {
        locked(&self.0).insert(open.number(), Arc::clone(open));
    }

    /// The open file of a number.
    ///
    /// # Errors
    /// `EBADF` if the kernel names one that is not open.
    pub fn get(&self, handle: u64) -> Result<Arc<OpenFile>, Errno> {
        let open = locked(&self.0).get(&handle).cloned();
        open.ok_or(Errno::EBADF)
    }

    /// Whether the file of a number is open and is such a one.
    pub fn is(&self, handle: u64, such: impl FnOnce(&OpenFile) -> bool) -> bool {
        let handles = locked(&self.0);
        handles.get(&handle).is_some_and(|open| such(open))
    }

    /// Removes an open file that the kernel closes.
    ///
    /// # Errors
    /// As [`OpenHandles::get`].
    pub fn remove(&self, handle: u64) -> Result<Arc<OpenFile>, Errno> {
        locked(&self.0).remove(&handle).ok_or(Errno::EBADF)
    }
}
