//! How a server process has ended, or why it does not answer, as far as anything of it tells.

use super::{
    complaints::Complaint,
    records::{self, Ended, ProcessRecord, Role},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The knowledge of a process at its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its number.
    pub pid: i32,
    /// When it was started.
    pub started: Timestamp,
    /// Its fate.
    pub fate: Fate,
}

/// The fate of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It runs.
    Runs,
    /// A signal has stopped it, soon after this time.
    Stopped(Option<Timestamp>),
    /// It has ended by itself.
    Ended(Ended),
    /// It is gone and could not say so.
    Killed {
        /// When it last noted that it lives.
        lived: Option<Timestamp>,
        /// The signal, if its parent has not asked for it yet.
        signal: Option<i32>,
    },
}

/// Since when a server does not answer, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Down {
    /// To a second; none if nobody knows.
    pub since: Option<String>,
    /// For people.
    pub reason: String,
}

impl Down {
    /// A reason, and a time if it is known.
    pub fn new(since: Option<Timestamp>, reason: String) -> Self {
        let since = since.map(rfc_3339);
        Self { since, reason }
    }
}

/// A time as statuses show it.
pub fn rfc_3339(time: Timestamp) -> String {
    format!("{time:.3}")
}

impl Seen {
    /// The knowledge of a server process at this host; none if it has not run here.
    pub fn here(directory: &Path, process: u32) -> Option<Self> {
        let is_of = |record: &ProcessRecord| record.role == Role::Server(process);
        let record = records::list(directory).into_iter().find(is_of)?;
        Some(Self {
            pid: record.pid,
            started: record.started,
            fate: Fate::of(&record, directory),
        })
    }

    /// Why a server of the process does not answer. `complaint` is the last error of the process's
    /// log since it started.
    pub fn explain(&self, complaint: Option<&Complaint>) -> Down {
        let (pid, text) = (self.pid, complaint.map(|complaint| complaint.text.as_str()));
        match &self.fate {
            Fate::Runs => Down::new(
                complaint.map(|complaint| complaint.at),
                text.map_or_else(
                    || format!("process {pid} runs, and does not answer"),
                    str::to_owned,
                ),
            ),
            Fate::Stopped(since) => Down::new(
                *since,
                format!("process {pid} is stopped; kill -CONT {pid} has it go on"),
            ),
            Fate::Ended(Ended { at, error }) => {
                let error = error.as_deref().or(text).map(str::to_owned);
                let unknown =
                    || format!("process {pid} has ended without an error, as signals ask for");
                Down::new(Some(*at), error.unwrap_or_else(unknown))
            }
            Fate::Killed { lived, signal } => Down::new(*lived, killed(pid, *signal, text)),
        }
    }
}

fn killed(pid: i32, signal: Option<i32>, complaint: Option<&str>) -> String {
    let end = match signal {
        Some(signal) => format!("process {pid} was killed by signal {signal}"),
        None => format!("process {pid} was killed, or has crashed"),
    };
    match complaint {
        Some(complaint) => format!("{end}; the last error in its log: {complaint}"),
        None => format!("{end}; there is no error in its log"),
    }
}

impl Fate {
    fn of(record: &ProcessRecord, directory: &Path) -> Self {
        if let Some(ended) = &record.ended {
            return Self::Ended(ended.clone());
        }
        let lived = record.last_sign_of_life(directory);
        match record.stat() {
            Some(stat) if stat.state == 'Z' => Self::Killed {
                lived,
                // The low bits of a status as `wait` returns it.
                signal: stat
                    .exit_code
                    .map(|status| status & 0x7f)
                    .filter(|&it| it != 0),
            },
            Some(stat) if stat.state == 'T' => Self::Stopped(lived),
            Some(_) => Self::Runs,
            None => Self::Killed {
                lived,
                signal: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(fate: Fate) -> Seen {
        let started = Timestamp::UNIX_EPOCH;
        Seen {
            pid: 17,
            started,
            fate,
        }
    }

    fn complaint(text: &str) -> Complaint {
        Complaint {
            at: Timestamp::UNIX_EPOCH,
            server: None,
            text: text.into(),
        }
    }

    #[test]
    fn the_process_knows_its_end_best_and_its_log_second_best() {
        let at = Timestamp::UNIX_EPOCH;
        let ended = |error: Option<&str>| {
            let error = error.map(str::to_owned);
            seen(Fate::Ended(Ended { at, error }))
        };
        let logged = complaint("logged");
        let down = ended(Some("said")).explain(Some(&logged));
        assert_eq!(down.since.as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(down.reason, "said");
        assert_eq!(ended(None).explain(Some(&logged)).reason, "logged");
        assert!(
            ended(None)
                .explain(None)
                .reason
                .contains("without an error")
        );
    }

    #[test]
    fn a_signal_is_named_if_it_is_known() {
        let killed = |signal| {
            seen(Fate::Killed {
                lived: None,
                signal,
            })
        };
        let down = killed(Some(9)).explain(None);
        assert!(down.reason.starts_with("process 17 was killed by signal 9"));
        assert_eq!(down.since, None);
        let down = killed(None).explain(Some(&complaint("logged")));
        assert!(down.reason.ends_with("log: logged"), "{}", down.reason);
    }
}
