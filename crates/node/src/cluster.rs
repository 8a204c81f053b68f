//! The cluster file: the servers, and the secret key.

use crate::{BackingStore, Cooperative};
use futago_base::{ClusterMap, ServerId, limits, map::Policy};
use futago_store::Sync;
use futago_transport::{Address, ClusterKey, Provider};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// The version of the file's format.
const FORMAT: u32 = 1;
/// The largest cluster file, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// One cluster: all settings that servers and clients must agree on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    format: u32,
    /// A name for people.
    pub name: String,
    /// Drawn when the cluster is created; distinguishes it from all others.
    pub id: ClusterId,
    /// The secret that every connection proves.
    pub key: ClusterKey,
    /// Whether connections over TCP are encrypted and authenticated.
    #[serde(default)]
    pub secure: bool,
    /// The provider of libfabric over which all messages go, once a connection has proven the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Provider>,
    /// Whether servers are contact servers: clients take leases, and ask the server that is nearest
    /// to them about names and files of others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contacts: bool,
    /// Whether clients read from each other's caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooperative: Option<Cooperative>,
    /// The version of the cluster map.
    pub epoch: u32,
    /// How partitions are assigned to servers.
    #[serde(default)]
    pub policy: Policy,
    /// How many partitions there are.
    pub partitions: usize,
    /// The chunk size of new files, in bytes.
    pub chunk_bytes: u32,
    /// The folder for sockets, logs and process numbers of this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_directory: Option<PathBuf>,
    /// The template of the command that starts programs on hosts; `None` for this host only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// The directory behind the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing: Option<BackingStore>,
    /// The directory in which every server keeps what it has; without one, it ends with the
    /// server's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// The losses that a confirmed change in that directory survives.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync: Sync,
    /// Bounds.
    #[serde(default)]
    pub limits: Limits,
    /// The servers, by number.
    pub servers: Vec<ServerEntry>,
    /// Servers that move to hosts which do not have their directories yet. Nobody serves them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copying: Vec<Copying>,
    #[serde(skip)]
    source: Source,
}

/// A server whose directory is copied to its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copying {
    /// Its number.
    pub server: u16,
    /// The host that has the directory.
    pub from: String,
}

/// The file that a description was read from, which is replaced when servers move. It is no part of
/// the description.
#[derive(Clone, Debug, Default)]
struct Source(Option<PathBuf>);

impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A random number that identifies a cluster, written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(pub u64);

impl TryFrom<String> for ClusterId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match u64::from_str_radix(&text, 16) {
            Ok(id) if text.len() == 16 => Ok(Self(id)),
            _ => Err(format!("{text:?} is not 16 hexadecimal digits")),
        }
    }
}

impl From<ClusterId> for String {
    fn from(id: ClusterId) -> Self {
        format!("{:016x}", id.0)
    }
}

/// One server of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerEntry {
    /// The address that it listens at.
    pub address: Address,
    /// The host that it runs on; `None` for the host of the cluster file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The process that hosts it, numbered from 0: servers of one process are its threads.
    pub process: u32,
}

/// Limits of the servers' resources and of the clients' waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The memory for records and data of one server, in bytes; 0 for a share of the host's.
    pub memory_bytes: u64,
    /// How long a client tries to reach a server before its operations fail with EIO, in seconds.
    pub give_up_seconds: f64,
    /// The most connections of a server.
    pub connections: usize,
    /// The most requests in flight on one connection; half of them may wait for other clients. At
    /// least 2.
    pub credits: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 0,
            give_up_seconds: 30.0,
            connections: 16_384,
            credits: 1024,
        }
    }
}

impl Limits {
    /// How long a client tries to reach a server.
    pub fn give_up(&self) -> Duration {
        Duration::from_secs_f64(self.give_up_seconds)
    }
}

/// The reason why a cluster file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cluster file {}: {reason}", path.display())]
pub struct ClusterError {
    /// The file.
    pub path: PathBuf,
    /// The fault.
    pub reason: Reason,
}

