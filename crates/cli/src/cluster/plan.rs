//! Which servers run where: decided before anything is started.

use anyhow::{Context, ensure};
use futago_node::ServerEntry;
use futago_transport::{Address, Provider};
use std::{fmt, net::TcpListener, path::Path, str::FromStr};

/// How servers are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Unix sockets: for one host.
    #[default]
    Unix,
    /// TCP.
    Tcp,
    /// A fabric, whose connections begin over TCP.
    Fabric(Provider),
}

impl Transport {
    /// The provider of the fabric, which can be used on this host.
    ///
    /// # Errors
    /// It cannot.
    pub fn fabric(&self) -> anyhow::Result<Option<Provider>> {
        let Self::Fabric(provider) = self else {
            return Ok(None);
        };
        provider.ensure_usable()?;
        Ok(Some(provider.clone()))
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("ofi", provider)) => provider.parse().map(Self::Fabric),
            None if text == "unix" => Ok(Self::Unix),
            None if text == "tcp" => Ok(Self::Tcp),
            None if text == "ofi" => Ok(Self::Fabric(Provider::default())),
            _ => Err("write unix, tcp, ofi or ofi:PROVIDER".into()),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix => f.write_str("unix"),
            Self::Tcp => f.write_str("tcp"),
            Self::Fabric(provider) => write!(f, "ofi:{provider}"),
        }
    }
}

/// `processes` server processes of `shards` servers each on this host.
pub fn on_this_host(
    processes: u32,
    shards: u32,
    transport: &Transport,
    directory: &Path,
) -> anyhow::Result<Vec<ServerEntry>> {
    let count = processes as usize * shards as usize;
    let addresses: Vec<Address> = match transport {
        Transport::Unix => (0..count)
            .map(|number| Address::Unix(directory.join(format!("{number}.sock"))))
            .collect(),
        Transport::Tcp | Transport::Fabric(_) => free_ports(count)?
            .into_iter()
            .map(|port| Address::Tcp(format!("127.0.0.1:{port}")))
            .collect(),
    };
    let entries = addresses.into_iter().enumerate();
    Ok(entries
        .map(|(number, address)| ServerEntry {
            address,
            host: None,
            process: number as u32 / shards,
        })
        .collect())
}

/// `processes` server processes dealt out to `hosts` round robin; the servers of a host listen on
/// `first_port` and the ports after it.
pub fn on_hosts(
    hosts: &[String],
    processes: u32,
    shards: u32,
    first_port: u16,
) -> anyhow::Result<Vec<ServerEntry>> {
    let mut entries = Vec::new();
    for process in 0..processes {
        let host = &hosts[process as usize % hosts.len()];
        for _ in 0..shards {
            let earlier = entries
                .iter()
                .filter(|e: &&ServerEntry| e.host.as_ref() == Some(host));
            let port = u32::from(first_port) + earlier.count() as u32;
            ensure!(
                port <= 65_535,
                "{host} has no port left after {first_port}; use a lower --port"
            );
            entries.push(ServerEntry {
                address: Address::Tcp(format!("{}:{port}", reachable_name(host))),
                host: Some(host.clone()),
                process,
            });
        }
    }
    Ok(entries)
}

/// A host as launchers know it (`user@host`) as the network knows it; IPv6 in brackets.
pub fn reachable_name(host: &str) -> String {
    let name = host.rsplit('@').next().unwrap_or(host);
    if name.contains(':') && !name.starts_with('[') {
        return format!("[{name}]");
    }
    name.to_owned()
}

/// Ports that are free now; held together until all are known, so that none comes twice.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let held: Result<Vec<TcpListener>, _> = (0..count)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect();
    held.and_then(|held| held.iter().map(|l| Ok(l.local_addr()?.port())).collect())
        .context("looking for free TCP ports on 127.0.0.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_one_process_are_neighbours() {
        let entries = on_this_host(2, 2, &Transport::Unix, Path::new("/run/x")).unwrap();
        let processes: Vec<u32> = entries.iter().map(|entry| entry.process).collect();
        assert_eq!(processes, [0, 0, 1, 1]);
        assert_eq!(entries[3].address.to_string(), "unix:/run/x/3.sock");
    }

    #[test]
    fn transports_read_back_as_written() {
        for text in ["unix", "tcp", "ofi:tcp", "ofi:verbs"] {
            assert_eq!(text.parse::<Transport>().unwrap().to_string(), text);
        }
        assert_eq!("ofi".parse::<Transport>().unwrap().to_string(), "ofi:tcp");
        for text in ["", "ofi:", "ofi:a b", "udp", "tcp:x"] {
            assert!(text.parse::<Transport>().is_err(), "{text}");
        }
    }

    #[test]
    fn local_ports_are_distinct() {
        let entries = on_this_host(4, 1, &Transport::Tcp, Path::new("/")).unwrap();
        let mut addresses: Vec<String> = entries.iter().map(|e| e.address.to_string()).collect();
        addresses.sort();
        addresses.dedup();
        assert_eq!(addresses.len(), 4);
    }

    #[test]
    fn servers_are_dealt_out_round_robin_with_ports_of_their_host() {
        let hosts = ["me@n1".to_owned(), "fe80::1".to_owned()];
        let entries = on_hosts(&hosts, 3, 1, 7000).unwrap();
        let addresses: Vec<String> = entries.iter().map(|e| e.address.to_string()).collect();
        assert_eq!(
            addresses,
            ["tcp:n1:7000", "tcp:[fe80::1]:7000", "tcp:n1:7001"]
        );
        assert!(on_hosts(&hosts, 3, 1, 65_535).is_err());
    }
}
