//! Where a client listens for other clients.

use crate::Cluster;
use futago_base::record::Door;
use futago_transport::{Address, Listener};
use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, ToSocketAddrs, UdpSocket},
};
use xxhash_rust::xxh3::xxh3_64;

/// Listens where other clients of the cluster can connect: at the address over which this host
/// reaches the servers, which is loopback if they are there.
pub async fn listen(cluster: &Cluster) -> io::Result<(Listener, Door)> {
    let ip = ip_towards(cluster);
    let address = match ip {
        IpAddr::V4(ip) => format!("{ip}:0"),
        IpAddr::V6(ip) => format!("[{ip}]:0"),
    };
    let listener = Listener::bind(&Address::Tcp(address)).await?;
    let door = Door {
        host: host(),
        address: listener.address()?.to_string().into(),
    };
    Ok((listener, door))
}

/// The address of the interface that leads to the first server. Servers with Unix sockets are on
/// this host.
fn ip_towards(cluster: &Cluster) -> IpAddr {
    let servers = cluster.servers.iter().map(|server| &server.address);
    let mut tcp = servers.filter_map(|address| match address {
        Address::Tcp(host_and_port) => local_address(host_and_port),
        Address::Unix(_) => None,
    });
    tcp.next().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// The local address of packets to another one. Nothing is sent.
fn local_address(host_and_port: &str) -> Option<IpAddr> {
    let to = host_and_port.to_socket_addrs().ok()?.next()?;
    let any: IpAddr = match to {
        std::net::SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        std::net::SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// A number that processes share if they reach each other without a network.
fn host() -> u64 {
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    xxh3_64(&[&boot, network.as_os_str().as_encoded_bytes()].concat())
}
