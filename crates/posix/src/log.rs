//! Messages on standard error.

use std::io::{self, IsTerminal};
use tracing::level_filters::LevelFilter;

/// Prints messages up to a level, unless the program has arranged for them itself.
pub fn start(level: LevelFilter) {
    // The program goes on without messages if it has a subscriber of its own.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .log_internal_errors(false)
        .try_init();
}
