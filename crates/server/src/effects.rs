//! The effects of a decision besides its changes of the state.

use crate::{Output, TransactionCounts};
use alloc::vec::Vec;
use futago_base::{BucketStart, FileId, ServerId, TransactionId};

/// The effects of a decision, or of one request of it.
#[derive(Default)]
pub struct Effects {
    pub outputs: Vec<Output>,
    /// Nodes that have lost their last lease or an append range: the requests that wait for them
    /// run again.
    pub unblocked_nodes: Vec<FileId>,
    /// Resolved transactions: the requests that wait for them run again.
    pub resolved: Vec<TransactionId>,
    /// Buckets with new entries; those that are too large are split at the end.
    pub grown: Vec<(FileId, BucketStart)>,
    /// The messages to other servers that the present request has caused: its reply waits for them.
    pub caused: Vec<(ServerId, u64)>,
    pub transactions: TransactionCounts,
}

impl Effects {
    /// Adds later effects. It names every field, so that none can be forgotten.
    pub fn append(&mut self, later: Self) {
        let Self {
            outputs,
            unblocked_nodes,
            resolved,
            grown,
            caused,
            transactions,
        } = later;
        self.outputs.extend(outputs);
        self.unblocked_nodes.extend(unblocked_nodes);
        self.resolved.extend(resolved);
        self.grown.extend(grown);
        self.caused.extend(caused);
        self.transactions.add(transactions);
    }
}
