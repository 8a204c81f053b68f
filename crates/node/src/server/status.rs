//! What a server tells of itself.

use futago_base::{ServerId, Space};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Instant};

/// What has been counted since the server started.
pub struct Counters {
    started: Instant,
    requests: BTreeMap<&'static str, u64>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            requests: BTreeMap::new(),
        }
    }
}

impl Counters {
    /// Counts a message by the name of its operation.
    pub fn count(&mut self, operation: &'static str) {
        *self.requests.entry(operation).or_default() += 1;
    }
}

/// The state of one server, as it is answered to [`Request::GetStatus`](futago_wire::Request).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its number.
    pub server: u16,
    /// The process that hosts it.
    pub process_id: u32,
    /// Seconds since it started.
    pub uptime_s: f64,
    /// CPU time of its thread, in microseconds.
    pub cpu_us: u64,
    /// Memory for records and data in use, in bytes.
    pub used_bytes: u64,
    /// The limit of it.
    pub limit_bytes: u64,
    /// Resident memory of the process, in bytes.
    pub resident_bytes: u64,
    /// Inodes.
    pub files: u64,
    /// Connections that have proved the key.
    pub connections: u64,
    /// Sessions heard of on them.
    pub sessions: u64,
    /// Requests that are being served.
    pub under_way: u64,
    /// Requests since the start, by operation.
    pub requests: BTreeMap<String, u64>,
}

impl Status {
    pub(super) fn new(
        id: ServerId,
        counters: &Counters,
        space: Space,
        (connections, sessions, under_way): (usize, usize, u32),
    ) -> Self {
        Self {
            server: id.0,
            process_id: std::process::id(),
            uptime_s: counters.started.elapsed().as_secs_f64(),
            cpu_us: thread_cpu_us(),
            used_bytes: space.used_bytes,
            limit_bytes: space.limit_bytes,
            resident_bytes: resident_bytes().unwrap_or(0),
            files: space.files,
            connections: connections as u64,
            sessions: sessions as u64,
            under_way: u64::from(under_way),
            requests: counters
                .requests
                .iter()
                .map(|(&name, &count)| (name.into(), count))
                .collect(),
        }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        // Numbers and strings always encode.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// CPU time of the calling thread, in microseconds.
fn thread_cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
