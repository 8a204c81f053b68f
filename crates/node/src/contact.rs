//! The contact server of a client.

use crate::{Cluster, ServerEntry};
use futago_base::ServerId;
use futago_transport::Address;
use std::{fs, io};

/// The file in which Linux tells the name of the host.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Draws the contact server of a client of this host, if the cluster has contact servers.
///
/// # Errors
/// The name of the host cannot be read, or the system has no randomness to give.
pub fn draw(cluster: &Cluster) -> io::Result<Option<ServerId>> {
    if !cluster.contacts {
        return Ok(None);
    }
    let host = fs::read_to_string(HOST_NAME)?;
    let drawn = getrandom::u64().map_err(io::Error::other)?;
    Ok(choose(&cluster.servers, host.trim(), drawn))
}

/// A server of this host, or any if there is none; `drawn` spreads clients evenly.
fn choose(servers: &[ServerEntry], host: &str, drawn: u64) -> Option<ServerId> {
    let all = || (0..).map(ServerId).zip(servers);
    let near = all().filter(|(_, server)| is_near(server, host));
    let mut among: Vec<ServerId> = near.map(|(id, _)| id).collect();
    if among.is_empty() {
        among = all().map(|(id, _)| id).collect();
    }
    let at = drawn.checked_rem(among.len() as u64)?;
    among.get(at as usize).copied()
}

/// Whether a server runs on this host. Without a name it runs on the host of the cluster file, as
/// all others do.
fn is_near(server: &ServerEntry, host: &str) -> bool {
    let is_local = matches!(server.address, Address::Unix(_));
    is_local
        || server
            .host
            .as_deref()
            .is_none_or(|name| short(name) == short(host))
}

/// The name of a host, without a user before it and a domain behind it.
fn short(host: &str) -> &str {
    let name = host.rsplit('@').next().unwrap_or(host);
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str) -> ServerEntry {
        ServerEntry {
            address: Address::Tcp(format!("{host}:7330")),
            host: Some(host.into()),
            process: 0,
        }
    }

    #[test]
    fn a_client_is_served_by_its_own_host() {
        let servers = ["a.cluster", "me@b", "a", "c"].map(server);
        assert_eq!(choose(&servers, "b.cluster", 7), Some(ServerId(1)));
        let of_a = [0, 1].map(|drawn| choose(&servers, "a", drawn));
        assert_eq!(of_a, [Some(ServerId(0)), Some(ServerId(2))]);
    }

    #[test]
    fn clients_of_other_hosts_are_spread_over_all_servers() {
        let servers = ["a", "b", "c"].map(server);
        let drawn = (0..6).map(|drawn| choose(&servers, "login", drawn));
        let expected = [0, 1, 2, 0, 1, 2].map(|id| Some(ServerId(id)));
        assert!(drawn.eq(expected));
        assert_eq!(choose(&[], "login", 0), None);
    }
}
