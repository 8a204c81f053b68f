//! The clients of a mount: one a thread, each with a session of its own.

use crate::interruption::locked;
use futago_base::Errno;
use futago_node::{Client, Futago};
use std::future::Future;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex};
use std::thread;

/// Which client of a mount.
pub type ClientIndex = usize;

/// The client whose session has all locks of the mount, and that serves requests as long as it lasts.
pub const FIRST: ClientIndex = 0;

/// The clients that have been started, in order; none once the mount has ended.
#[derive(Debug)]
pub struct Clients(Mutex<Vec<Futago>>);

impl Clients {
    /// The first client.
    pub fn new(first: Futago) -> Self {
        Self(Mutex::new(vec![first]))
    }

    /// Starts the client of this index if those before it have been started and it has not.
    pub fn start(&self, index: ClientIndex) -> io::Result<()> {
        let mut clients = locked(&self.0);
        if index == clients.len()
            && let Some(first) = clients.first()
        {
            let sibling = first.sibling()?;
            clients.push(sibling);
        }
        Ok(())
    }

    /// Runs an operation on a client's thread and does not wait for it.
    pub fn spawn<F, Fut>(&self, index: ClientIndex, operation: F)
    where
        F: FnOnce(Arc<Client>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        if let Some(client) = locked(&self.0).get(index) {
            // A client that has stopped drops the operation, which tells whoever waits for it.
            client.spawn(operation);
        }
    }

    /// Runs an operation on a client's thread. Errors: the operation's, and `EIO` if the client has
    /// stopped.
    pub async fn run<F, Fut, T>(&self, index: ClientIndex, operation: F) -> Result<T, Errno>
    where
        F: FnOnce(Arc<Client>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, Errno>> + 'static,
        T: Send + 'static,
    {
        let result = locked(&self.0)
            .get(index)
            .map(|client| client.run(operation));
        match result {
            Some(result) => result.await.unwrap_or(Err(Errno::EIO)),
            None => Err(Errno::EIO),
        }
    }

    /// Ends all sessions, side by side, and waits for that.
    pub fn end(&self) {
        let clients = mem::take(&mut *locked(&self.0));
        thread::scope(|scope| {
            for client in clients {
                scope.spawn(|| drop(client));
            }
        });
    }
}
