//! The costs of a disk.

use crate::world::Latency;
use futago_lab::document::bounds;
use serde::{Deserialize, Serialize};

/// The disk of a server, which has it to itself. One synchronization serves everything that was
/// written before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disk {
    /// The server's own time to hand a batch to the system.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub batch_ns: f64,
    /// Besides, for each byte of file data in it.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub handed_byte_ns: f64,
    /// The time of a synchronization.
    pub latency: Latency,
    /// Besides, for each byte of file data since the one before.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_ns: f64,
    /// The time that a server which comes back takes for each record of its log.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub recovered_record_ns: f64,
    /// The records that each log has from before the run, besides those of the run. They cost
    /// nothing until a server comes back.
    pub held_records: u32,
    /// The reads of file data that is no longer in memory; without them all of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<DiskReads>,
}

/// The reads of file data from a disk, one after the other. The data that was used last is in the
/// memory of the server's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiskReads {
    /// How much file data is in memory.
    pub memory_mib: u32,
    /// The time of a read from a chunk.
    pub latency: Latency,
    /// Besides, for each byte.
    #[serde(deserialize_with = "bounds::cost_ns")]
    pub byte_ns: f64,
}

impl Disk {
    /// The time that a server takes to read its log, with so many records of the run.
    pub fn recovery_ns(&self, records: usize) -> u64 {
        let records = records as f64 + f64::from(self.held_records);
        (records * self.recovered_record_ns).round() as u64
    }
}
