//! Logs of every process, on standard error.

use std::sync::OnceLock;
use tracing_subscriber::{EnvFilter, fmt};

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Format {
    /// The word that chooses it.
    const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// The environment variable by which started processes learn the form of log lines.
pub const FORMAT_VARIABLE: &str = "FUTAGO_LOG_FORMAT";

static CHOSEN: OnceLock<Format> = OnceLock::new();

/// The form that this process was told to use.
pub fn chosen_format() -> &'static str {
    CHOSEN.get().copied().unwrap_or_default().word()
}

/// Starts logging. What is logged is chosen by the environment variable `FUTAGO_LOG`; warnings if it
/// says nothing.
pub fn start(format: Format) {
    CHOSEN.get_or_init(|| format);
    let filter = EnvFilter::try_from_env("FUTAGO_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let logs = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        Format::Text => logs.init(),
        Format::Json => logs.json().init(),
    }
}
