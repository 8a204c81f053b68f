//! Which session has which file open.

use crate::interruption::locked;
use futago_base::SessionId;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The open files of a mount, by the numbers that the kernel knows them by.
///
/// When servers have given up on a session, what was open in it is not the client's any more,
/// although the kernel still has it open: others may have locked, changed or removed the files
/// since.
#[derive(Debug, Default)]
pub struct OpenFiles {
    last: AtomicU64,
    sessions: Mutex<HashMap<u64, SessionId>>,
}

impl OpenFiles {
    /// A session has opened a file. Returns the file's number.
    pub fn opened(&self, session: SessionId) -> u64 {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        locked(&self.sessions).insert(handle, session);
        handle
    }

    /// The session that has opened a file; `None` if the kernel names one that is not open.
    pub fn session(&self, handle: u64) -> Option<SessionId> {
        locked(&self.sessions).get(&handle).copied()
    }

    /// A file is not open any more. Returns the session that had opened it.
    pub fn closed(&self, handle: u64) -> Option<SessionId> {
        locked(&self.sessions).remove(&handle)
    }
}
