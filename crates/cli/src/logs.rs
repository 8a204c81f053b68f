//! Logs of every process, on standard error. A line that cannot be written is dropped, because no
//! log may end a process.

use crate::output;
use std::{
    io::{self, IsTerminal},
    sync::OnceLock,
};
use tracing_subscriber::{
    EnvFilter, fmt,
    fmt::{
        format::Writer,
        time::{FormatTime, SystemTime},
    },
};

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

static CHOSEN: OnceLock<Log> = OnceLock::new();

/// How this process logs.
struct Log {
    format: Format,
    role: String,
}

impl Log {
    /// A line as those of the log are.
    fn object(&self, level: &str, fields: serde_json::Value) -> String {
        let mut time = String::new();
        // Without a clock the time stays empty.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        let line = serde_json::json!({
            "role": self.role,
            "timestamp": time,
            "level": level,
            "target": "futago",
            "fields": fields,
        });
        line.to_string()
    }
}

/// The form that this process uses.
pub fn chosen_format() -> &'static str {
    CHOSEN
        .get()
        .map_or(Format::default(), |log| log.format)
        .word()
}

/// The line of a background process that is ready for use.
const READY: &str = "futago: ready";

/// The line of a server process that opens its servers, for which it may have to wait.
const OPENING: &str = "futago: opening";

/// Starts logging. The environment variable `FUTAGO_LOG` selects the lines; the default is
/// warnings. `role` names this process in each JSON object.
pub fn start(format: Format, role: String) {
    CHOSEN.get_or_init(|| Log { format, role });
    let filter = EnvFilter::try_from_env("FUTAGO_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    // Otherwise a line that fails is reported with `eprintln!`, which panics where that fails too.
    let logs = fmt().with_env_filter(filter).log_internal_errors(false);
    let logs = logs.with_ansi(io::stderr().is_terminal());
    match format {
        Format::Text => logs.with_writer(|| Dropping(io::stderr())).init(),
        Format::Json => {
            logs.json()
                .with_writer(|| Dropping(WithRole(io::stderr())))
                .init();
            std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
        }
    }
}

/// Whether log lines are JSON objects.
pub fn is_json() -> bool {
    chosen_format() == Format::Json.word()
}

/// Says on standard output that this process can be used. The process goes on if its starter is
/// gone.
pub fn say_ready() {
    say(READY);
    tracing::info!("ready");
}

/// Says on standard output that this process begins to open its servers.
pub fn say_opening() {
    say(OPENING);
}

fn say(message: &str) {
    let line = match CHOSEN.get().filter(|log| log.format == Format::Json) {
        Some(log) => log.object("INFO", serde_json::json!({ "message": message })),
        None => message.to_owned(),
    };
    let _ = output::write_all(format!("{line}\n").as_bytes());
}

/// The JSON object that says why this process ends. It does not go through the log, which drops
/// lines that it cannot write.
pub fn error_line(message: &str, exit_code: u8) -> String {
    let fields = serde_json::json!({ "message": message, "exit_code": exit_code });
    CHOSEN
        .get()
        .map_or_else(String::new, |log| log.object("ERROR", fields))
}

/// Whether a line of a process's output is that line.
pub fn says_ready(line: &str) -> bool {
    says(line, READY)
}

/// Whether a process's output says that it opens its servers.
pub fn says_opening(line: &str) -> bool {
    says(line, OPENING)
}

fn says(line: &str, expected: &str) -> bool {
    let message = |line| {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(value["fields"]["message"] == expected)
    };
    line == expected || message(line).unwrap_or_default()
}

/// Writes whole, and drops what cannot be written.
struct Dropping<W>(W);

impl<W: io::Write> io::Write for Dropping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The disk is full or the reader has gone. There is nowhere to report it.
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// Takes JSON objects, each in one piece, and adds the role of this process to each.
struct WithRole<W>(W);

impl<W: io::Write> io::Write for WithRole<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut line = Vec::with_capacity(bytes.len() + 32);
        let role = CHOSEN.get().map(|log| log.role.as_str());
        match (bytes.strip_prefix(b"{"), role) {
            (Some(rest), Some(role)) => {
                line.extend_from_slice(b"{\"role\":");
                serde_json::to_writer(&mut line, role)?;
                line.push(b',');
                line.extend_from_slice(rest);
            }
            _ => line.extend_from_slice(bytes),
        }
        self.0.write_all(&line)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::Write;

    /// A device on which every write fails.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_dropped() {
        let mut log = Dropping(WithRole(Full));
        log.write_all(b"{\"level\":\"WARN\"}\n").unwrap();
        log.flush().unwrap();
    }
}
