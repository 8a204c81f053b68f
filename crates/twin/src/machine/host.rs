//! Hosts and their NICs.

use crate::world::{self, share};
use futago_lab::document::{Problem, bounds};
use serde::{Deserialize, Serialize};

/// One host of servers or of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Servers, or clients, on one host. They share its cores and its NIC, and do not use the NIC
    /// among themselves.
    #[serde(default = "one", deserialize_with = "bounds::count")]
    pub processes: u32,
    /// Cores. A handler's time occupies one.
    #[serde(default = "one", deserialize_with = "bounds::count")]
    pub cores: u32,
    /// The rate at which all its cores together copy file data, in units of 10^6 bytes a second.
    /// Without it, the cores do not slow each other.
    #[serde(
        default,
        deserialize_with = "bounds::some_positive",
        skip_serializing_if = "Option::is_none"
    )]
    pub memory_mb_per_s: Option<f64>,
    /// How much longer its cores take to copy where they do it through many connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub many_connections: Option<ManyConnections>,
    /// The time of a cache line from one of its cores to another during the measurement of costs,
    /// in nanoseconds. It is part of those costs and not charged again; a later measurement of the
    /// same host compares it to notice a change.
    #[serde(
        default,
        deserialize_with = "bounds::some_positive",
        skip_serializing_if = "Option::is_none"
    )]
    pub handover_ns: Option<f64>,
    /// The time of a fixed computation on its cores during that measurement, in nanoseconds, for
    /// the same purpose.
    #[serde(
        default,
        deserialize_with = "bounds::some_positive",
        skip_serializing_if = "Option::is_none"
    )]
    pub computation_ns: Option<f64>,
    /// Its network interface.
    pub nic: Nic,
}

/// The growth of the cost of copied file data with the number of connections among the host's
/// processes. Each connection has memory of its own, and the caches do not hold all of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManyConnections {
    /// The number of connections, each of a client with a server, up to which a byte costs as
    /// usual.
    #[serde(deserialize_with = "bounds::count")]
    pub from: u32,
    /// The number of connections, larger than the former, from which it costs [`Self::times`] as
    /// much; between both, the cost grows with their number.
    #[serde(deserialize_with = "bounds::count")]
    pub until: u32,
    /// The factor.
    #[serde(deserialize_with = "bounds::positive")]
    pub times: f64,
}

const fn one() -> u32 {
    1
}

/// A network interface, as the simulation framework CODES computes `simple-net`: before each packet
/// it is occupied for the start-up, and then for the packet's bytes; at the receiver for the bytes
/// alone, beginning when the first arrives (cut-through).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Start-up of each packet, in nanoseconds; the network's if absent.
    #[serde(
        default,
        deserialize_with = "bounds::some_time_ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub startup_ns: Option<u64>,
    /// Rate in each direction, of the link to its switch too, in units of 10^6 bytes a second.
    #[serde(deserialize_with = "bounds::positive")]
    pub bandwidth_mb_per_s: f64,
}

/// Bytes a second, at least one.
pub(super) const fn bytes_per_s(mb_per_s: f64) -> u64 {
    let whole = (mb_per_s * 1e6) as u64;
    if whole == 0 { 1 } else { whole }
}

/// `count` hosts with servers, as many on each as it holds; `groups` are their places.
pub(super) fn fill(host: &Host, servers: u32, count: u32, groups: &[u32]) -> Vec<world::Host> {
    let rate = bytes_per_s(host.nic.bandwidth_mb_per_s);
    (0..count)
        .map(|number| world::Host {
            group: groups[number as usize],
            send_bytes_per_s: rate,
            receive_bytes_per_s: rate,
            cores: host.cores,
            memory_bytes_per_s: host.memory_mb_per_s.map(bytes_per_s),
            byte_times: 1.0,
            servers: host.processes.min(servers - number * host.processes),
            clients: 0,
        })
        .collect()
}

/// Spreads clients evenly over hosts that are there, each of them such a one.
pub(super) fn add_clients(hosts: &mut [world::Host], clients: u32, each: &Host) {
    let count = hosts.len() as u32;
    for (number, host) in hosts.iter_mut().enumerate() {
        host.clients = clients / count + u32::from((number as u32) < clients % count);
        let connections = u64::from(host.servers) * u64::from(host.clients);
        host.byte_times = each.byte_times(connections);
    }
}

impl Host {
    /// How many times as much a byte costs that goes through one of so many connections.
    fn byte_times(&self, connections: u64) -> f64 {
        let Some(many) = self.many_connections else {
            return 1.0;
        };
        let range = [many.from, many.until].map(u64::from);
        1.0 + share(range, connections) * (many.times - 1.0)
    }

    /// Whether its parts fit together.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let fits = self
            .many_connections
            .is_none_or(|many| many.from < many.until);
        match fits {
            true => Ok(()),
            false => {
                let text = "`until` must be more than `from`";
                Err(Problem::new(text).inside("many_connections"))
            }
        }
    }
}

impl world::Host {
    /// The same host with clients instead of servers.
    pub(super) const fn of_clients(self) -> Self {
        Self {
            clients: self.servers,
            servers: 0,
            ..self
        }
    }
}
