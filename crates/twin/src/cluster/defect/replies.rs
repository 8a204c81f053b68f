//! Defects of what a server sends.

use super::{Cause, Defect, settings::TOO_LONG};
use futago_base::{Duration, Time};
use futago_server::Output;
use futago_wire::{Body, Frame, Peer, Reply};

impl Defect {
    /// Alters what a server has decided to send.
    pub fn alter_outputs(self, outputs: &mut Vec<Output>, cause: Cause) {
        if self == Self::KeepsSessionsOfLost && cause == Cause::Lost {
            outputs.clear();
        }
        if self == Self::NeverRepeatsMessages && cause == Cause::Tick {
            let is_repeated = |output: &Output| {
                let message = match output {
                    Output::Peer { message, .. } => message,
                    _ => return false,
                };
                matches!(message, Peer::Deliver { .. })
            };
            outputs.retain(|output| !is_repeated(output));
        }
    }

    /// Alters a message of a server.
    pub fn alter_sent(self, frame: &mut Frame) {
        if self == Self::ForgetsClocks {
            frame.header.clock = Time(0);
        }
        if let Body::Outcome(Ok(reply)) = &mut frame.body {
            self.alter_reply(reply);
        }
    }

    fn alter_reply(self, reply: &mut Reply) {
        match (self, reply) {
            (
                Self::SkipsListedEntries,
                Reply::Listing {
                    entries,
                    complete: false,
                    ..
                },
            ) if entries.len() > 1 => {
                let last = entries.len() - 2;
                entries.remove(last);
            }
            (Self::SkipsFoundEntries, Reply::Scanned(scanned)) => {
                for scan in scanned {
                    scan.found.pop();
                }
            }
            (Self::RelaysTooLong, Reply::Relayed(Some(relayed))) => {
                relayed.lasts = Duration(relayed.lasts.0 + TOO_LONG.0);
            }
            (Self::EndsListingsEarly, Reply::Listing { complete, .. }) => *complete = true,
            _ => {}
        }
    }
}
