//! The errors in the log of a process.

use super::spawn;
use jiff::Timestamp;
use std::path::Path;

/// An error that a process has logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// When.
    pub at: Timestamp,
    /// The server that it names.
    pub server: Option<u16>,
    /// The error in words.
    pub text: String,
}

impl Complaint {
    /// The last one at the end of a log since a time that `concerns` holds for.
    pub fn last(log: &Path, since: Timestamp, concerns: impl Fn(&Self) -> bool) -> Option<Self> {
        let text = spawn::end_of(log).ok()?;
        let text = String::from_utf8_lossy(&text);
        let all = text.lines().rev().filter_map(Self::parse);
        all.take_while(|it| it.at >= since).find(|it| concerns(it))
    }

    /// A line in either form of logs; none if it is no error.
    fn parse(line: &str) -> Option<Self> {
        match line.starts_with('{') {
            true => Self::parse_json(&serde_json::from_str(line).ok()?),
            false => Self::parse_text(line),
        }
    }

    fn parse_json(line: &serde_json::Value) -> Option<Self> {
        let fields = &line["fields"];
        let message = fields["message"].as_str()?;
        let error = fields["error"].as_str();
        (line["level"] == "ERROR").then_some(())?;
        Some(Self {
            at: line["timestamp"].as_str()?.parse().ok()?,
            server: fields["server"].as_u64().and_then(|it| it.try_into().ok()),
            text: error.map_or_else(|| message.into(), |error| format!("{message}: {error}")),
        })
    }

    /// `TIME ERROR MODULE: MESSAGE server=N error=ERROR`.
    fn parse_text(line: &str) -> Option<Self> {
        let (time, rest) = line.split_once(' ')?;
        let (_, text) = rest.trim_start().strip_prefix("ERROR ")?.split_once(": ")?;
        let (message, error) = text.split_once(" error=").unwrap_or((text, ""));
        let (message, server) = match message.rsplit_once(" server=") {
            Some((message, server)) => (message, server.parse().ok()),
            None => (message, None),
        };
        let separator = if error.is_empty() { "" } else { ": " };
        Some(Self {
            at: time.parse().ok()?,
            server,
            text: format!("{message}{separator}{error}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-11-29T09:00:00.000001Z ERROR futago_node::server::thread: the server ends error=of an earlier life
2026-11-29T10:00:00.000001Z ERROR futago_node::server::adoption: not served server=3 error=/x: gone
2026-11-29T10:00:01.000001Z  WARN futago_node::server::process: a server has ended: stopping
thread 'x' panicked at x.rs:1:1
{\"role\":\"server-0\",\"timestamp\":\"2026-11-29T10:00:02.5Z\",\"level\":\"ERROR\",\"fields\":{\"message\":\"the server ends\",\"error\":\"no disk\"}}
";

    #[test]
    fn the_last_error_since_a_time_is_found_in_either_form() {
        let log = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(log.path(), LOG).unwrap();
        let since: Timestamp = "2026-11-29T09:30:00Z".parse().unwrap();
        let last = |concerns: fn(&Complaint) -> bool| {
            let found = Complaint::last(log.path(), since, concerns)?;
            Some((found.server, found.text))
        };
        assert_eq!(
            last(|_| true),
            Some((None, "the server ends: no disk".into()))
        );
        let of_3 = last(|it| it.server == Some(3));
        assert_eq!(of_3, Some((Some(3), "not served: /x: gone".into())));
        assert_eq!(last(|it| it.text.contains("earlier")), None);
    }
}
