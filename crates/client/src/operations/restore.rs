//! Restores the data of released files.

use crate::{Client, Context};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, ServerId};
use futago_wire::{Reply, Request, Restored};

impl<C: Context> Client<C> {
    /// Reports ended restorations of files at their home, and asks it for up to `files_max` further
    /// files that other clients wait for. This client writes all data of each of them, and reports
    /// it. Errors: as for any request.
    pub async fn next_restorations(
        &self,
        home: ServerId,
        ended: &[Restored],
        files_max: u32,
    ) -> Result<Vec<FileId>, Errno> {
        let request = Request::NextRestorations {
            ended: ended.to_vec(),
            files_max,
        };
        let asked = self.persist(|| self.ask(home, request.clone()));
        match asked.await? {
            Reply::Wanted(files) => Ok(files),
            _ => Err(Errno::EPROTO),
        }
    }
}
