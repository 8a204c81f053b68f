//! Messages on standard error, chosen by `CHFS_LOG_PRIORITY`.

use futago_posix::log;
use std::env;
use tracing::level_filters::LevelFilter;

/// Prints messages up to the priority, unless the program has arranged for them itself.
pub fn start() {
    let priority = env::var("CHFS_LOG_PRIORITY").unwrap_or_default();
    log::start(level(&priority));
}

/// The level of a priority of syslog; that of an unknown one is the default's.
fn level(priority: &str) -> LevelFilter {
    match priority {
        "emerg" | "alert" | "crit" | "err" | "error" => LevelFilter::ERROR,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        _ => LevelFilter::WARN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_of_syslog_have_levels() {
        let levels = ["crit", "notice", "info", "debug", "", "loud"].map(level);
        let (warn, info, debug) = (LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG);
        assert_eq!(levels, [LevelFilter::ERROR, warn, info, debug, warn, warn]);
    }
}
