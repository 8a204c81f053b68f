//! Defects of what is durable when it leaves a server.

use super::Defect;
use futago_server::Output;
use futago_wire::Reply;

impl Defect {
    /// Takes the outputs that leave before they are durable.
    pub fn take_early(self, outputs: &mut Vec<Output>) -> Vec<Output> {
        let is_early = |output: &mut Output| match self {
            Self::SendsUndurable => {
                matches!(output, Output::Peer { .. } | Output::PeerAnswer { .. })
            }
            Self::ConfirmsUndurable => is_confirmation(output),
            Self::RepliesUndurable => matches!(output, Output::Reply { .. }),
            _ => false,
        };
        outputs.extract_if(.., is_early).collect()
    }
}

const fn is_confirmation(output: &Output) -> bool {
    matches!(
        output,
        Output::Reply {
            outcome: Ok(Reply::Synchronized),
            ..
        }
    )
}
