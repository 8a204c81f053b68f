//! What a world is made of: plain data, written by hand, by a scenario file or by a preset.

use super::{Arrivals, Latency};
use futago_base::map::Policy;
use futago_des::{
    RandomStream,
    random::{Distribution, Zipf},
};
use futago_driver::{AdmissionConfig, CallsConfig};
use futago_lab::workload::{IoPhase, IoWorkload, Trace};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// A whole world: hosts, network, costs, protocol, workload, faults.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Chooses everything that is random.
    pub seed: u64,
    /// The hosts and what runs on them.
    pub hosts: Vec<Host>,
    /// What lies between the hosts.
    pub network: Network,
    /// What work costs in CPU time.
    pub costs: Costs,
    /// How long a change takes to be stored.
    pub store: Store,
    /// The settings of servers, clients and drivers.
    pub protocol: Protocol,
    /// Directories below the root that exist from the start.
    pub directories: Vec<Directory>,
    /// Empty directories of the clients that exist from the start.
    pub wide: WideDirectories,
    /// What the clients do, phase by phase; all begin a phase together.
    pub phases: Vec<Phase>,
    /// What goes wrong.
    pub faults: Faults,
}

/// A host. Servers and clients are numbered in the order of the hosts that they run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its place in the network: row and column of [`Network::paths`].
    pub group: u32,
    /// What its network interface sends, in bytes a second.
    pub send_bytes_per_s: u64,
    /// What its network interface receives, in bytes a second.
    pub receive_bytes_per_s: u64,
    /// Cores, shared by all that runs here.
    pub cores: u32,
    /// What its cores together copy of file data, in bytes a second; `None` if they do not get in each
    /// other's way.
    pub memory_bytes_per_s: Option<u64>,
    /// How many servers run here.
    pub servers: u32,
    /// How many clients run here.
    pub clients: u32,
}

impl Host {
    /// Whether some of its processes talk to each other, and so through memory.
    pub(super) const fn has_neighbours(&self) -> bool {
        self.servers > 1 || self.servers > 0 && self.clients > 0
    }
}

/// What lies between the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The most bytes that travel as one packet; each pays its own start-up.
    pub packet_bytes: u32,
    /// How large a message is.
    pub message_size: MessageSize,
    /// What a message between two processes of one host takes; it does not use the interface.
    pub local_ns: u64,
    /// `paths[from][to]`: the way from a host of one group to a host of another, or of the same.
    pub paths: Vec<Vec<Path>>,
    /// Links that the messages of several hosts share and wait for.
    pub shared_links: Vec<SharedLink>,
}

/// How large a message is on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSize {
    /// As large as its encoding, with header and data.
    Encoded,
    /// So many bytes, whatever it says, and the data that goes with it.
    Fixed(u32),
}

/// The way between two hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Start-up of the sender's interface: it occupies the interface, for every packet.
    pub startup_ns: u64,
    /// What comes after it.
    pub hops: Vec<Hop>,
    /// The slowest link between the two interfaces, in bytes a second, if it may be slower than both.
    pub bytes_per_s: Option<u64>,
}

/// A step of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The link of [`Network::shared_links`] that a packet waits for, if any.
    pub shared_link: Option<u32>,
    /// The time that it takes beside, which occupies nothing.
    pub latency_ns: u64,
}

/// A link, back plane or trunk that serves one packet at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLink {
    /// What reports call it.
    pub name: String,
    /// Bytes a second.
    pub bytes_per_s: u64,
}

/// CPU time of primitives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// What a server pays.
    pub server: ServerCosts,
    /// What a client pays.
    pub client: ClientCosts,
    /// From a message's arrival at a process that sleeps until it runs.
    pub wake_up_ns: u64,
    /// How processes look for messages before they sleep; without it they sleep whenever they wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looking: Option<Looking>,
}

/// What it costs to look for messages. A process that waits occupies a core in its turn; after a look in vain
/// the next process of the core has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looking {
    /// A look in vain, and the change to the next process of the core.
    pub pass_ns: u64,
}

