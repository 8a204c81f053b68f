//! A network with its hosts attached.

use super::{FatTree, tree::Graph};
use crate::{
    machine::{Machine, Nic},
    world::{self, Path},
};
use futago_lab::document::Problem;

/// The ways between all hosts, and where hosts are.
pub(in crate::machine) struct Ways {
    /// The places of the servers' hosts.
    pub servers: Vec<u32>,
    /// The places of the clients' hosts.
    pub clients: Vec<u32>,
    /// The network.
    pub network: world::Network,
}

/// Where hosts are attached that are alike: how a place of the table of ways came about.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    /// The switch, the edge switch of a fat tree, or the port.
    at: u32,
    startup_ns: u64,
}

impl Ways {
    /// Attaches so many hosts and works out the ways between them. Fails if they do not fit.
    pub fn new(machine: &Machine, server_hosts: u32, client_hosts: u32) -> Result<Self, Problem> {
        let network = &machine.network;
        let startup_ns = |nic: &Nic| nic.startup_ns.unwrap_or(network.startup_ns);
        let server_ns = startup_ns(&machine.servers.nic);
        let client_ns = machine
            .clients
            .as_ref()
            .map_or(server_ns, |host| startup_ns(&host.nic));
        let router = Router::new(network, server_hosts, client_hosts)?;
        let mut places = Vec::new();
        let mut place = |at, startup_ns| {
            let wanted = Place { at, startup_ns };
            let known = places.iter().rposition(|place| *place == wanted);
            known.unwrap_or_else(|| {
                places.push(wanted);
                places.len() - 1
            }) as u32
        };
        let servers = (0..server_hosts).map(|host| place(router.server(host), server_ns));
        let servers = servers.collect();
        let clients = (0..client_hosts).map(|host| place(router.client(host), client_ns));
        let clients = clients.collect();
        let paths = places
            .iter()
            .map(|from| {
                places
                    .iter()
                    .map(|to| router.path(network, *from, *to))
                    .collect()
            })
            .collect();
        Ok(Self {
            servers,
            clients,
            network: world::Network {
                packet_bytes: network.packet_bytes,
                message_size: network.message_size,
                local_ns: network.local_ns,
                paths,
                shared_links: router.shared_links(),
            },
        })
    }
}

/// Knows where hosts are and what lies between two places.
enum Router<'a> {
    Direct,
    Tree {
        graph: Graph,
        /// The switches of servers and of clients, and how many hosts share them evenly.
        servers: (Vec<u32>, u32),
        clients: (Vec<u32>, u32),
    },
    FatTree {
        tree: &'a FatTree,
        latency_ns: u64,
        server_hosts: u32,
    },
}

impl<'a> Router<'a> {
    fn new(
        network: &'a super::Network,
        server_hosts: u32,
        client_hosts: u32,
    ) -> Result<Self, Problem> {
        if let Some(tree) = &network.fat_tree {
            tree.check_room(u64::from(server_hosts) + u64::from(client_hosts))?;
            return Ok(Self::FatTree {
                tree,
                latency_ns: tree.latency_ns.unwrap_or(network.startup_ns),
                server_hosts,
            });
        }
        if network.switches.is_empty() {
            return Ok(Self::Direct);
        }
        let graph = Graph::new(network);
        let switches = |names: &[String]| -> Vec<u32> {
            names.iter().filter_map(|name| graph.find(name)).collect()
        };
        Ok(Self::Tree {
            servers: (switches(&network.servers), server_hosts),
            clients: (switches(&network.clients), client_hosts),
            graph,
        })
    }

    fn server(&self, host: u32) -> u32 {
        match self {
            Self::Direct => 0,
            Self::Tree { servers, .. } => share(&servers.0, servers.1, host),
            Self::FatTree { tree, .. } => tree.place(host),
        }
    }

    fn client(&self, host: u32) -> u32 {
        match self {
            Self::Direct => 0,
            Self::Tree { clients, .. } => share(&clients.0, clients.1, host),
            Self::FatTree {
                tree, server_hosts, ..
            } => tree.place(server_hosts + host),
        }
    }

    fn path(&self, network: &super::Network, from: Place, to: Place) -> Path {
        let mut path = match self {
            Self::Direct => Path::default(),
            Self::Tree { graph, .. } => graph.path(from.at, to.at),
            Self::FatTree {
                tree, latency_ns, ..
            } => tree.path(*latency_ns, from.at, to.at),
        };
        path.startup_ns = from.startup_ns;
        if network.latency_ns > 0 {
            path.hops.push(delay(network.latency_ns));
        }
        path
    }

    fn shared_links(&self) -> Vec<world::SharedLink> {
        match self {
            Self::Direct => Vec::new(),
            Self::Tree { graph, .. } => graph.shared_links.clone(),
            Self::FatTree { tree, .. } => tree.shared_links(),
        }
    }
}

/// The switch of a host, of hosts that share the switches evenly.
fn share(switches: &[u32], hosts: u32, host: u32) -> u32 {
    let at = u64::from(host) * switches.len() as u64 / u64::from(hosts.max(1));
    switches.get(at as usize).copied().unwrap_or(0)
}

/// A hop that takes time and occupies nothing.
pub(super) const fn delay(latency_ns: u64) -> world::Hop {
    world::Hop {
        shared_link: None,
        latency_ns,
    }
}
