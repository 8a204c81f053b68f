//! Records of the processes of a cluster on this host, so that `down` and `status` find them.

use super::runtime_directory;
use anyhow::Context;
use jiff::Timestamp;
use procfs::process::{Process, Stat};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The role of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It hosts the servers of this process number.
    Server(u32),
    /// It serves the mount at this path.
    Mount(#[serde(with = "path_bytes")] PathBuf),
    /// It is a launcher that holds a server on another host.
    Launcher(u32),
    /// It writes changes back to the backing store.
    Backing,
}

/// Paths as bytes: JSON text holds not all of them.
mod path_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::{
        ffi::OsString,
        os::unix::ffi::{OsStrExt, OsStringExt},
        path::{Path, PathBuf},
    };

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().as_bytes().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let bytes = Vec::deserialize(deserializer)?;
        Ok(OsString::from_vec(bytes).into())
    }
}

/// A process. The start time distinguishes it from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its role.
    pub role: Role,
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since the host did.
    pub start_ticks: u64,
    /// When its record was made, which is before it logs anything.
    #[serde(default)]
    pub started: Timestamp,
    /// How it has ended, if it could say so.
    #[serde(default)]
    pub ended: Option<Ended>,
}

/// The end of a process that has ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// Why; none after a signal that asks for it.
    pub error: Option<String>,
}

impl ProcessRecord {
    /// The record of a running process.
    pub fn of(pid: u32, role: Role) -> anyhow::Result<Self> {
        let (pid, started) = (pid as i32, Timestamp::now());
        let stat = Process::new(pid).and_then(|process| process.stat());
        let stat = stat.with_context(|| format!("looking at process {pid}"))?;
        Ok(Self {
            role,
            pid,
            start_ticks: stat.starttime,
            started,
            ended: None,
        })
    }

    /// Whether the process still runs.
    pub fn is_alive(&self) -> bool {
        self.ended.is_none() && self.stat().is_some_and(|stat| stat.state != 'Z')
    }

    /// The system's description of the process, if it is there, be it as a zombie.
    pub fn stat(&self) -> Option<Stat> {
        let stat = Process::new(self.pid).and_then(|process| process.stat());
        stat.ok().filter(|stat| stat.starttime == self.start_ticks)
    }

    /// Notes that the process lives. Nothing else tells later when it was killed.
    pub fn touch(&self, directory: &Path) {
        // The directory is gone when the cluster is.
        let _ =
            File::open(self.path(directory)).and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// When the process noted the last time that it lives.
    pub fn last_sign_of_life(&self, directory: &Path) -> Option<Timestamp> {
        let metadata = fs::metadata(self.path(directory)).ok()?;
        metadata.modified().ok()?.try_into().ok()
    }

    /// Notes that the process ends now, and why.
    pub fn end(mut self, directory: &Path, error: Option<String>) {
        let at = Timestamp::now();
        self.ended = Some(Ended { at, error });
        // The directory is gone when the cluster is.
        let _ = self.save(directory);
    }

    /// Writes the record into the runtime directory.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_vec(self)?;
        // The process and the one that starts it may both be writing it.
        runtime_directory::put(directory, &self.name(), &text)
            .with_context(|| format!("writing {}", self.path(directory).display()))
    }

    /// Takes the record away.
    pub fn remove(&self, directory: &Path) {
        // The record of a process that has ended does no harm.
        let _ = fs::remove_file(self.path(directory));
    }

    fn path(&self, directory: &Path) -> PathBuf {
        directory.join(self.name())
    }

    fn name(&self) -> String {
        let name = match &self.role {
            Role::Server(process) => format!("server-{process}"),
            Role::Mount(_) => format!("mount-{}", self.pid),
            Role::Launcher(process) => format!("launcher-{process}"),
            Role::Backing => "backing-0".to_owned(),
        };
        name + ".process"
    }
}

/// The records in a runtime directory; other files are ignored.
pub fn list(directory: &Path) -> Vec<ProcessRecord> {
    let Ok(files) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut records: Vec<ProcessRecord> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "process")
        })
        .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
        .collect();
    records.sort_by_key(|record| (record.role != Role::Server(0), record.pid));
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_tells_the_living_from_a_later_process_with_the_number() {
        let directory = tempfile::tempdir().unwrap();
        let record = ProcessRecord::of(std::process::id(), Role::Server(3)).unwrap();
        record.save(directory.path()).unwrap();
        assert_eq!(list(directory.path()), std::slice::from_ref(&record));
        assert!(record.is_alive());
        let earlier = ProcessRecord {
            start_ticks: record.start_ticks - 1,
            ..record.clone()
        };
        assert!(!earlier.is_alive());
        record.remove(directory.path());
        assert_eq!(list(directory.path()), []);
    }

    #[test]
    fn two_may_write_a_record_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let record = ProcessRecord::of(std::process::id(), Role::Server(3)).unwrap();
        let save_often = || (0..200).for_each(|_| record.save(directory.path()).unwrap());
        std::thread::scope(|threads| {
            threads.spawn(save_often);
            save_often();
        });
        assert_eq!(list(directory.path()), [record]);
    }
}
