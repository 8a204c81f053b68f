//! Machines: what hosts, networks, handlers and stores cost, as plain data.
//!
//! A [`Machine`] is read from a TOML file or a preset. [`Machine::lay_out`] puts a cluster on it:
//! the hosts, what runs on them, and the ways between them, in the form that the
//! [world](crate::world) is built from. Nothing here simulates.

pub mod host;
pub mod network;
pub mod presets;

pub use host::{Host, ManyConnections, Nic};
pub use network::Network;

use crate::world;
use futago_lab::document::{Node, Problem};
use serde::{Deserialize, Serialize};

/// A machine that a cluster runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// A short description.
    #[serde(default)]
    pub description: String,
    /// The hosts that clients run on. Without them, clients run on the servers' hosts.
    #[serde(default)]
    pub clients: Option<Host>,
    /// The hosts that servers run on.
    pub servers: Host,
    /// The network between hosts.
    pub network: Network,
    /// Processor time of servers and clients.
    #[serde(default)]
    pub costs: world::Costs,
    /// The cost of storing a change.
    #[serde(default)]
    pub store: world::Store,
    /// The disks of the servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<world::Disk>,
}

/// The hosts of a cluster and the network between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The hosts: those of servers, then those of clients.
    pub hosts: Vec<world::Host>,
    /// The network.
    pub network: world::Network,
}

impl Machine {
    /// Reads and checks a machine.
    pub fn read(node: &Node) -> Result<Self, Problem> {
        let machine: Self = node.read()?;
        machine.check().map_err(|problem| node.locate(problem))?;
        Ok(machine)
    }

    /// Whether its parts fit together.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        for (key, host) in [
            ("servers", Some(&self.servers)),
            ("clients", self.clients.as_ref()),
        ] {
            let checked = host.map_or(Ok(()), Host::check);
            checked.map_err(|problem| problem.inside(key))?;
        }
        let network = self.network.check();
        network.map_err(|problem| problem.inside("network"))
    }

    /// Reads a machine from the text of a TOML file; `name` stands for it in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        Self::read(&Node::parse(name, text)?)
    }

    /// Puts so many servers and clients on it. Fails if they do not fit.
    pub fn lay_out(&self, servers: u32, clients: u32) -> Result<Layout, Problem> {
        let server_hosts = servers.div_ceil(self.servers.processes);
        let client_hosts = match &self.clients {
            Some(host) => clients.div_ceil(host.processes),
            None => 0,
        };
        let ways = network::Ways::new(self, server_hosts, client_hosts)
            .map_err(|problem| problem.inside("network"))?;
        let mut hosts = host::fill(&self.servers, servers, server_hosts, &ways.servers);
        match &self.clients {
            Some(host) => {
                let alone = host::fill(host, clients, client_hosts, &ways.clients);
                hosts.extend(alone.into_iter().map(world::Host::of_clients));
            }
            None => host::add_clients(&mut hosts, clients, &self.servers),
        }
        Ok(Layout {
            hosts,
            network: ways.network,
        })
    }
}

#[cfg(test)]
mod tests;
