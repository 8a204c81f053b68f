//! Makes files and directories survive a loss of power of their servers.

use crate::{Client, Context, client::UNEXPECTED, join_all, layout::chunk_servers};
use alloc::{collections::BTreeSet, vec::Vec};
use futago_base::{BucketStart, Errno, FileId, ServerId};
use futago_wire::{DirectoryState, Failure, FileState, Reply, Request};

impl<C: Context> Client<C> {
    /// The second half of the operation of `fsync`, of a file or a directory: what its servers have
    /// of it survives a loss of power when it returns. Of a directory these are the names in it. A
    /// new file has its name on its home.
    ///
    /// It does nothing unless [`Config::durable_fsync`](crate::Config::durable_fsync) is set.
    ///
    /// # Errors
    /// Those of the servers.
    pub async fn make_durable(&self, id: FileId) -> Result<(), Errno> {
        if !self.config().durable_fsync {
            return Ok(());
        }
        let servers = self.persist(|| self.servers_of(id)).await?;
        self.make_servers_durable(servers).await
    }

    /// As [`Client::make_durable`], for everything: the operation of `sync`.
    ///
    /// # Errors
    /// Those of the servers.
    pub async fn make_all_durable(&self) -> Result<(), Errno> {
        if !self.config().durable_fsync {
            return Ok(());
        }
        self.make_servers_durable(self.map().servers().collect())
            .await
    }

    async fn make_servers_durable(&self, servers: BTreeSet<ServerId>) -> Result<(), Errno> {
        let asked = servers
            .into_iter()
            .map(|server| self.persist(move || self.make_server_durable(server)));
        join_all(asked).await.into_iter().collect()
    }

    async fn make_server_durable(&self, server: ServerId) -> Result<(), Failure> {
        match self.ask(server, Request::Synchronize).await? {
            Reply::Synchronized => Ok(()),
            _ => Err(UNEXPECTED),
        }
    }

    /// The servers that have something of a node.
    async fn servers_of(&self, id: FileId) -> Result<BTreeSet<ServerId>, Failure> {
        let FileState {
            attributes,
            directory,
            ..
        } = self.ask_state(id).await?;
        let mut servers = match directory {
            Some(directory) => self.bucket_servers(id, &directory).await?,
            None => {
                let chunk_bytes = attributes.chunk_bytes;
                chunk_servers(self.map(), id, chunk_bytes, 0, attributes.size)
            }
        };
        servers.insert(self.map().home(id));
        Ok(servers)
    }

    async fn bucket_servers(
        &self,
        id: FileId,
        directory: &DirectoryState,
    ) -> Result<BTreeSet<ServerId>, Failure> {
        let headers = self.headers(id, directory.header).await?;
        let buckets: Vec<BucketStart> = headers.into_iter().map(|(bucket, _)| bucket).collect();
        let server = |bucket: BucketStart| self.map().bucket_server(id, bucket);
        Ok(buckets.into_iter().map(server).collect())
    }
}
