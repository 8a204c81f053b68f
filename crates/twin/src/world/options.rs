//! How a world is run; nothing here has an influence on what comes of it.

use futago_des::{Executor, Watch};
use std::sync::Arc;

/// The executor.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The executor.
    pub executor: Executor,
    /// Threads of this process.
    pub threads: u32,
    /// Where to show progress.
    pub watch: Option<Arc<Watch>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            executor: Executor::Sequential,
            threads: 1,
            watch: None,
        }
    }
}
