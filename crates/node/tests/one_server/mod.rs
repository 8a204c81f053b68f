//! A cluster of one server.

use futago_base::ServerId;
use futago_node::{Cluster, ServerEntry, server::Config};
use futago_transport::Address;
use std::path::Path;

/// The settings of a server with its socket in a directory.
pub fn config(directory: &Path) -> Config {
    let entry = ServerEntry {
        address: Address::Unix(directory.join("0.sock")),
        host: None,
        process: 0,
    };
    Config {
        cluster: Cluster::new("test", vec![entry]).unwrap(),
        servers: vec![ServerId(0)],
        memory_bytes: 1 << 30,
        root_owner: (0, 0),
    }
}
