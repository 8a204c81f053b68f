//! The open files of a client.

use crate::{
    OpenFile, Operations, lock_release::FailedReleases, open_file::OpenNode, unsettled::Unsettled,
};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use atomic_refcell::AtomicRefCell;
use futago_base::{Errno, FileId, SessionId};

/// The open files of a client. A client has exactly one, or losses are not reported to all.
///
/// Like the client, it may be used by one thread at a time.
#[derive(Debug, Default)]
pub struct OpenFiles {
    state: AtomicRefCell<State>,
    /// Holders of locks that are being released.
    pub(crate) unsettled: Unsettled,
    pub(crate) failed_releases: FailedReleases,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last opened file.
    last: u64,
    nodes: BTreeMap<FileId, Opens>,
}

#[derive(Debug)]
struct Opens {
    node: Arc<OpenNode>,
    count: u32,
}

impl OpenFiles {
    /// Adds a file that the client has opened in a session.
    pub fn add(&self, id: FileId, session: SessionId) -> Arc<OpenFile> {
        let state = &mut *self.state.borrow_mut();
        state.last += 1;
        let opens = state.nodes.entry(id).or_insert_with(|| Opens {
            node: Arc::new(OpenNode::new(id)),
            count: 0,
        });
        opens.count += 1;
        let node = Arc::clone(&opens.node);
        Arc::new(OpenFile::new(node, state.last, session))
    }

    /// Removes an open file that is closed.
    pub(crate) fn remove(&self, open: &OpenFile) {
        open.end();
        let nodes = &mut self.state.borrow_mut().nodes;
        if let Some(opens) = nodes.get_mut(&open.id()) {
            opens.count -= 1;
            if opens.count == 0 {
                nodes.remove(&open.id());
            }
        }
    }

    /// The operation of `sync`: all earlier writes are on the servers when it returns. They survive
    /// a loss of power if the servers can do that. A loss is reported by the open files that have
    /// written the lost data.
    ///
    /// # Errors
    /// Those of [`Client::make_all_durable`](futago_client::Client::make_all_durable).
    pub async fn synchronize_all(&self, client: &impl Operations) -> Result<(), Errno> {
        for node in self.written_nodes() {
            node.write_back(client).await;
        }
        client.core().make_all_durable().await
    }

    fn written_nodes(&self) -> Vec<Arc<OpenNode>> {
        let state = self.state.borrow();
        let nodes = state.nodes.values().map(|opens| &opens.node);
        nodes.filter(|node| node.is_written()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId(1);
    const FILE: FileId = FileId(5);

    #[test]
    fn open_files_of_one_node_share_it_until_the_last_is_closed() {
        let files = OpenFiles::default();
        let (one, other) = (files.add(FILE, SESSION), files.add(FILE, SESSION));
        assert_ne!(one.number(), other.number());
        one.begin_to_write();
        assert!(!other.is_clean() && files.add(FileId(6), SESSION).is_clean());
        files.remove(&one);
        assert!(other.is_clean());
        files.remove(&other);
        assert!(!files.state.borrow().nodes.contains_key(&FILE));
    }

    #[test]
    fn only_written_nodes_are_synchronized() {
        let files = OpenFiles::default();
        let (written, _read) = (files.add(FILE, SESSION), files.add(FileId(6), SESSION));
        written.begin_to_write();
        let nodes = files.written_nodes();
        assert_eq!(nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [FILE]);
    }
}
