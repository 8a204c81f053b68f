//! Defects of requests that a server refuses because it has too many.

use super::Defect;
use futago_base::{Batch, RequestId};
use futago_server::Output;
use futago_wire::Failure;

/// The latest request that a core has decided about, and the changes that it decided on.
#[derive(Clone, Debug, Default)]
pub struct LatestRequest(Option<(RequestId, Batch)>);

impl LatestRequest {
    /// Takes note of a decision.
    pub fn note(&mut self, request: Option<RequestId>, batch: &Batch) {
        self.0 = request.map(|id| (id, batch.clone()));
    }

    /// The changes that were decided on for a request, if the core was asked.
    pub fn changes(&self, request: RequestId) -> Option<&Batch> {
        let latest = self.0.as_ref().filter(|(id, _)| *id == request);
        latest.map(|(_, batch)| batch)
    }
}

impl Defect {
    /// The changes of a request that was refused because it would wait.
    pub fn keeps_waiting(self, outputs: &[Output], latest: &LatestRequest) -> Option<Batch> {
        let refused = refused(outputs).filter(|_| self == Self::KeepsRefusedWaiting)?;
        latest.changes(refused).cloned()
    }
}

/// The request that was refused, if the outputs refuse one.
pub fn refused(outputs: &[Output]) -> Option<RequestId> {
    outputs.iter().find_map(|output| match output {
        Output::Reply {
            request,
            outcome: Err(Failure::Busy),
            ..
        } => Some(*request),
        _ => None,
    })
}
