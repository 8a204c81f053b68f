//! The work of the servers and clients of a real cluster.

use crate::connection::Connection;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The work of servers and clients so far, or in a period.
#[derive(Default, Serialize, Deserialize)]
pub struct Totals {
    /// How long all servers have been busy, in microseconds.
    pub server_busy_us: u64,
    /// CPU time of all servers, in microseconds, polling included.
    pub server_cpu_us: u64,
    /// CPU time of this process, in nanoseconds, polling included.
    pub client_cpu_ns: u64,
    /// Requests that the servers were sent, by name.
    pub requests: BTreeMap<String, u64>,
}

impl Totals {
    /// Asks all servers, and the system.
    pub fn ask(watch: &Connection) -> anyhow::Result<Self> {
        let mut totals = Self::default();
        for server in watch.map().servers() {
            let status = watch.status(server)?;
            totals.server_busy_us += status.busy_us;
            totals.server_cpu_us += status.cpu_us;
            for (name, count) in status.requests {
                *totals.requests.entry(name).or_default() += count;
            }
        }
        let time = clock_gettime(ClockId::ProcessCPUTime);
        totals.client_cpu_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        Ok(totals)
    }

    /// The work since `before`; requests for the status and keep-alives do not count.
    pub fn since(&self, before: &Self) -> Self {
        let requests = self.requests.iter().map(|(name, count)| {
            let earlier = before.requests.get(name).copied().unwrap_or(0);
            (name.clone(), count.saturating_sub(earlier))
        });
        let counts = |name: &str| name != "get_status" && name != "keep_alive";
        Self {
            server_busy_us: self.server_busy_us.saturating_sub(before.server_busy_us),
            server_cpu_us: self.server_cpu_us.saturating_sub(before.server_cpu_us),
            client_cpu_ns: self.client_cpu_ns.saturating_sub(before.client_cpu_ns),
            requests: requests
                .filter(|(name, count)| *count > 0 && counts(name))
                .collect(),
        }
    }

    /// CPU time of all, in nanoseconds.
    pub const fn cpu_ns(&self) -> u64 {
        self.client_cpu_ns + self.server_cpu_us * 1000
    }
}
