//! Counts of events that become certain.

use super::scene::Window;
use super::{MeasuredSources, MeasuredTransactions, OperationKind, ResourceClass};
use futago_base::Errno;
use futago_server::TransactionCounts;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The output of an event, once it is certain.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    /// An operation has ended.
    Operation {
        window: Window,
        kind: OperationKind,
        arrived_ns: u64,
        ended_ns: u64,
        /// The bytes of file data that it has moved.
        outcome: Result<u64, Errno>,
        /// Attempts that came to nothing before.
        retries: u32,
    },
    /// A resource has been used, or will have been.
    Use {
        window: Window,
        class: ResourceClass,
        arrived_ns: u64,
        started_ns: u64,
        ended_ns: u64,
    },
    /// A server has decided something about transactions.
    Transactions {
        window: Window,
        at_ns: u64,
        counts: TransactionCounts,
    },
    /// An operation has read data that all clients read: bytes from servers and from clients.
    Sources {
        window: Window,
        at_ns: u64,
        sources: [u64; 2],
    },
    /// An operation has arrived, and has not begun when the measured part ended.
    Left { window: Window, arrived_ns: u64 },
}

/// How one resource was used in one phase.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Uses that ended in the window, their times of service and of waiting.
    pub uses: u64,
    pub service_ns: u64,
    pub wait_ns: u64,
    /// The parts of all uses, and of all waiting, that lie within the window.
    pub busy_ns: u64,
    pub queued_ns: u64,
}

impl Usage {
    pub fn add(&mut self, window: Window, [arrived, started, ended]: [u64; 3]) {
        if window.contains(ended) {
            self.uses += 1;
            self.service_ns += ended - started;
            self.wait_ns += started - arrived;
        }
        self.busy_ns += overlap_ns(window, started, ended);
        self.queued_ns += overlap_ns(window, arrived, started);
    }

    pub fn merge(&mut self, other: &Self) {
        self.uses += other.uses;
        self.service_ns += other.service_ns;
        self.wait_ns += other.wait_ns;
        self.busy_ns += other.busy_ns;
        self.queued_ns += other.queued_ns;
    }
}

fn overlap_ns(window: Window, from: u64, until: u64) -> u64 {
    let from = from.max(window.from_ns);
    until.min(window.until_ns).saturating_sub(from)
}

/// The uses of one host's or link's resources, by phase and class.
pub type UsageTable = BTreeMap<(u32, ResourceClass), Usage>;

/// The outcomes of the transactions of one host's servers, by phase.
pub type TransactionTable = BTreeMap<u32, MeasuredTransactions>;

/// Where the data that all clients read came from, at the clients of one host, by phase.
pub type SourcesTable = BTreeMap<u32, MeasuredSources>;

impl MeasuredSources {
    pub(super) const fn add(&mut self, [servers, clients]: [u64; 2]) {
        self.bytes_from_servers += servers;
        self.bytes_from_clients += clients;
    }
}

impl MeasuredTransactions {
    pub(super) fn add(&mut self, counts: TransactionCounts) {
        self.begun += u64::from(counts.begun);
        self.committed += u64::from(counts.committed);
        self.aborted += u64::from(counts.aborted);
        self.conflicts += u64::from(counts.conflicts);
    }

    pub(super) const fn merge(&mut self, other: &Self) {
        self.begun += other.begun;
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.conflicts += other.conflicts;
        self.retries += other.retries;
    }
}

/// How the operations of one kind went in one phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationTally {
    /// Of those that succeeded.
    #[serde(with = "encoded")]
    pub latency_ns: Histogram<u64>,
    pub total_ns: u128,
    pub bytes: u64,
    pub errors: BTreeMap<Errno, u64>,
    pub retries: u64,
    /// When the measured part began, and when the last operation ended.
    pub from_ns: u64,
    pub last_ns: u64,
}

/// Significant digits of a latency.
const DIGITS: u8 = 3;

impl Default for OperationTally {
    fn default() -> Self {
        let latency_ns = Histogram::new(DIGITS).expect("the number of digits is a valid constant");
        Self {
            latency_ns,
            total_ns: 0,
            bytes: 0,
            errors: BTreeMap::new(),
            retries: 0,
            from_ns: u64::MAX,
            last_ns: 0,
        }
    }
}

impl OperationTally {
    pub fn add(
        &mut self,
        window: Window,
        [arrived, ended]: [u64; 2],
        outcome: Result<u64, Errno>,
        retries: u32,
    ) {
        self.from_ns = window.from_ns;
        self.last_ns = self.last_ns.max(ended);
        self.retries += u64::from(retries);
        match outcome {
            Err(errno) => *self.errors.entry(errno).or_default() += 1,
            Ok(bytes) => {
                self.bytes += bytes;
                self.total_ns += u128::from(ended - arrived);
                // It grows as needed; only `saturating_record` would not.
                let recorded = self.latency_ns.record(ended - arrived);
                debug_assert!(recorded.is_ok());
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        // Both grow as needed, so nothing can fall outside.
        let added = self.latency_ns.add(&other.latency_ns);
        debug_assert!(added.is_ok());
        for (&errno, count) in &other.errors {
            *self.errors.entry(errno).or_default() += count;
        }
        self.total_ns += other.total_ns;
        self.bytes += other.bytes;
        self.retries += other.retries;
        self.from_ns = self.from_ns.min(other.from_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// The operations of many clients, by phase and kind.
pub type OperationTable = BTreeMap<(u32, OperationKind), OperationTally>;

/// Histograms in their own encoding.
mod encoded {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
    use serde::{Deserialize, Serialize, de, ser};

    pub fn serialize<S: ser::Serializer>(
        histogram: &Histogram<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut bytes)
            .map_err(ser::Error::custom)?;
        bytes.serialize(serializer)
    }

    pub fn deserialize<'de, D: de::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        let histogram = Deserializer::new().deserialize(&mut &bytes[..]);
        histogram.map_err(de::Error::custom)
    }
}