/// What a server pays for a message that it handles, by the work that its core reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerCosts {
    /// For all messages together that it finds of one sender when it looks.
    pub turn_ns: f64,
    /// For each message that it handles.
    pub input_ns: f64,
    /// The same for requests of one name, such as `create`, in the place of `input_ns`.
    pub request_ns: BTreeMap<String, f64>,
    /// For each message that it sends.
    pub output_ns: f64,
    /// For each record that it looks up.
    pub record_read_ns: f64,
    /// For each record that it passes in a range.
    pub record_scanned_ns: f64,
    /// What that becomes where the servers of a host hold more files than its caches do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_files: Option<ManyFiles>,
    /// For each record that it puts or deletes.
    pub record_written_ns: f64,
    /// For each byte of file data that it reads or writes.
    pub byte_ns: f64,
    /// For each byte of file data that comes with a message.
    pub byte_received_ns: f64,
    /// For each byte of file data that goes with a message.
    pub byte_sent_ns: f64,
    /// Besides, where other processes have used the core's caches meanwhile.
    #[serde(skip_serializing_if = "MessageCosts::are_none")]
    pub cold: MessageCosts,
    /// Besides, for messages from and to other hosts: they go through sockets.
    #[serde(skip_serializing_if = "MessageCosts::are_none")]
    pub sockets: MessageCosts,
}

/// How a record becomes dearer the more files the servers of a host hold together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManyFiles {
    /// Up to so many files it costs as usual.
    pub from: u64,
    /// From so many on, more than the former, it costs [`Self::record_scanned_ns`]; between both, the more the larger the logarithm of
    /// their number.
    pub until: u64,
    /// For each record that is passed in a range.
    pub record_scanned_ns: f64,
}

impl ServerCosts {
    /// What each record costs that is passed in a range, where the host's servers hold so many files.
    pub(super) fn scanned_ns(&self, files: u64) -> f64 {
        let Some(many) = self.many_files else {
            return self.record_scanned_ns;
        };
        let [from, until, files] = [many.from, many.until, files].map(|files| files.max(1) as f64);
        let share = ((files / from).ln() / (until / from).ln()).clamp(0.0, 1.0);
        self.record_scanned_ns + share * (many.record_scanned_ns - self.record_scanned_ns)
    }
}

/// What messages cost a process, whatever they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MessageCosts {
    /// For all messages together that are found of one sender.
    pub turn_ns: f64,
    /// For each byte of file data that comes with a message.
    pub byte_received_ns: f64,
    /// For each byte of file data that goes with a message.
    pub byte_sent_ns: f64,
}

impl MessageCosts {
    fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// These with what makes them dearer under some circumstances.
    fn at(self, at: Circumstances, cold: Self, sockets: Self) -> Self {
        let only_if = |applies: bool, more: Self| if applies { more } else { Self::default() };
        self.plus(only_if(at.is_cold, cold))
            .plus(only_if(at.is_remote, sockets))
    }

    fn plus(self, more: Self) -> Self {
        Self {
            turn_ns: self.turn_ns + more.turn_ns,
            byte_received_ns: self.byte_received_ns + more.byte_received_ns,
            byte_sent_ns: self.byte_sent_ns + more.byte_sent_ns,
        }
    }
}

/// Where a message is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Circumstances {
    /// Other processes have used the core's caches meanwhile.
    pub is_cold: bool,
    /// Its other end is on another host.
    pub is_remote: bool,
}

impl ServerCosts {
    /// What messages cost.
    pub(super) fn messages(&self, at: Circumstances) -> MessageCosts {
        let plain = MessageCosts {
            turn_ns: self.turn_ns,
            byte_received_ns: self.byte_received_ns,
            byte_sent_ns: self.byte_sent_ns,
        };
        plain.at(at, self.cold, self.sockets)
    }
}

impl ClientCosts {
    /// What messages cost.
    pub(super) fn messages(&self, at: Circumstances) -> MessageCosts {
        let plain = MessageCosts {
            turn_ns: self.turn_ns,
            byte_received_ns: self.byte_received_ns,
            byte_sent_ns: self.byte_sent_ns,
        };
        plain.at(at, self.cold, self.sockets)
    }
}

/// What a client pays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientCosts {
    /// For each operation, when it begins.
    pub operation_ns: f64,
    /// For all messages together that it finds of one sender when it looks.
    pub turn_ns: f64,
    /// For each request that it sends, by its name, such as `create`: to make it, and to take in its answer.
    pub request_ns: BTreeMap<String, f64>,
    /// For each message that it receives.
    pub input_ns: f64,
    /// For each name of a listing that it receives.
    pub listed_name_ns: f64,
    /// For each byte of file data that comes with a message.
    pub byte_received_ns: f64,
    /// For each byte of file data that goes with a message.
    pub byte_sent_ns: f64,
    /// Besides, where other processes have used the core's caches meanwhile.
    #[serde(skip_serializing_if = "MessageCosts::are_none")]
    pub cold: MessageCosts,
    /// Besides, for messages from and to other hosts: they go through sockets.
    #[serde(skip_serializing_if = "MessageCosts::are_none")]
    pub sockets: MessageCosts,
}

