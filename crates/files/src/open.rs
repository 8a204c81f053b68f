//! Opens, creates and closes files.

use crate::{Credentials, OpenFile, OpenFiles, Operations};
use alloc::sync::Arc;
use core::pin::pin;
use futago_base::{Attributes, Errno, FileId, Kind, Name};
use futago_client::{Context, CreateFlags};
use futago_wire::{AttributeChange, FileState, NewContent, NewNode};

/// A new, empty regular file of a caller, with the chunk size of its directory.
pub fn new_file(client: &impl Operations, caller: Credentials, mode: u16) -> NewNode {
    let default_chunk_bytes = client.core().config().chunk_bytes;
    let content = NewContent::InheritingFile {
        default_chunk_bytes,
    };
    caller.new_node(content, mode)
}

/// The outcome of a creation.
#[derive(Debug)]
pub enum Created {
    /// A new file.
    New(Arc<OpenFile>, Attributes),
    /// A file that has existed. Nobody has checked that the caller may open it.
    Existing(Arc<OpenFile>, Attributes),
    /// The name belongs to a node of another kind, which is not open.
    Other(Attributes),
}

impl OpenFiles {
    /// Opens a file: it exists until it is closed, even without names.
    ///
    /// # Errors
    /// `ESTALE` if it does not exist.
    pub async fn open(
        &self,
        client: &impl Operations,
        id: FileId,
    ) -> Result<(Arc<OpenFile>, FileState), Errno> {
        let session = client.core().context().session();
        let state = client.open(id).await?;
        Ok((self.add(id, session), state))
    }

    /// Creates and opens a file, or opens the one that has the name.
    ///
    /// # Errors
    /// `EEXIST` for an `exclusive` creation of a name that exists; `ENOENT`, `ENOSPC`.
    pub async fn create(
        &self,
        client: &impl Operations,
        directory: FileId,
        name: &Name,
        node: NewNode,
        exclusive: bool,
    ) -> Result<Created, Errno> {
        let session = client.core().context().session();
        let flags = CreateFlags {
            exclusive,
            open: true,
        };
        let (state, is_new) = client.create(directory, name, node, flags).await?;
        let attributes = state.attributes;
        if attributes.kind != Kind::File {
            return Ok(Created::Other(attributes));
        }
        let open = self.add(attributes.id, session);
        Ok(if is_new {
            Created::New(open, attributes)
        } else {
            Created::Existing(open, attributes)
        })
    }

    /// Creates and opens a file without a name.
    ///
    /// # Errors
    /// `ENOSPC`.
    pub async fn create_unnamed(
        &self,
        client: &impl Operations,
        directory: FileId,
        node: NewNode,
    ) -> Result<(Arc<OpenFile>, Attributes), Errno> {
        let core = client.core();
        let session = core.context().session();
        let state = core.create_unnamed(directory, node).await?;
        let open = self.add(state.attributes.id, session);
        Ok((open, state.attributes))
    }

    /// Truncates a file that was opened with `O_TRUNC`, and closes it if that fails. Returns its
    /// attributes.
    ///
    /// # Errors
    /// Those of the truncation.
    pub async fn truncate_or_close(
        &self,
        client: &impl Operations,
        open: &Arc<OpenFile>,
        kill_privileges: bool,
    ) -> Result<Attributes, Errno> {
        let change = AttributeChange {
            size: Some(0),
            kill_privileges,
            ..AttributeChange::default()
        };
        match client.set_attributes(open.id(), change).await {
            Ok(state) => Ok(state.attributes),
            Err(why) => {
                self.close(client, Arc::clone(open)).await?;
                Err(why)
            }
        }
    }

    /// Closes an open file, and releases the locks that were taken through it. The close takes
    /// effect even if buffered data is lost.
    ///
    /// # Errors
    /// The reason of such a loss, which the other open files report as well; `ESTALE` if the
    /// session has ended; `EIO` if the home cannot be reached, which keeps the file open then until
    /// the session ends.
    pub async fn close(&self, client: &impl Operations, open: Arc<OpenFile>) -> Result<(), Errno> {
        self.release_locks(client, &open).await;
        let close = pin!(async {
            let closed = client.close(open.id()).await;
            closed.inspect_err(|&why| open.node.lose(why))
        });
        let closed = open.run(client, close).await;
        self.remove(&open);
        closed
    }
}
