//! The state of a server as its driver changes it.

use crate::{Batch, View};

/// A state that changes by batches.
pub trait Store: View {
    /// Applies a batch as a whole.
    fn apply(&mut self, batch: Batch);
}
