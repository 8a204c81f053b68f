//! The parts of a host that a process of servers uses.

use crate::Clock;
use futago_base::Duration;
use futago_store::{Directory, StoreError, SystemDirectory};
use std::{path::Path, sync::Arc};

/// Opens the directory of a server's store.
pub type OpenDirectory = Arc<dyn Fn(&Path) -> Result<Arc<dyn Directory>, StoreError> + Send + Sync>;

/// The parts of a host that servers use. A test gives them others.
#[derive(Clone)]
pub struct Surroundings {
    /// The source of time.
    pub clock: Clock,
    /// The disk.
    pub open_directory: OpenDirectory,
    /// The time between two ticks of a server.
    pub tick: Duration,
    /// How long a server that a loss of power has set back waits before it serves: until clients
    /// rely on nothing of it any more. Default: the lease of clients.
    pub grace: Duration,
}

impl Default for Surroundings {
    fn default() -> Self {
        let config = futago_server::Config::default();
        Self {
            clock: Clock::default(),
            open_directory: Arc::new(|path| Ok(Arc::new(SystemDirectory::open(path)?))),
            tick: config.tick,
            grace: config.lease,
        }
    }
}
