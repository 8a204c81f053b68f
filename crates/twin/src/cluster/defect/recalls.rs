//! Defects of how clients give leases back.

use super::Defect;
use futago_base::{Duration, Payload, ServerId};
use futago_client::{Client, Context};
use futago_wire::{LeaseRecall, Request};

/// For how long a client goes on to rely on a lease that it has given back.
const EARLY: Duration = Duration::from_millis(20);

impl Defect {
    /// Gives a lease back before the client ceases to rely on it; true if it never does.
    pub async fn gives_back<C: Context>(
        self,
        core: &Client<C>,
        from: ServerId,
        recalls: &[LeaseRecall],
    ) -> bool {
        if !matches!(self, Self::KeepsRecalledLeases | Self::GivesBackEarly) {
            return false;
        }
        let context = core.context();
        let leases = recalls.iter().map(|recall| recall.lease);
        let request = Request::GiveBack(leases.collect());
        let sequence = context.next_sequence();
        // A server that does not answer recalls the lease again.
        let _ = context
            .call(from, sequence, request, Payload::empty())
            .await;
        context.sleep(EARLY).await;
        self == Self::KeepsRecalledLeases
    }
}
