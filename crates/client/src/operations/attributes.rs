//! Asks for attributes.

use crate::{Client, Context};
use alloc::boxed::Box;
use futago_base::{Errno, FileId, record::HeaderSum};
use futago_wire::{Failure, FileState};

impl<C: Context> Client<C> {
    /// The state of a file. The attributes of a directory are summed over all its buckets, and the
    /// data of a file with holes over all its chunks. Errors: `ESTALE` if it does not exist.
    pub async fn attributes(&self, id: FileId) -> Result<FileState, Errno> {
        self.persist(|| self.try_attributes(id)).await
    }

    pub(crate) async fn try_attributes(&self, id: FileId) -> Result<FileState, Failure> {
        let state = self.state_at_home(id).await?;
        self.fold(state).await
    }

    /// Like [`Client::fold`], after a completed change. The change neither fails nor runs again if
    /// other servers cannot be reached or the file has been removed since.
    pub(crate) async fn fold_after_change(&self, state: FileState) -> FileState {
        let folded = Box::pin(self.persist(|| self.fold(state))).await;
        folded.unwrap_or_else(|_| all_data(state))
    }

    /// Completes the state from the home with the buckets or chunks on other servers.
    pub(crate) async fn fold(&self, mut state: FileState) -> Result<FileState, Failure> {
        match state.directory {
            Some(directory) if !directory.here.is_whole() => {
                match self.header_sum(state.attributes.id, &directory).await {
                    Ok(sum) => Ok(folded(state, &sum)),
                    Err(Failure::Errno(Errno::EIO)) => Ok(state),
                    Err(failure) => Err(failure),
                }
            }
            _ => {
                let attributes = &mut state.attributes;
                if attributes.allocated_bytes.is_none() {
                    attributes.allocated_bytes =
                        Some(Box::pin(self.sum_data(attributes.id)).await?);
                }
                Ok(state)
            }
        }
    }
}

/// A state that counts all possible data as data.
fn all_data(mut state: FileState) -> FileState {
    let attributes = &mut state.attributes;
    attributes.allocated_bytes.get_or_insert(attributes.size);
    state
}

/// The attributes of a directory with the sum of all its buckets.
pub fn folded(mut state: FileState, sum: &HeaderSum) -> FileState {
    let Some(directory) = state.directory else {
        return state;
    };
    let attributes = &mut state.attributes;
    attributes.links = sum.subdirectories.saturating_add(2);
    attributes.size = sum.entries;
    attributes.changed = attributes.changed.max(sum.modified);
    attributes.modified = if sum.modified > directory.modified_set_at {
        sum.modified
    } else {
        directory.modified_set_to
    };
    state
}
