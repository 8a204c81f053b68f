//! Defects of how clients send.

use super::Defect;
use futago_base::Payload;
use futago_wire::{Failure, Frame, Reply, Request};
use std::collections::BTreeSet;

/// Numbers from here on are those of requests that were sent again as new ones.
const NEW_NUMBERS: u64 = 1 << 40;

/// The requests that a client has sent.
#[derive(Clone, Debug, Default)]
pub struct Resent {
    sent: BTreeSet<u64>,
    copies: u64,
}

impl Defect {
    /// The reply that a client presumes before it has one.
    pub fn presumed(self, request: &Request) -> Option<Reply> {
        match (self, request) {
            (Self::ReportsWritesEarly, Request::WriteChunk { .. }) => Some(Reply::Done),
            _ => None,
        }
    }

    /// The reply to a request as its client reads it.
    pub fn misread(
        self,
        request: &Request,
        reply: Result<(Reply, Payload), Failure>,
    ) -> Result<(Reply, Payload), Failure> {
        match (self, request, reply) {
            (Self::TakesChangedForDone, Request::Execute(_), Err(Failure::Changed)) => {
                Ok((Reply::Prepared(None), Payload::empty()))
            }
            (_, _, reply) => reply,
        }
    }

    /// Alters a request that leaves a client; false if it does not leave.
    pub fn alter_leaving(self, frame: &mut Frame, resent: &mut Resent) -> bool {
        let header = &mut frame.header;
        if self == Self::AcknowledgesEarly {
            header.acknowledged = header.sequence - 1;
        }
        let is_first = resent.sent.insert(header.sequence);
        if self == Self::ResendsAsNew && !is_first {
            resent.copies += 1;
            header.sequence += resent.copies * NEW_NUMBERS;
        }
        is_first || self != Self::NeverResends
    }

    /// Gives the answer to a request back the number that the client knows it by.
    pub const fn alter_returning(self, frame: &mut Frame) {
        frame.header.sequence %= NEW_NUMBERS;
    }
}
