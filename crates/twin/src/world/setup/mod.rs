//! The setup of a world: plain data, written by hand, by a scenario file or by a preset.

mod costs;
mod disk;
mod faults;
mod network;
mod workload;

pub(super) use costs::Held;
pub(crate) use costs::share;
pub use costs::{
    AfterIdle, ClientCosts, Costs, Looking, ManyFiles, MessageCosts, MuchData, ServerCosts, Store,
};
pub use disk::{Disk, DiskReads};
pub use faults::{Faults, HostPartition, ServerStop};
pub use network::{Hop, MessageSize, Network, Path, SharedLink};
pub use workload::{
    Activity, Amount, Data, Directory, FileNames, Mix, OperationKind, Phase, Place, Popularity,
    WideDirectories,
};

use futago_base::map::Policy;
use futago_driver::{AdmissionConfig, CallsConfig};
use futago_store::Sync;
use serde::{Deserialize, Serialize};

/// A whole world: hosts, network, costs, protocol, workload, faults.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Chooses everything that is random.
    pub seed: u64,
    /// The hosts and what runs on them.
    pub hosts: Vec<Host>,
    /// Whether every polling process stays on one core of its host. Cores are assigned in order,
    /// servers first. Otherwise processes move as on Linux.
    pub bind_to_core: bool,
    /// The network between the hosts.
    pub network: Network,
    /// The costs of work in CPU time.
    pub costs: Costs,
    /// How long a change takes to be stored.
    pub store: Store,
    /// The disk of each server, and the losses that a confirmed change survives; `None` if servers
    /// have no disks.
    pub disk: Option<(Disk, Sync)>,
    /// The settings of servers, clients and drivers.
    pub protocol: Protocol,
    /// Directories below the root that exist from the start.
    pub directories: Vec<Directory>,
    /// Empty directories of the clients that exist from the start.
    pub wide: WideDirectories,
    /// The work of the clients, phase by phase; all begin a phase together.
    pub phases: Vec<Phase>,
    /// The faults.
    pub faults: Faults,
}

/// A host. Servers and clients are numbered in the order of the hosts that they run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its place in the network: row and column of [`Network::paths`].
    pub group: u32,
    /// The send rate of its network interface, in bytes a second.
    pub send_bytes_per_s: u64,
    /// The receive rate of its network interface, in bytes a second.
    pub receive_bytes_per_s: u64,
    /// Cores, shared by all that runs here.
    pub cores: u32,
    /// The rate at which its cores together copy file data, in bytes a second; `None` if they do
    /// not slow each other.
    pub memory_bytes_per_s: Option<u64>,
    /// How many times as much a byte of file data costs on a connection between its processes,
    /// because of the number of connections.
    pub byte_times: f64,
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
    /// Clients take leases. They return none, so phases must change nothing.
    pub leases: bool,
    /// Clients with leases ask a server of their own host first, or any if there is none.
    pub contacts: bool,
    /// Clients with leases read file data from each other's caches.
    pub cooperative: bool,
}
