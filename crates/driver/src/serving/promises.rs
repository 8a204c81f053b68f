//! Outputs that wait until what they depend on survives a loss of power.
//!
//! A server that loses its latest batches must be consistent with the others. So whatever another
//! server may act upon is durable before it leaves: the messages to other servers, and the replies
//! with which a client makes others commit a transaction. Then no server knows more of another one
//! than that one's disk. All other replies need not wait: a loss of power undoes what they have
//! shown on this server alone.

use alloc::{collections::VecDeque, vec::Vec};
use futago_base::Store;
use futago_server::Output;

/// The outputs that wait.
#[derive(Debug, Default)]
pub struct Promises {
    /// With the position of the batch that must be durable, in order.
    waiting: VecDeque<(u64, Output)>,
    /// The position of the latest batch that truncates chunks of other servers. Clients show those
    /// the number of a truncation, so no reply may name it before it is durable.
    truncated: u64,
}

impl Promises {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds the outputs of all batches of a store. Returns those that may leave, in order.
    pub fn pass(&mut self, outputs: Vec<Output>, store: &impl Store) -> Vec<Output> {
        let (position, durable) = (store.position(), store.durable());
        if durable >= position && self.waiting.is_empty() {
            return outputs;
        }
        if outputs.iter().any(Output::truncates_elsewhere) {
            self.truncated = position;
        }
        let waits = store.confirms_durable() || self.truncated > durable;
        let mut leaving = Vec::with_capacity(outputs.len());
        for output in outputs {
            match waits || output.is_acted_upon() {
                true => self.waiting.push_back((position, output)),
                false => leaving.push(output),
            }
        }
        let ready = self
            .waiting
            .partition_point(|(needed, _)| *needed <= durable);
        leaving.extend(self.waiting.drain(..ready).map(|(_, output)| output));
        leaving
    }
}
