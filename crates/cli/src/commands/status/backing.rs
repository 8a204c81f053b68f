//! Changes that are not written back to the backing store yet.

use crate::{
    cluster::backing::{self, Reply, Request},
    output,
};
use futago_base::Timestamp;
use futago_node::Cluster;
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// The state of the backing store.
#[derive(Serialize)]
pub struct BackingReport {
    directory: String,
    flush: String,
    /// New and changed nodes and removed names that the directory lacks; `None` if it is not known.
    unflushed_files: Option<u64>,
    /// The bytes of the changed files.
    unflushed_bytes: Option<u64>,
    /// How long the oldest of them waits, in seconds.
    unflushed_seconds: Option<u64>,
    /// The number of files whose data is in the directory alone; `None` if it is not known.
    unloaded_files: Option<u64>,
    /// The error of the last pass or load, or the reason why the rest is not known.
    error: Option<String>,
}

impl BackingReport {
    /// Asks the agent, which may take so long.
    pub fn of(cluster: &Cluster, wait: Duration) -> Option<Self> {
        let store = cluster.backing.as_ref()?;
        let mut report = Self {
            directory: output::escape_path(&store.directory),
            flush: store.flush.to_string(),
            unflushed_files: None,
            unflushed_bytes: None,
            unflushed_seconds: None,
            unloaded_files: None,
            error: None,
        };
        match backing::ask(cluster, Request::Status, Some(wait)) {
            Ok(Reply::Status {
                unflushed,
                released_files,
                last_error,
            }) => {
                report.unloaded_files = Some(released_files);
                report.unflushed_files = Some(unflushed.files);
                report.unflushed_bytes = Some(unflushed.bytes);
                report.unflushed_seconds = unflushed.since.map(seconds_since);
                report.error = last_error;
            }
            Ok(Reply::Failed(error)) => report.error = Some(error),
            Ok(Reply::Flushed(_)) => report.error = Some("a reply to another request".to_owned()),
            Err(error) => report.error = Some(format!("{error:#}")),
        }
        Some(report)
    }

    /// Whether the state is known, and no pass has failed.
    pub const fn is_well(&self) -> bool {
        self.error.is_none()
    }

    /// Lines for people.
    pub fn text(&self) -> String {
        let mut text = format!("backing store {} (flush {}): ", self.directory, self.flush);
        text += &match (self.unflushed_files, self.unflushed_bytes) {
            (Some(0), _) => "everything is written back\n".to_owned(),
            (Some(files), bytes) => format!(
                "{} not written back, {}, for {} s\n",
                output::counted(files, "change is", "changes are"),
                output::size(bytes.unwrap_or_default()),
                self.unflushed_seconds.unwrap_or_default()
            ),
            _ => "what is written back is not known\n".to_owned(),
        };
        if let Some(files @ 1..) = self.unloaded_files {
            let files = output::counted(files, "file is", "files are");
            text += &format!("backing store: the data of {files} not loaded yet\n");
        }
        if let Some(error) = &self.error {
            text += &format!("backing store: {error}\n");
        }
        text
    }
}

fn seconds_since(time: Timestamp) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default()
        .as_secs()
        .saturating_sub(time.seconds.max(0) as u64)
}
