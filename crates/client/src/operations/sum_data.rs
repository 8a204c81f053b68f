//! Sums the data of a file.

use crate::{
    Client, Context,
    client::UNEXPECTED,
    data::{ChunkRequest, Extent},
    layout::FileHint,
};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload, ServerId};
use futago_wire::{Failure, Reply, Request};

/// A request for the amount of data on one server.
struct SumData {
    server: ServerId,
    file: FileId,
    size: u64,
}

impl ChunkRequest for SumData {
    fn server(&self) -> ServerId {
        self.server
    }

    fn request(&self, hint: &FileHint) -> (Request, Payload) {
        let request = Request::SumData {
            file: self.file,
            size: self.size,
            chunk_bytes: hint.chunk_bytes,
            truncations: hint.truncations.clone(),
        };
        (request, Payload::empty())
    }
}

impl<C: Context> Client<C> {
    /// The amount of data in a file without its holes, in bytes. If a server cannot be reached
    /// everything counts as data, because a copy of the file must notice the failure. The sum is
    /// cached with the state of a file whose data is leased.
    pub(crate) async fn sum_data(&self, id: FileId) -> Result<u64, Failure> {
        let extent = self.extent(id).await?;
        let versions = self.data_versions(id);
        match self.try_sum_data(id, &extent).await {
            Err(Failure::Errno(Errno::EIO)) => Ok(extent.size),
            Ok(bytes) => {
                if versions.is_some() && versions == self.data_versions(id) {
                    let home = self.home_part(id);
                    self.with_leases(|leases| leases.note_data_sum(home, bytes));
                }
                Ok(bytes)
            }
            failed => failed,
        }
    }

    async fn try_sum_data(&self, id: FileId, extent: &Extent) -> Result<u64, Failure> {
        let servers = self.data_servers(id, 0, extent).into_iter();
        let asked: Vec<_> = servers
            .map(|server| SumData {
                server,
                file: id,
                size: extent.size,
            })
            .collect();
        let answers = self.ask_chunks(&asked, &extent.hint).await?;
        let number = |(reply, _)| match reply {
            Reply::Number(bytes) => Ok(bytes),
            _ => Err(UNEXPECTED),
        };
        answers.into_iter().map(number).sum()
    }
}
