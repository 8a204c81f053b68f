//! Logs of every process, on standard error.

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
    /// The argument that chooses it.
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Starts logging. What is logged is chosen by the environment variable `FUTAGO_LOG`; warnings if it
/// says nothing.
pub fn start(format: Format) {
    let filter = EnvFilter::try_from_env("FUTAGO_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let logs = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        Format::Text => logs.init(),
        Format::Json => logs.json().init(),
    }
}