/// The fault of a cluster file.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Other users could read the secret.
    #[error("mode {0:04o} lets others read the secret key; run chmod 600 on it")]
    Mode(u32),
    /// It is not a cluster file. The message contains the line's number and not its text, because
    /// the line may hold the key.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// It cannot be written as TOML.
    #[error("{0}")]
    Serialize(#[from] toml::ser::Error),
    /// A value is invalid.
    #[error("{0}")]
    Value(String),
    /// The file exists already.
    #[error("it exists already; is the cluster running? (futago down removes it)")]
    Exists,
}

impl Cluster {
    /// A new cluster of these servers, with a fresh identity and key.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn new(name: impl Into<String>, servers: Vec<ServerEntry>) -> io::Result<Self> {
        Ok(Self {
            format: FORMAT,
            name: name.into(),
            id: ClusterId(getrandom::u64().map_err(io::Error::other)?),
            key: ClusterKey::generate().map_err(io::Error::other)?,
            secure: false,
            fabric: None,
            contacts: false,
            cooperative: None,
            epoch: 1,
            policy: Policy::default(),
            partitions: 4096.max(servers.len()),
            chunk_bytes: 1 << 20,
            runtime_directory: None,
            launcher: None,
            backing: None,
            data: None,
            sync: Sync::default(),
            limits: Limits::default(),
            servers,
            copying: Vec::new(),
            source: Source::default(),
        })
    }

    /// Reads and checks a cluster file.
    ///
    /// # Errors
    /// See [`Reason`]; the error names the file and what to do.
    pub fn load(path: &Path) -> Result<Self, ClusterError> {
        let mut cluster = read(path).map_err(|reason| named(path, reason))?;
        cluster.source = Source(std::path::absolute(path).ok());
        Ok(cluster)
    }

    /// The file that it was read from.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.source.0.as_deref()
    }

    /// Parses the text of a cluster file.
    ///
    /// # Errors
    /// [`Reason::Syntax`], or [`Reason::Value`] if the cluster is invalid.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let cluster: Self = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        cluster.check()?;
        Ok(cluster)
    }

    /// The text of a cluster file. It holds the secret key.
    ///
    /// # Errors
    /// [`Reason::Serialize`].
    pub fn text(&self) -> Result<Zeroizing<String>, Reason> {
        Ok(Zeroizing::new(toml::to_string_pretty(self)?))
    }

    /// Writes a new file atomically, readable only by its owner.
    ///
    /// # Errors
    /// [`Reason::Exists`] if it exists; [`Reason::Value`] if this cluster is invalid.
    pub fn create(&self, path: &Path) -> Result<(), ClusterError> {
        let persist = |file: tempfile::NamedTempFile| file.persist_noclobber(path);
        self.write(path, persist)
            .map_err(|reason| named(path, reason))
    }

    /// Replaces the file atomically, readable only by its owner.
    ///
    /// # Errors
    /// As [`Cluster::create`], except for an existing file.
    pub fn replace(&self, path: &Path) -> Result<(), ClusterError> {
        let persist = |file: tempfile::NamedTempFile| file.persist(path);
        self.write(path, persist)
            .map_err(|reason| named(path, reason))
    }

    /// The cluster map.
    ///
    /// # Errors
    /// Numbers of servers and partitions that make no cluster.
    pub fn map(&self) -> Result<ClusterMap, futago_base::map::MapError> {
        ClusterMap::new(self.epoch, self.policy, self.partitions, self.servers.len())
    }

    /// A server's entry.
    pub fn server(&self, id: ServerId) -> Option<&ServerEntry> {
        self.servers.get(usize::from(id.0))
    }

    /// How many servers a host has, of a server that it has.
    pub fn servers_beside(&self, id: ServerId) -> u64 {
        let host = self.server(id).map(|server| &server.host);
        let beside = self.servers.iter();
        beside.filter(|other| Some(&other.host) == host).count() as u64
    }

    /// The servers that a process hosts, without those that are copied to it.
    pub fn servers_of_process(&self, process: u32) -> Vec<ServerId> {
        (0..)
            .map(ServerId)
            .zip(&self.servers)
            .filter(|(id, server)| server.process == process && !self.is_copied(*id))
            .map(|(id, _)| id)
            .collect()
    }

    /// Whether the directory of a server is being copied to its host.
    pub fn is_copied(&self, id: ServerId) -> bool {
        self.copying.iter().any(|copying| copying.server == id.0)
    }

    /// The host that has the directory of a server.
    pub fn host_of_directory(&self, id: ServerId) -> Option<&str> {
        let mut copying = self.copying.iter();
        match copying.find(|copying| copying.server == id.0) {
            Some(copying) => Some(&copying.from),
            None => self.server(id)?.host.as_deref(),
        }
    }

    fn write(
        &self,
        path: &Path,
        persist: impl FnOnce(tempfile::NamedTempFile) -> Result<File, tempfile::PersistError>,
    ) -> Result<(), Reason> {
        self.check()?;
        // A temporary file has mode 0600 from the start, so the key is never open to others.
        let mut file = tempfile::NamedTempFile::new_in(directory(path))?;
        file.write_all(HEADING.as_bytes())?;
        let text = self.text()?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        persist(file).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Reason::Exists,
            _ => Reason::Io(error.error),
        })?;
        Ok(())
    }

    fn check(&self) -> Result<(), Reason> {
        let wrong = |text: String| Err(Reason::Value(text));
        if self.format != FORMAT {
            return wrong(format!(
                "format {} is not {FORMAT}, which this program reads",
                self.format
            ));
        }
        self.map()
            .map_err(|error| Reason::Value(error.to_string()))?;
        let chunks = limits::CHUNK_BYTES_MIN..=limits::CHUNK_BYTES_MAX;
        if !chunks.contains(&self.chunk_bytes) || !self.chunk_bytes.is_power_of_two() {
            return wrong(format!(
                "chunk_bytes = {} is not a power of two from {} to {}",
                self.chunk_bytes,
                chunks.start(),
                chunks.end()
            ));
        }
        if let Some(provider) = &self.fabric
            && provider.is_within_host()
            && self.servers.iter().any(|server| server.host.is_some())
        {
            return wrong(format!("fabric = \"{provider}\" connects no other hosts"));
        }
        let seconds = self.limits.give_up_seconds;
        if !(0.0..=GIVE_UP_SECONDS_MAX).contains(&seconds) {
            return wrong(format!(
                "give_up_seconds = {seconds} is not a time span of up to a year"
            ));
        }
        if self.limits.connections == 0 {
            return wrong("limits of no connections leave nobody served".into());
        }
        if self.limits.credits < 2 {
            let credits = self.limits.credits;
            return wrong(format!("credits = {credits} are too few: the least is 2"));
        }
        Ok(())
    }
}

