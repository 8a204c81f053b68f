//! How many servers and clients, and by which settings they work.

use crate::world::Protocol;
use bytesize::ByteSize;
use futago_base::{ClusterMap, Duration, limits, map::Policy};
use futago_driver::{AdmissionConfig, CallsConfig};
use futago_lab::document::{Problem, bounds};
use futago_store::Sync;
use serde::Deserialize;

/// The servers and clients of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// How many servers.
    #[serde(deserialize_with = "bounds::count")]
    pub servers: u32,
    /// How many clients.
    #[serde(deserialize_with = "bounds::count")]
    pub clients: u32,
    /// Partitions of the cluster map.
    #[serde(default = "partitions", deserialize_with = "bounds::count")]
    pub partitions: u32,
    /// How partitions are dealt out.
    #[serde(default)]
    pub policy: Policy,
    /// Bytes a chunk of new files.
    #[serde(default = "chunk")]
    pub chunk: ByteSize,
    /// Memory of each server's store.
    #[serde(default = "memory")]
    pub memory: ByteSize,
    /// Whether every process stays on one core of its host. Cores are assigned in order, servers
    /// first. Without `costs.looking` of the machine, processes have no core of their own, and
    /// nothing changes.
    #[serde(default)]
    pub bind_to_core: bool,
    /// Where servers keep what they store.
    #[serde(default)]
    pub store: Medium,
    /// The losses that a confirmed change survives if they have disks.
    #[serde(default)]
    pub sync: Sync,
    /// Whether clients share their caches, as with `up --cooperative on`: they take leases, so only
    /// where phases read what is there, or where each client writes files of its own.
    #[serde(default)]
    pub cooperative: bool,
    /// The cache of each client that shares it, as with `up --cooperative size=SIZE`.
    #[serde(default = "shared_cache")]
    pub shared_cache: ByteSize,
    /// Settings of the real code.
    #[serde(default)]
    pub protocol: ProtocolSettings,
}

/// Where servers keep what they store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// In memory, or as the machine's `store` says.
    #[default]
    Memory,
    /// On the machine's `disk` as well, as with `up --data`.
    Disk,
}

const fn partitions() -> u32 {
    4096
}

const fn chunk() -> ByteSize {
    ByteSize::mib(1)
}

const fn shared_cache() -> ByteSize {
    ByteSize::gib(1)
}

const fn memory() -> ByteSize {
    ByteSize::tib(1)
}

/// Settings of the real code; what is absent is as in a real cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProtocolSettings {
    /// A bucket with more entries than this splits.
    pub split_entries: Option<u64>,
    /// Directories up to this far below the root are spread over the cluster.
    pub spread_depth: Option<u16>,
    /// How long an undecided transaction may keep others waiting, in milliseconds.
    #[serde(deserialize_with = "bounds::some_time_ms")]
    pub grace_ms: Option<u64>,
    /// How long a silent client keeps its locks and open files, in milliseconds.
    #[serde(deserialize_with = "bounds::some_time_ms")]
    pub lease_ms: Option<u64>,
    /// How often servers look after what is overdue, in milliseconds.
    #[serde(deserialize_with = "bounds::some_time_ms")]
    pub tick_ms: Option<u64>,
    /// After how long servers repeat messages to each other, in milliseconds.
    #[serde(deserialize_with = "bounds::some_time_ms")]
    pub resend_ms: Option<u64>,
    /// After how long clients repeat requests, in milliseconds.
    #[serde(deserialize_with = "bounds::some_time_ms")]
    pub request_resend_ms: Option<u64>,
    /// How many requests a client may have under way to one server.
    #[serde(deserialize_with = "bounds::some_count")]
    pub window: Option<u32>,
    /// How much data of one read or write a client has under way, and at least two chunks; 0 for
    /// one chunk at a time.
    pub transfer: Option<ByteSize>,
    /// Whether clients show that they live.
    pub keep_alive: bool,
    /// Whether clients take leases: as with `cooperative`.
    pub leases: bool,
    /// Whether clients with leases ask the server of their own host first, if it has one.
    pub contacts: bool,
}

fn wrong_size(size: ByteSize, text: &str) -> Problem {
    Problem::new(format!("{} {text}", size.display().iec()))
}

impl Cluster {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let servers = self.servers as usize;
        if servers > limits::SERVERS {
            let text = format!(
                "{servers} servers are more than the most, {}",
                limits::SERVERS
            );
            return Err(Problem::new(text).inside("servers"));
        }
        self.check_sizes()?;
        let map = ClusterMap::new(1, self.policy, self.partitions as usize, servers);
        match map {
            Ok(_) => Ok(()),
            Err(error) => Err(Problem::new(error.to_string()).inside("partitions")),
        }
    }

    fn check_sizes(&self) -> Result<(), Problem> {
        let chunk = u64::from(limits::CHUNK_BYTES_MIN)..=u64::from(limits::CHUNK_BYTES_MAX);
        let chunk_bytes = self.chunk.as_u64();
        if !chunk.contains(&chunk_bytes) || !chunk_bytes.is_power_of_two() {
            let text = "must be a power of two between 4 KiB and 4 MiB";
            return Err(wrong_size(self.chunk, text).inside("chunk"));
        }
        // Less is refused by real servers, too.
        let memory = ByteSize::mib(1)..=ByteSize::pib(1);
        if !memory.contains(&self.memory) {
            let text = "must be between 1 MiB and 1 PiB";
            return Err(wrong_size(self.memory, text).inside("memory"));
        }
        Ok(())
    }

    /// The settings of clients by whether they share their caches. They verify no sums, because to
    /// compute those of patterns would take the simulation longer than all the rest.
    fn sharing_config(&self) -> futago_client::Config {
        let usual = futago_client::Config::default();
        match self.cooperative {
            false => usual,
            true => futago_client::Config {
                data_bytes_max: self.shared_cache.as_u64(),
                copy_sums: false,
                ..usual
            },
        }
    }

    /// The settings of the real code.
    pub(super) fn protocol(&self) -> Protocol {
        let set = &self.protocol;
        let mut server = futago_server::Config::default();
        let or = |chosen: Option<u64>, default| chosen.map_or(default, Duration::from_millis);
        server.grace = or(set.grace_ms, server.grace);
        server.lease = or(set.lease_ms, server.lease);
        server.tick = or(set.tick_ms, server.tick);
        server.resend = or(set.resend_ms, server.resend);
        server.split_entries = set.split_entries.unwrap_or(server.split_entries);
        server.spread_depth = set.spread_depth.unwrap_or(server.spread_depth);
        let mut calls = CallsConfig::default();
        calls.resend_min = or(set.request_resend_ms, calls.resend_min);
        calls.resend_max.0 = calls.resend_max.0.max(calls.resend_min.0);
        let leases = set.leases || self.cooperative;
        calls.leases = leases;
        let transfer_bytes_max = set.transfer.map_or(
            futago_client::Config::default().transfer_bytes_max,
            |most| most.as_u64() as usize,
        );
        calls.window = set.window.unwrap_or(calls.window);
        Protocol {
            partitions: self.partitions as usize,
            policy: self.policy,
            store_bytes: self.memory.as_u64(),
            server,
            client: futago_client::Config {
                chunk_bytes: self.chunk.as_u64() as u32,
                transfer_bytes_max,
                ..self.sharing_config()
            },
            calls,
            admission: AdmissionConfig::default(),
            keep_alive: set.keep_alive,
            leases,
            contacts: set.contacts,
            cooperative: self.cooperative,
        }
    }
}
