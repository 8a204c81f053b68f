//! Makes a node other than a directory.

use super::{CreateFlags, lookup::Found};
use crate::{
    Client, Context,
    client::{GONE, UNEXPECTED},
};
use alloc::boxed::Box;
use futago_base::{Errno, FileId, Kind, Name, Payload};
use futago_wire::{Failure, FileState, NewContent, NewNode, Reply, Request};

impl<C: Context> Client<C> {
    /// Makes `node`, with `data` as its first data. Returns its state and whether it is new.
    /// Errors: `EEXIST`, `ENOENT`, `ENOSPC`.
    pub async fn create(
        &self,
        directory: FileId,
        name: &Name,
        node: NewNode,
        flags: CreateFlags,
        data: Payload,
    ) -> Result<(FileState, bool), Errno> {
        let CreateFlags { exclusive, open } = flags;
        let first = data.slice(0, data.len().min(first_bytes(&node)));
        let request = |at| Request::Create {
            at,
            node: node.clone(),
            exclusive,
            open,
        };
        let (mut state, created) = self
            .persist(|| self.try_create(directory, name, request, open, &first))
            .await?;
        let stored = first.len().min(state.attributes.chunk_bytes as usize);
        if created && stored < data.len() {
            let (offset, rest) = (stored as u64, data.slice(stored, data.len()));
            // Boxed, because it is rare and larger than all the rest.
            let write = Box::pin(self.write(state.attributes.id, offset, rest, false));
            state.attributes.size = write.await?;
        }
        Ok((state, created))
    }

    async fn try_create(
        &self,
        directory: FileId,
        name: &Name,
        request: impl Fn(futago_wire::Spot) -> Request,
        open: bool,
        data: &Payload,
    ) -> Result<(FileState, bool), Failure> {
        let (at, reply) = self.ask_at(directory, name, request, data).await?;
        let Reply::Found {
            entry,
            state,
            created,
            ..
        } = reply?
        else {
            return Err(UNEXPECTED);
        };
        let state = state.map(|state| self.seen(state));
        let existing = if !created && open && entry.kind == Kind::File {
            match self.try_open(entry.id).await {
                Ok(opened) => Ok(self.fold_after_change(opened).await),
                failed => failed,
            }
        } else {
            self.complete(&Found { at, entry, state }).await
        };
        match existing {
            // The file was removed in between, so the name is free for a new one.
            Err(GONE) => Err(Failure::Changed),
            state => Ok((state?, created)),
        }
    }
}

/// How many bytes of data the request carries: those of chunk 0. A directory may have smaller
/// chunks, of which the client does not know.
const fn first_bytes(node: &NewNode) -> usize {
    match node.content {
        NewContent::File { chunk_bytes }
        | NewContent::InheritingFile {
            default_chunk_bytes: chunk_bytes,
        } => chunk_bytes as usize,
        _ => usize::MAX,
    }
}
