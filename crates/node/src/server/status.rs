//! The statistics of a server.

use super::waiting::{Waiting, WaitingRequest};
use futago_base::{ServerId, Space, Time};
use futago_transport::busy;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    time::{Instant, SystemTime},
};

/// Counts since the server started.
pub struct Counters {
    started: Instant,
    started_at: SystemTime,
    requests: BTreeMap<&'static str, u64>,
    /// Requests that were refused because of overload.
    pub busy: u64,
    /// Received data, in bytes.
    pub received_bytes: u64,
    /// Sent data, in bytes.
    pub sent_bytes: u64,
    /// The number of wake-ups with work.
    pub wake_ups: u64,
    /// Connections that failed to prove the key or sent a forbidden message.
    pub turned_away: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            started_at: SystemTime::now(),
            requests: BTreeMap::new(),
            busy: 0,
            received_bytes: 0,
            sent_bytes: 0,
            wake_ups: 0,
            turned_away: 0,
        }
    }
}

impl Counters {
    /// Counts a message by the name of its operation.
    pub fn count(&mut self, operation: &'static str) {
        *self.requests.entry(operation).or_default() += 1;
    }
}

/// The state of one server, which is the reply to [`Request::GetStatus`](futago_wire::Request).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its number.
    pub server: u16,
    /// The process that hosts it, by the system's number.
    pub process_id: u32,
    /// The process that hosts it, by its number in the cluster file.
    #[serde(default)]
    pub process: u32,
    /// The version of the cluster map that it knows.
    #[serde(default)]
    pub map_epoch: u32,
    /// The servers that its process is about to serve: their logs are read, or another process has
    /// to release them first.
    #[serde(default)]
    pub opening: Vec<u16>,
    /// Seconds since it started.
    pub uptime_s: f64,
    /// When it started, in milliseconds since 1970.
    #[serde(default)]
    pub started_ms: u64,
    /// CPU time of its thread, in microseconds, polling included. Servers that share a thread
    /// report equal parts, here and in `busy_us`.
    pub cpu_us: u64,
    /// Busy time of its thread, in microseconds.
    pub busy_us: u64,
    /// Room for records and data in use, in bytes.
    pub used_bytes: u64,
    /// The limit of that room, in bytes.
    pub limit_bytes: u64,
    /// Resident memory of the process, in bytes.
    pub resident_bytes: u64,
    /// Inodes.
    pub files: u64,
    /// Its store on disk; none if its files end with its process.
    #[serde(default)]
    pub store: Option<StoreStatus>,
    /// Connections that have proved the key.
    pub connections: u64,
    /// Sessions on these connections.
    pub sessions: u64,
    /// Requests in progress.
    pub under_way: u64,
    /// Requests that were refused because of overload.
    pub busy: u64,
    /// Received data, in bytes.
    pub received_bytes: u64,
    /// Sent data, in bytes.
    pub sent_bytes: u64,
    /// The number of wake-ups with work.
    pub wake_ups: u64,
    /// Connections that failed to prove the key or sent a forbidden message.
    pub turned_away: u64,
    /// Requests since the start, by operation.
    pub requests: BTreeMap<String, u64>,
    /// The total waiting time of requests that could not be answered at once, by operation, in
    /// microseconds.
    #[serde(default)]
    pub waited_us: BTreeMap<String, u64>,
    /// The requests that have waited longest.
    #[serde(default)]
    pub waiting: Vec<WaitingRequest>,
}

/// The store of a server on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreStatus {
    /// The entries of the log that the server found when it started.
    pub recovered_entries: u64,
    /// The size of its log, in bytes.
    pub log_bytes: u64,
    /// The size of its files of data, in bytes.
    pub data_bytes: u64,
    /// The data in them that is in memory, too, in bytes.
    pub cached_bytes: u64,
    /// The first failures of reading data, in words.
    pub damage: Vec<String>,
}

impl Status {
    /// The state of a server without its store, its connections and their requests.
    pub(super) fn new(
        id: ServerId,
        counters: &Counters,
        sharing: u64,
        waiting: &Waiting,
        now: Time,
        space: Space,
    ) -> Self {
        Self {
            server: id.0,
            process_id: std::process::id(),
            process: 0,
            map_epoch: 0,
            opening: Vec::new(),
            uptime_s: counters.started.elapsed().as_secs_f64(),
            started_ms: unix_ms(counters.started_at),
            cpu_us: thread_cpu_us() / sharing,
            busy_us: busy::total(busy::now()).0 / 1000 / sharing,
            used_bytes: space.used_bytes,
            limit_bytes: space.limit_bytes,
            resident_bytes: resident_bytes().unwrap_or(0),
            files: space.files,
            store: None,
            connections: 0,
            sessions: 0,
            under_way: 0,
            busy: counters.busy,
            received_bytes: counters.received_bytes,
            sent_bytes: counters.sent_bytes,
            wake_ups: counters.wake_ups,
            turned_away: counters.turned_away,
            requests: counters
                .requests
                .iter()
                .map(|(&name, &count)| (name.into(), count))
                .collect(),
            waited_us: waiting.waited_us(),
            waiting: waiting.oldest(now),
        }
    }

    /// Updates the metrics of this process.
    pub(super) fn publish(&self) {
        let server = self.server.to_string();
        for (kind, &count) in &self.requests {
            let labels = [("server", server.clone()), ("kind", kind.clone())];
            metrics::counter!("futago_requests_total", &labels).absolute(count);
        }
        for (kind, &time) in &self.waited_us {
            let labels = [("server", server.clone()), ("kind", kind.clone())];
            metrics::counter!("futago_waited_microseconds_total", &labels).absolute(time);
        }
        let counters = [
            ("futago_busy_total", self.busy),
            ("futago_received_bytes_total", self.received_bytes),
            ("futago_sent_bytes_total", self.sent_bytes),
            ("futago_wake_ups_total", self.wake_ups),
            ("futago_turned_away_total", self.turned_away),
            ("futago_cpu_microseconds_total", self.cpu_us),
            ("futago_busy_microseconds_total", self.busy_us),
        ];
        for (name, value) in counters {
            metrics::counter!(name, "server" => server.clone()).absolute(value);
        }
        for (name, value) in self.gauges() {
            metrics::gauge!(name, "server" => server.clone()).set(value as f64);
        }
    }

    /// Resets the metrics of a server that has left this process.
    pub(super) fn withdraw(&self) {
        for (name, _) in self.gauges() {
            metrics::gauge!(name, "server" => self.server.to_string()).set(0.0);
        }
    }

    fn gauges(&self) -> [(&'static str, u64); 10] {
        let of_store = |figure: fn(&StoreStatus) -> u64| self.store.as_ref().map_or(0, figure);
        [
            ("futago_used_bytes", self.used_bytes),
            ("futago_limit_bytes", self.limit_bytes),
            ("futago_files", self.files),
            ("futago_log_bytes", of_store(|store| store.log_bytes)),
            ("futago_data_file_bytes", of_store(|store| store.data_bytes)),
            ("futago_cached_bytes", of_store(|store| store.cached_bytes)),
            ("futago_damage", of_store(|store| store.damage.len() as u64)),
            ("futago_connections", self.connections),
            ("futago_sessions", self.sessions),
            ("futago_requests_under_way", self.under_way),
        ]
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        // Numbers and strings always encode.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Milliseconds since 1970.
fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
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

#[cfg(test)]
mod tests;
