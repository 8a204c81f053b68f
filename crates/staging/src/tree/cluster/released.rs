//! The operations of a backing store on the released files of a cluster.

use super::{ClusterNode, ClusterTree};
use crate::{Result, TreePath};
use futago_base::{Errno, FileId, ServerId};
use futago_node::RecordedClient;
use futago_wire::Restored;
use std::io;

impl ClusterTree {
    /// The servers of the cluster.
    pub(crate) fn servers(&self) -> io::Result<Vec<ServerId>> {
        let servers = async |client: &RecordedClient| client.map().servers().collect();
        self.futago.run_blocking(servers).map_err(io::Error::from)
    }

    /// Reports ended restorations to a server, and asks which files are wanted.
    pub(crate) fn next_restorations(
        &self,
        server: ServerId,
        ended: &[Restored],
        files_max: u32,
    ) -> Result<Vec<FileId>> {
        let ask = async |client: &RecordedClient| {
            client.next_restorations(server, ended, files_max).await
        };
        self.run(&TreePath::root(), "asking for files to load", ask)
    }

    /// The node of a file.
    pub(crate) fn node(&self, path: &TreePath, id: FileId) -> ClusterNode {
        ClusterNode {
            path: path.clone(),
            id,
        }
    }

    /// Waits until a file has its data. A file that does not exist any more needs none.
    pub(crate) fn load(&self, path: &TreePath, id: FileId) -> Result<()> {
        let read = async |client: &RecordedClient| match client.core().read(id, 0, 1).await {
            Err(Errno::ESTALE) => Ok(()),
            read => read.map(drop),
        };
        self.run(path, "loading", read)
    }
}