/// How long a change takes from the end of its handler until its answers may leave. It occupies
/// neither server nor core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The time of one batch.
    pub latency: Latency,
    /// Besides, for each byte of file data in it.
    pub byte_ns: f64,
    /// How many batches a server's store takes at once; `None` for any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// The settings of the real code.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// Partitions of the cluster map.
    pub partitions: usize,
    /// How they are dealt out.
    pub policy: Policy,
    /// Memory of each server's store, in bytes.
    pub store_bytes: u64,
    /// The servers' core.
    pub server: futago_server::Config,
    /// The clients' core.
    pub client: futago_client::Config,
    /// The clients' driver.
    pub calls: CallsConfig,
    /// The servers' driver.
    pub admission: AdmissionConfig,
    /// Clients show every server that they live, four times a lease, and servers give up on those
    /// that do not. Without it sessions last for ever.
    pub keep_alive: bool,
}

/// A directory below the root that exists from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Its name.
    pub name: String,
    /// How many buckets its names are spread over, a power of two. A small directory has 1; one
    /// that has grown over *s* servers has at least *s*. Buckets are dealt out by the cluster map:
    /// many more buckets than servers make the shares even.
    pub buckets: u64,
    /// Clients know the buckets from the start and need not learn them by asking the wrong one.
    pub known: bool,
    /// What clients call their files in it.
    pub names: FileNames,
}

/// Empty directories below the root that belong to one client each: its first directories in
/// [`Place::Root`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WideDirectories {
    /// How many each client has.
    pub each: u64,
    /// How many buckets each has, a power of two.
    pub buckets: u64,
}

impl Default for WideDirectories {
    fn default() -> Self {
        Self {
            each: 0,
            buckets: 1,
        }
    }
}

/// What clients call the files of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileNames {
    /// By client and number. The hash of the protocol deals them out to servers as if at random.
    #[default]
    Numbered,
    /// By client, number, and what makes the hash of the protocol deal a client's files out to the
    /// servers one after the other; each client begins with another server.
    InTurn,
}

/// What a client does.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OperationKind {
    /// Makes an empty file.
    Create,
    /// Asks for the attributes of one of the files by its name in the directory.
    Stat,
    /// The same by a path from the root.
    Lookup,
    /// Lists up to a thousand names, from a random place on.
    ReadDirectory,
    /// Removes the oldest of the client's files.
    Unlink,
    /// Makes a directory.
    MakeDirectory,
    /// Removes the oldest of the client's directories.
    RemoveDirectory,
    /// Gives the oldest of the client's files a new name.
    Rename,
    /// Gives one of the files another name.
    Link,
    /// Exchanges two of the files.
    Exchange,
    /// Changes the permissions of the phase's directory.
    SetAttributes,
    /// Writes a part of a file; not in a [`Mix`], and neither is any of the following ones.
    Write,
    /// Reads a part of a file.
    Read,
    /// Writes at the end of a file.
    Append,
    /// Opens a file.
    Open,
    /// Closes a file.
    Close,
    /// Asks for the attributes of a file that has been found.
    GetAttributes,
    /// Makes a symbolic link.
    Symlink,
    /// Asks for a symbolic link's target.
    ReadLink,
    /// Copies a part of a file into another one.
    Copy,
}

/// Where a phase takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// All clients use this one of [`Setup::directories`].
    Shared(usize),
    /// Each client has a directory below the root to itself, which it makes beforehand.
    Own,
    /// The root.
    Root,
}

impl Place {
    /// A number for each place: these two first, then the shared directories.
    pub const fn index(self) -> usize {
        match self {
            Self::Own => 0,
            Self::Root => 1,
            Self::Shared(number) => 2 + number,
        }
    }
}

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// Each client performs so many operations; all of the phase is measured.
    Operations(u64),
    /// Clients begin operations for this long. What happens after the warm-up is measured.
    Duration {
        /// From the beginning of the phase until it is measured.
        warm_up_ns: u64,
        /// For how long it is measured.
        measured_ns: u64,
    },
}

