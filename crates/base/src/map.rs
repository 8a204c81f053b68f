//! The cluster map: which server owns which partition.

use crate::{BucketStart, ChunkId, FileId, Partition, ServerId, limits};
use alloc::{string::String, sync::Arc, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// How partitions are assigned to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Partition *p* belongs to server *p* modulo the number of servers.
    #[default]
    Modular,
    /// Consistent hashing with virtual servers (Karger et al., STOC 1997).
    Ring,
    /// The same with one point a server, for comparison: the largest share is several times the
    /// mean.
    PlainRing,
    /// Rendezvous hashing: the server with the highest hash of (partition, server)
    /// (Thaler and Ravishankar, 1996).
    Rendezvous,
}

/// The assignment of partitions to servers, with an epoch. Clones share the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMap {
    epoch: u32,
    servers: u16,
    owners: Arc<[ServerId]>,
}

/// Why a cluster map cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError(String);

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for MapError {}

/// Points on the ring for each server, enough that the largest share exceeds the mean by few
/// percent.
const VIRTUAL_SERVERS: u16 = 128;

impl ClusterMap {
    /// Assigns `partitions` to `servers` by `policy`.
    ///
    /// Errors: no servers, more than [`limits::SERVERS`], or a number of partitions that is below
    /// the number of servers or above [`limits::PARTITIONS`].
    pub fn new(
        epoch: u32,
        policy: Policy,
        partitions: usize,
        servers: usize,
    ) -> Result<Self, MapError> {
        if servers == 0 || servers > limits::SERVERS {
            return Err(MapError(alloc::format!(
                "a cluster has 1 to {} servers, not {servers}",
                limits::SERVERS
            )));
        }
        if partitions < servers || partitions > limits::PARTITIONS {
            return Err(MapError(alloc::format!(
                "{servers} servers need {servers} to {} partitions, not {partitions}",
                limits::PARTITIONS
            )));
        }
        let servers = servers as u16;
        let all = 0..partitions as u16;
        let owners: Vec<ServerId> = match policy {
            Policy::Modular => all.map(|p| ServerId(p % servers)).collect(),
            Policy::Ring => ring(all, servers, VIRTUAL_SERVERS),
            Policy::PlainRing => ring(all, servers, 1),
            Policy::Rendezvous => all.map(|p| rendezvous(p, servers)).collect(),
        };
        Ok(Self {
            epoch,
            servers,
            owners: owners.into(),
        })
    }

    /// The map's version, which every change of the map raises.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The servers of the cluster.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> + use<> {
        (0..self.servers).map(ServerId)
    }

    /// How many servers the cluster has.
    pub const fn server_count(&self) -> u16 {
        self.servers
    }

    /// How many partitions the cluster has.
    pub fn partition_count(&self) -> usize {
        self.owners.len()
    }

    /// The server that owns a partition.
    ///
    /// A number beyond the last partition wraps around. So a hostile identity leads to a server
    /// that refuses it, and not to a panic.
    pub fn owner(&self, partition: Partition) -> ServerId {
        self.owners[partition.0 as usize % self.owners.len()]
    }

    /// The server that holds a file's inode.
    pub fn home(&self, file: FileId) -> ServerId {
        self.owner(file.home())
    }

    /// The partition `count` steps after `partition`.
    fn step(&self, partition: Partition, count: u64) -> Partition {
        let partitions = self.owners.len() as u64;
        Partition(((u64::from(partition.0) + count % partitions) % partitions) as u16)
    }

    /// The partition of a chunk. Chunk 0 lives at home; the others stripe over the following
    /// partitions.
    pub fn chunk_partition(&self, chunk: ChunkId) -> Partition {
        self.step(chunk.file.home(), chunk.index)
    }

    /// The server that holds a chunk.
    pub fn chunk_server(&self, chunk: ChunkId) -> ServerId {
        self.owner(self.chunk_partition(chunk))
    }

    /// The partition of a directory's bucket. The first bucket lives at the directory's home.
    pub fn bucket_partition(&self, directory: FileId, bucket: BucketStart) -> Partition {
        self.step(directory.home(), bucket.ordinal())
    }

    /// The server that holds a directory's bucket.
    pub fn bucket_server(&self, directory: FileId, bucket: BucketStart) -> ServerId {
        self.owner(self.bucket_partition(directory, bucket))
    }

    /// The partition that a hash selects.
    pub fn partition_of_hash(&self, hash: u64) -> Partition {
        Partition((hash % self.owners.len() as u64) as u16)
    }
}

fn point(kind: u8, a: u16, b: u16) -> u64 {
    let [a0, a1] = a.to_le_bytes();
    let [b0, b1] = b.to_le_bytes();
    xxh3_64(&[kind, a0, a1, b0, b1])
}

fn ring(partitions: core::ops::Range<u16>, servers: u16, points_each: u16) -> Vec<ServerId> {
    let mut points: Vec<(u64, u16)> = (0..servers)
        .flat_map(|server| (0..points_each).map(move |v| (point(b'v', server, v), server)))
        .collect();
    points.sort_unstable();
    partitions
        .map(|partition| {
            let at = points.partition_point(|&(hash, _)| hash < point(b'p', partition, 0));
            ServerId(points[at % points.len()].1)
        })
        .collect()
}

fn rendezvous(partition: u16, servers: u16) -> ServerId {
    let winner = (0..servers).max_by_key(|&server| point(b'r', partition, server));
    ServerId(winner.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_chunks_stripe_over_consecutive_servers() {
        let map = ClusterMap::new(1, Policy::Modular, 4096, 4).unwrap();
        let file = FileId::new(Partition(5), 9);
        let servers: Vec<u16> = (0..5)
            .map(|index| map.chunk_server(ChunkId { file, index }).0)
            .collect();
        assert_eq!(servers, [1, 2, 3, 0, 1]);
    }

    #[test]
    fn every_policy_gives_every_server_a_fair_share() {
        for policy in [Policy::Modular, Policy::Ring, Policy::Rendezvous] {
            let map = ClusterMap::new(1, policy, 4096, 8).unwrap();
            for server in map.servers() {
                let share = (0..4096)
                    .filter(|&p| map.owner(Partition(p)) == server)
                    .count();
                assert!(
                    (256..=1024).contains(&share),
                    "{policy:?} {server}: {share}"
                );
            }
        }
    }

    /// The largest of 64 arcs is as long as the sum of 1/k over k up to 64, in means: 4.7.
    #[test]
    fn a_ring_without_virtual_servers_is_far_from_even() {
        let map = ClusterMap::new(1, Policy::PlainRing, 4096, 64).unwrap();
        let share = |server| {
            (0..4096)
                .filter(|&p| map.owner(Partition(p)) == server)
                .count()
        };
        let largest = map.servers().map(share).max().unwrap_or(0);
        assert!((2 * 64..=10 * 64).contains(&largest), "{largest}");
    }

    #[test]
    fn rendezvous_moves_only_what_a_new_server_takes() {
        let before = ClusterMap::new(1, Policy::Rendezvous, 4096, 8).unwrap();
        let after = ClusterMap::new(2, Policy::Rendezvous, 4096, 9).unwrap();
        for p in (0..4096).map(Partition) {
            assert!(after.owner(p) == before.owner(p) || after.owner(p) == ServerId(8));
        }
    }

    #[test]
    fn absurd_sizes_are_refused_with_a_reason() {
        for (partitions, servers) in [(4096, 0), (2, 3), (70_000, 3), (4096, 5000)] {
            assert!(ClusterMap::new(1, Policy::Modular, partitions, servers).is_err());
        }
    }
}
