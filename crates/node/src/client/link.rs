//! The state of a client's connection to a server.

use futago_transport::{Receiver, Sender};
use std::sync::Arc;
use tokio::task::AbortHandle;

/// A connection to a server.
#[derive(Default)]
pub struct Link {
    pub sender: Option<Arc<Sender>>,
    pub receiver: Option<Arc<Receiver>>,
    /// How far both directions were when that was last looked at.
    passed: Passed,
    pub task: Option<AbortHandle>,
}

impl Link {
    /// Whether bytes that were on the way have arrived since the last call. The system of a server
    /// that has stopped confirms new requests at once, so these alone are no sign of life.
    pub fn has_progressed(&mut self) -> bool {
        let (Some(sender), Some(receiver)) = (&self.sender, &self.receiver) else {
            return false;
        };
        let (sent_bytes, is_sending) = sender.confirmed_bytes();
        let now = Passed {
            received_bytes: receiver.received_bytes(),
            sent_bytes,
            is_sending,
        };
        let before = std::mem::replace(&mut self.passed, now);
        now.received_bytes != before.received_bytes
            || before.is_sending && sent_bytes != before.sent_bytes
    }
}

/// How many bytes have passed on a connection.
#[derive(Clone, Copy, Default)]
struct Passed {
    received_bytes: u64,
    sent_bytes: u64,
    /// Whether bytes are on the way to the server.
    is_sending: bool,
}