/// What clients do in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Operations on names.
    Names(Mix),
    /// Transfers of large files.
    Data(Data),
    /// A recorded run: each of its processes is a client, in their order.
    Trace(Arc<Trace>),
}

/// Operations on names. A client that has nothing to unlink, stat or rename creates a file instead, and
/// one that has no directory to remove makes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// The operations, with weights.
    pub operations: Vec<(OperationKind, u32)>,
    /// So many files of the place, made beforehand, belong to all clients together. Where there are
    /// any, `stat`, `lookup`, `link` and `exchange` are about them and not about the client's own.
    pub common: u64,
    /// How a file is chosen where any will do.
    pub popularity: Popularity,
}

/// How often each of several files is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    /// All as often.
    #[default]
    Uniform,
    /// The one of rank *k* as often as *k* to the power of minus this; the oldest has rank 1.
    Zipf(f64),
}

impl Popularity {
    /// The rank of one of so many, from 0.
    pub(super) fn draw(self, count: u64, random: &mut RandomStream) -> u64 {
        match self {
            Self::Uniform => random.below(count),
            Self::Zipf(exponent) => Zipf::new(count, exponent).sample(random) as u64 - 1,
        }
    }

    /// Whether it can be drawn from.
    pub(super) fn is_valid(self) -> bool {
        match self {
            Self::Uniform => true,
            Self::Zipf(exponent) => exponent > 0.0 && exponent.is_finite(),
        }
    }
}

impl OperationKind {
    /// Whether it can be in a [`Mix`].
    pub fn is_mixed(self) -> bool {
        self < Self::Write
    }

    /// Whether it is about any of several files, by [`Popularity`].
    pub const fn chooses(self) -> bool {
        matches!(
            self,
            Self::Stat | Self::Lookup | Self::Link | Self::Exchange
        )
    }
}

impl From<Vec<(OperationKind, u32)>> for Mix {
    fn from(operations: Vec<(OperationKind, u32)>) -> Self {
        Self {
            operations,
            ..Self::default()
        }
    }
}

/// Transfers of large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Whether they are written or read.
    pub phase: IoPhase,
    /// Which files, in which pieces and order.
    pub workload: IoWorkload,
    /// Every client writes its data before the phase: what is read must be there.
    pub fill: bool,
}

/// One phase of the workload. A client has one operation under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// What reports call it.
    pub name: String,
    /// Where.
    pub place: Place,
    /// What.
    pub activity: Activity,
    /// How much.
    pub amount: Amount,
    /// The time between an operation's end and the beginning of the next one.
    pub think: Latency,
    /// When operations arrive, if it is not the end of the one before and `think` that decides (a
    /// closed loop).
    pub arrivals: Option<Arrivals>,
}

/// What goes wrong. Probabilities are those of a message between hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// The share of messages that are lost.
    pub lost: f64,
    /// The share of messages that arrive twice.
    pub doubled: f64,
    /// The share of messages that are late, and overtaken by others.
    pub late: f64,
    /// How late, at most.
    pub late_ns: u64,
    /// Hosts that cannot reach each other for a while.
    pub partitions: Vec<HostPartition>,
    /// Clients that die: their numbers and when.
    pub dead_clients: Vec<(u32, u64)>,
    /// Servers that stop and come back empty.
    pub stopped_servers: Vec<ServerStop>,
}

/// Two hosts that cannot reach each other for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPartition {
    /// One of them.
    pub one: u32,
    /// The other.
    pub other: u32,
    /// From when.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
}

/// A server that stops, loses everything, and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStop {
    /// The server.
    pub server: u32,
    /// When it stops.
    pub at_ns: u64,
    /// When it is back.
    pub back_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_dearer_with_the_logarithm_of_the_number_of_files() {
        let usual = ServerCosts {
            record_scanned_ns: 400.0,
            ..ServerCosts::default()
        };
        assert_eq!(usual.scanned_ns(1 << 30), 400.0);
        let many_files = Some(ManyFiles {
            from: 4_000,
            until: 16_000,
            record_scanned_ns: 1_000.0,
        });
        let costs = ServerCosts {
            many_files,
            ..usual
        };
        for (files, ns) in [
            (0, 400.0),
            (4_000, 400.0),
            (8_000, 700.0),
            (16_000, 1_000.0),
            (1 << 30, 1_000.0),
        ] {
            assert!((costs.scanned_ns(files) - ns).abs() < 1e-9, "{files} files");
        }
    }
}
