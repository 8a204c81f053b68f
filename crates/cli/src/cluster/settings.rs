//! The settings of a new cluster, which last as long as it does.

use super::{cooperative, memory};
use anyhow::{Context, ensure};
use bytesize::ByteSize;
use clap::Args;
use futago_base::map::Policy;
use futago_node::{Cluster, CooperativeChoice};

/// Options of the commands that make clusters.
#[derive(Args)]
pub struct Settings {
    /// Encrypt and authenticate all that goes over TCP, at a price (see the manual). Processes of
    /// one host talk through memory or Unix sockets, which no network sees: that stays as it is.
    #[arg(long)]
    secure: bool,
    /// Have clients take leases, and ask the server that is nearest to them about names and files
    /// of others. It pays when many clients open the same files.
    #[arg(long)]
    contacts: bool,
    /// Have clients read from each other's caches what others have read already: `on` with 1GiB for
    /// the cache of each client, or `size=SIZE`. It pays when many clients read the same large
    /// files.
    #[arg(long, value_name = "on|off|size=SIZE", default_value = "off", value_parser = cooperative::parse, hide_default_value = true)]
    cooperative: CooperativeChoice,
    /// Memory for data and records, of all servers together, such as 4GiB. By default half of what
    /// each host has left, control groups considered. With a data directory, there may be more data
    /// than memory.
    #[arg(long)]
    memory: Option<ByteSize>,
    /// How partitions are dealt out to servers.
    #[arg(long, default_value = "modular", value_parser = parse_policy)]
    policy: Policy,
    /// How many partitions.
    #[arg(long, default_value_t = 4096)]
    partitions: usize,
    /// The chunk size of new files, a power of two from 4KiB to 4MiB.
    #[arg(long, default_value = "1MiB")]
    chunk_size: ByteSize,
    /// After how many seconds without an answer operations fail with an input/output error.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    give_up: f64,
    /// A name for people.
    #[arg(long, default_value = "futago")]
    name: String,
}

fn parse_policy(text: &str) -> Result<Policy, String> {
    match text {
        "modular" => Ok(Policy::Modular),
        "ring" => Ok(Policy::Ring),
        "plain-ring" => Ok(Policy::PlainRing),
        "rendezvous" => Ok(Policy::Rendezvous),
        _ => Err("write modular, ring, plain-ring or rendezvous".into()),
    }
}

impl Settings {
    /// A cluster that has no servers yet.
    ///
    /// # Errors
    /// If there is no randomness for its id and key.
    pub fn new_cluster(&self) -> anyhow::Result<Cluster> {
        let mut cluster = Cluster::new(self.name.clone(), Vec::new())?;
        cluster.secure = self.secure;
        cluster.contacts = self.contacts;
        cluster.cooperative = match self.cooperative {
            CooperativeChoice::On(cooperative) => Some(cooperative),
            CooperativeChoice::Off | CooperativeChoice::AsCluster => None,
        };
        cluster.policy = self.policy;
        cluster.partitions = self.partitions;
        cluster.chunk_bytes = u32::try_from(self.chunk_size.as_u64()).context("--chunk-size")?;
        cluster.limits.give_up_seconds = self.give_up;
        Ok(cluster)
    }

    /// Divides the memory among the servers of a cluster.
    ///
    /// # Errors
    /// If that is too little for each, or too much for this host while all of them are on it.
    pub fn share_memory(&self, cluster: &mut Cluster) -> anyhow::Result<()> {
        let total = self.memory.map_or(0, |memory| memory.as_u64());
        cluster.limits.memory_bytes = total / cluster.servers.len().max(1) as u64;
        ensure!(
            self.memory.is_none() || cluster.limits.memory_bytes >= 1 << 20,
            "--memory leaves less than 1 MiB a server"
        );
        if cluster.servers.iter().all(|server| server.host.is_none()) {
            memory::ensure_available(total)?;
        }
        Ok(())
    }
}
