//! Reachability of the servers of a cluster.

use crate::{Cluster, ServerEntry};
use futago_base::ServerId;
use futago_transport::{Continuation, Hello, Party, Role, reach_address, reach_over_fabric};
use std::{io, time::Duration};
use tokio::{runtime::Builder, time::timeout};

/// Connects to some of the servers, each at its address in the cluster file, as clients on other
/// hosts do, and proves the key.
///
/// # Errors
/// Names the address of the first server that cannot be reached within the time, and why.
pub fn ensure_reachable(
    cluster: &Cluster,
    servers: &[ServerId],
    limit: Duration,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let entries = (0..).map(ServerId).zip(&cluster.servers);
        for (id, entry) in entries.filter(|(id, _)| servers.contains(id)) {
            let tried = timeout(limit, reach(cluster, id, entry)).await;
            let too_late = || Err("no answer in time; does a firewall hold it up?".to_owned());
            if let Err(cause) = tried.unwrap_or_else(|_| too_late()) {
                return Err(io::Error::other(format!(
                    "{}: {cause} ({id})",
                    entry.address
                )));
            }
        }
        Ok(())
    })
}

async fn reach(cluster: &Cluster, id: ServerId, entry: &ServerEntry) -> Result<(), String> {
    let hello = Hello {
        from: Role::Client,
        to: Party::Server(id),
        map_epoch: cluster.epoch,
        continues: Continuation::Socket,
        is_secure: cluster.secure,
    };
    let reached = match &cluster.fabric {
        Some(provider) => reach_over_fabric(&entry.address, &cluster.key, provider, hello).await,
        None => reach_address(&entry.address, &cluster.key, hello).await,
    };
    reached.map(drop).map_err(|error| error.to_string())
}
