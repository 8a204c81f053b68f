//! Clients in this process, and clients on other hosts.

mod frame;
mod remote;
mod serve;

pub use remote::RemoteClients;
pub use serve::serve;

use crate::{ClusterTree, Copier, LocalTree, Perform, Rules};
use futago_node::Cluster;
use serde::{Deserialize, Serialize};
use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

/// Which side of a copy is the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the local file system to the cluster.
    In,
    /// From the cluster to the local file system.
    Out,
}

/// The settings of clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The text of the cluster file.
    pub cluster: String,
    /// The direction.
    pub direction: Direction,
    /// The rules of the copy.
    pub rules: Rules,
    /// The number of clients.
    pub clients: usize,
}

impl Setup {
    /// Clients in this process. They stop when `interrupted` is set.
    ///
    /// # Errors
    /// The cluster file is invalid, or a thread cannot be started.
    pub fn clients(&self, interrupted: &Arc<AtomicBool>) -> io::Result<Vec<Box<dyn Perform>>> {
        let cluster = Cluster::parse(&self.cluster).map_err(io::Error::other)?;
        let client = |_| self.client(&cluster, interrupted);
        (0..self.clients.max(1)).map(client).collect()
    }

    fn client(
        &self,
        cluster: &Cluster,
        interrupted: &Arc<AtomicBool>,
    ) -> io::Result<Box<dyn Perform>> {
        let (tree, interrupted) = (ClusterTree::connect(cluster)?, Arc::clone(interrupted));
        Ok(match self.direction {
            Direction::In => Box::new(Copier::new(LocalTree, tree, self.rules, interrupted)),
            Direction::Out => Box::new(Copier::new(tree, LocalTree, self.rules, interrupted)),
        })
    }
}
