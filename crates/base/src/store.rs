//! The state of a server as its driver changes it.

use crate::{Batch, Moment, View};

/// A state that changes by batches.
pub trait Store: View {
    /// The reason why changes cannot be made durable.
    type Error: core::error::Error;

    /// Applies a batch as a whole. `decided` is the time of the decision.
    fn commit(&mut self, batch: Batch, decided: Moment);

    /// Makes all batches survive the end of the process. Until then, no message that depends on
    /// them may leave the server.
    ///
    /// # Errors
    /// If that fails. Nothing more may leave the server then.
    fn persist(&mut self) -> Result<(), Self::Error>;

    /// The number of the latest batch; 0 if no batch can be lost in another way than all of them.
    fn position(&self) -> u64 {
        0
    }

    /// The number of the latest batch that survives a loss of power.
    fn durable(&self) -> u64 {
        0
    }

    /// Whether no message at all may leave before the batches that it depends on are durable.
    fn confirms_durable(&self) -> bool {
        false
    }

    /// Whether data that was read since the last call could not be read, so that zeros are in its
    /// place. A decision that has seen them must not show any data.
    fn take_unreadable(&mut self) -> bool {
        false
    }
}
