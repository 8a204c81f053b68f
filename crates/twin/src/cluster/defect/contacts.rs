//! Defects of contact servers.

use super::Defect;
use futago_base::ServerId;
use futago_server::{Input, Output};
use futago_wire::{ContactMessage, Peer};

/// The number of messages whose replies a contact server ignores.
const UNEXPECTED: u64 = 1 << 40;

impl Defect {
    /// The leases that a contact server returns at once when they are recalled, if it does not wait
    /// for its clients.
    pub fn returns_at_once(self, input: &Input, contact: ServerId) -> Option<Output> {
        match input {
            Input::Peer(Peer::Recall {
                sender,
                session,
                recalls,
            }) if self == Self::ReturnsBeforeClients => {
                let leases = recalls.iter().map(|recall| recall.lease);
                let message = Peer::Contact {
                    sender: contact,
                    session: *session,
                    number: UNEXPECTED,
                    introduces: false,
                    message: ContactMessage::GiveBack(leases.collect()),
                };
                Some(Output::Peer {
                    to: *sender,
                    message,
                })
            }
            _ => None,
        }
    }
}
