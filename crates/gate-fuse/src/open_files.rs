//! Which clients of a mount have registered which open files.
//!
//! An open file is registered by the client that opened it, and by every client that has changed its
//! data: a client that has a file open may write ahead of its size, and if its session ends
//! early, servers know what to take back.

use crate::clients::ClientIndex;
use crate::interruption::locked;
use std::collections::HashMap;
use std::sync::Mutex;

/// The most clients that a mount can have.
pub const CLIENTS_MAX: usize = u64::BITS as usize;

/// Clients, a bit each.
pub type ClientSet = u64;

/// The clients of a set.
pub fn clients_of(set: ClientSet) -> Vec<ClientIndex> {
    (0..CLIENTS_MAX)
        .filter(|client| set & (1 << client) != 0)
        .collect()
}

/// The registrations, by the number of the open file.
#[derive(Debug, Default)]
pub struct OpenFiles(Mutex<HashMap<u64, ClientSet>>);

impl OpenFiles {
    /// Notes that a client has registered a new open file.
    pub fn opened(&self, handle: u64, client: ClientIndex) {
        locked(&self.0).insert(handle, 1 << client);
    }

    /// Whether a client has registered an open file.
    pub fn is_registered(&self, handle: u64, client: ClientIndex) -> bool {
        let files = locked(&self.0);
        files
            .get(&handle)
            .is_some_and(|clients| clients & (1 << client) != 0)
    }

    /// Notes that a client has registered an open file. `false` if it had done so before, or the file
    /// is closed: then it must take that back.
    pub fn registered(&self, handle: u64, client: ClientIndex) -> bool {
        let mut files = locked(&self.0);
        let Some(clients) = files.get_mut(&handle) else {
            return false;
        };
        let is_new = *clients & (1 << client) == 0;
        *clients |= 1 << client;
        is_new
    }

    /// Forgets an open file. Returns the clients that have registered it.
    pub fn closed(&self, handle: u64) -> Vec<ClientIndex> {
        clients_of(locked(&self.0).remove(&handle).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registration_is_taken_back_once() {
        let files = OpenFiles::default();
        files.opened(7, 2);
        assert!(files.is_registered(7, 2) && !files.is_registered(7, 0));
        assert!(files.registered(7, CLIENTS_MAX - 1));
        assert!(!files.registered(7, CLIENTS_MAX - 1));
        assert!(!files.registered(7, 2));
        assert_eq!(files.closed(7), [2, CLIENTS_MAX - 1]);
        assert!(files.closed(7).is_empty());
    }

    #[test]
    fn a_closed_file_is_not_registered_any_more() {
        let files = OpenFiles::default();
        files.opened(7, 0);
        files.opened(8, 0);
        files.closed(7);
        assert!(!files.registered(7, 1));
        assert!(files.closed(7).is_empty());
        assert_eq!(files.closed(8), [0]);
    }
}
