//! Servers in this process.

use futago_base::ServerId;
use futago_node::{
    Cluster, ServerEntry,
    server::{Config, Servers},
};
use futago_transport::Address;

/// Running servers.
pub struct Running {
    /// The cluster.
    pub cluster: Cluster,
    /// The servers.
    pub servers: Vec<Servers>,
    /// A directory for sockets and files.
    pub directory: tempfile::TempDir,
}

/// Starts servers whose clients give up soon.
pub fn start(count: u16) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let entry = |n| ServerEntry {
        address: Address::Unix(directory.path().join(format!("{n}.sock"))),
        host: None,
        process: u32::from(n),
    };
    let mut cluster = Cluster::new("test", (0..count).map(entry).collect()).unwrap();
    cluster.chunk_bytes = 16 << 10;
    cluster.limits.give_up_seconds = 1.0;
    let server = |n| {
        let config = Config {
            cluster: cluster.clone(),
            servers: vec![ServerId(n)],
            memory_bytes: 1 << 30,
            root_owner: (0, 0),
        };
        Servers::start(&config).unwrap()
    };
    let servers = (0..count).map(server).collect();
    Running {
        cluster,
        servers,
        directory,
    }
}