/// A year. All times are counts of nanoseconds in 64 bits, which a longer one might exceed.
const GIVE_UP_SECONDS_MAX: f64 = 365.0 * 86_400.0;

const HEADING: &str = "# Keep this file secret: whoever reads it has the cluster.\n\n";

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn named(path: &Path, reason: Reason) -> ClusterError {
    ClusterError {
        path: path.to_owned(),
        reason,
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn read(path: &Path) -> Result<Cluster, Reason> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Reason::Value("it is not a regular file".into()));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(Reason::Mode(mode));
    }
    if metadata.size() > FILE_BYTES_MAX {
        return Err(Reason::Value("it is too large for a cluster file".into()));
    }
    // The text contains the key. The buffer has its final size, because a growing one would leave
    // copies in memory.
    let mut text = Zeroizing::new(String::with_capacity(metadata.size() as usize + 1));
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Cluster::parse(&text)
}

fn syntax(text: &str, error: &toml::de::Error) -> Reason {
    let before = error.span().map_or(0, |span| span.start);
    Reason::Syntax {
        line: 1 + text.bytes().take(before).filter(|&b| b == b'\n').count(),
        message: error.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn sample() -> Cluster {
        let server = |process| ServerEntry {
            address: Address::Unix(format!("/run/{process}.sock").into()),
            host: None,
            process,
        };
        Cluster::new("test", vec![server(0), server(0), server(1)]).unwrap()
    }

    fn in_directory(test: impl FnOnce(&Path)) {
        let directory = tempfile::tempdir().unwrap();
        test(&directory.path().join("c.toml"));
    }

    fn spoilt(change: impl FnOnce(String) -> String) -> String {
        let mut message = String::new();
        in_directory(|path| {
            sample().create(path).unwrap();
            let text = change(fs::read_to_string(path).unwrap());
            fs::write(path, text).unwrap();
            message = Cluster::load(path).unwrap_err().to_string();
            assert!(message.contains("c.toml"), "{message}");
        });
        message
    }

    #[test]
    fn a_cluster_reads_back_as_written_and_only_its_owner_may_read_it() {
        in_directory(|path| {
            let cluster = sample();
            cluster.create(path).unwrap();
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
            assert_eq!(Cluster::load(path).unwrap(), cluster);
            assert_eq!(cluster.servers_of_process(0), [ServerId(0), ServerId(1)]);
        });
    }

    #[test]
    fn a_server_that_is_copied_belongs_to_no_process() {
        in_directory(|path| {
            let mut cluster = sample();
            let from = "a".to_owned();
            cluster.copying.push(Copying { server: 1, from });
            cluster.create(path).unwrap();
            let cluster = Cluster::load(path).unwrap();
            assert_eq!(cluster.servers_of_process(0), [ServerId(0)]);
            assert_eq!(cluster.host_of_directory(ServerId(1)), Some("a"));
            assert_eq!(cluster.host_of_directory(ServerId(0)), None);
        });
    }

    #[test]
    fn creating_refuses_a_file_that_exists_and_replacing_does_not() {
        in_directory(|path| {
            let mut cluster = sample();
            cluster.create(path).unwrap();
            let error = sample().create(path).unwrap_err();
            assert!(matches!(error.reason, Reason::Exists));
            assert_eq!(Cluster::load(path).unwrap(), cluster);
            cluster.epoch = 2;
            cluster.replace(path).unwrap();
            assert_eq!(Cluster::load(path).unwrap().epoch, 2);
        });
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_what_to_do() {
        in_directory(|path| {
            sample().create(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
            let error = Cluster::load(path).unwrap_err().to_string();
            assert!(
                error.contains("0640") && error.contains("chmod 600"),
                "{error}"
            );
        });
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(spoilt(|text| text.replace("epoch", "epok")).contains("epok"));
        assert!(spoilt(|text| text.replace("/run/1.sock", "run")).contains("absolute"));
        assert!(
            spoilt(|text| text.replace("partitions = 4096", "partitions = 2"))
                .contains("3 servers")
        );
        assert!(spoilt(|text| text.replace("1048576", "1000000")).contains("power of two"));
        assert!(spoilt(|text| text.replace("format = 1", "format = 9")).contains("format 9"));
        assert!(spoilt(|_| String::new()).contains("missing"));
        for seconds in ["-1.0", "1e12", "nan"] {
            assert!(spoilt(|text| text.replace("30.0", seconds)).contains("give_up_seconds"));
        }
        assert!(spoilt(|text| text.replace("= 1024", "= 1")).contains("credits = 1"));
    }

    #[test]
    fn errors_about_the_key_do_not_show_it() {
        let key = String::from(sample().key);
        let message = spoilt(|text| text.replacen("key = \"", &format!("key = \"zz{key}"), 1));
        assert!(message.contains("hexadecimal"), "{message}");
        assert!(message.contains("line 6"), "{message}");
        assert!(!message.contains(&key), "{message}");
    }

    #[test]
    fn a_missing_file_is_named() {
        in_directory(|path| {
            let error = Cluster::load(path).unwrap_err().to_string();
            assert!(
                error.contains("c.toml") && error.contains("No such file"),
                "{error}"
            );
        });
    }
}
