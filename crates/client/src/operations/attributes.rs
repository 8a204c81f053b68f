//! Asks for attributes.

use crate::{Client, Context};
use futago_base::{BucketStart, Errno, FileId, record::Header};
use futago_wire::{Failure, FileState};

impl<C: Context> Client<C> {
    /// The state of a file; a directory's attributes are folded over all its buckets.
    /// Errors: `ESTALE` if it is gone.
    pub async fn attributes(&self, id: FileId) -> Result<FileState, Errno> {
        self.persist(|| self.try_attributes(id)).await
    }

    pub(crate) async fn try_attributes(&self, id: FileId) -> Result<FileState, Failure> {
        let state = self.state_at_home(id).await?;
        self.fold(state).await
    }

    /// Completes what the home of a directory knows by what the servers of its buckets know.
    pub(crate) async fn fold(&self, state: FileState) -> Result<FileState, Failure> {
        match state.directory {
            Some(directory) if directory.header.level > 0 => {
                let id = state.attributes.id;
                let headers = self.headers(id, directory.header).await?;
                Ok(folded(state, &headers))
            }
            _ => Ok(state),
        }
    }
}

/// A directory's attributes from the headers of all its buckets.
fn folded(mut state: FileState, headers: &[(BucketStart, Header)]) -> FileState {
    let Some(directory) = state.directory else {
        return state;
    };
    let headers = headers.iter().map(|(_, header)| header);
    let subdirectories: u32 = headers.clone().map(|header| header.subdirectories).sum();
    let attributes = &mut state.attributes;
    attributes.links = 2 + subdirectories;
    attributes.size = headers.clone().map(|header| header.entries).sum();
    for header in headers {
        attributes.changed = attributes.changed.max(header.modified);
        if header.modified > directory.modified_set_at {
            attributes.modified = attributes.modified.max(header.modified);
        }
    }
    state
}
