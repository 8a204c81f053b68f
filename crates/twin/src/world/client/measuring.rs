//! The results of operations of clients.

use super::operation::{Operation, Work};
use super::task::{Ended, Sources};
use super::workload::Workload;
use crate::world::host::Moment;
use crate::world::scene::Window;
use crate::world::statistics::Output;
use crate::world::{Activity, Phase, ResourceClass};
use futago_lab::workload::IoPhase;

/// Measures an operation that has ended, and the use of its client.
pub fn measure(
    workload: &Workload,
    operation: Operation,
    [arrived_ns, began_ns]: [u64; 2],
    ended: &Ended,
    at: &mut Moment<'_>,
) {
    let window = at.scene.window(workload.round, workload.began_ns);
    if let (Some(window), Some(kind)) = (window, operation.kind()) {
        at.out.outputs.push(Output::Operation {
            window,
            kind,
            arrived_ns,
            ended_ns: at.ns,
            outcome: ended.outcome.map(|done| done.bytes),
            retries: ended.retries,
        });
        count_sources(operation, ended.sources, window, at);
    }
    if workload.arrivals(at.scene).is_some() {
        let times = [arrived_ns, began_ns, at.ns];
        at.used(ResourceClass::Client, times);
    }
}

/// Counts where a read has come from of data that all clients read, or that clients share.
fn count_sources(operation: Operation, sources: Sources, window: Window, at: &mut Moment<'_>) {
    let phase = at.scene.setup.phases.get(window.phase as usize);
    let shares = at.scene.setup.protocol.cooperative;
    let reads = |phase: &Phase| match &phase.activity {
        Activity::Data(data) => data.phase == IoPhase::Read && (data.is_common() || shares),
        _ => false,
    };
    if matches!(operation, Operation::Work(Work::Data(_))) && phase.is_some_and(reads) {
        at.out.outputs.push(Output::Sources {
            window,
            at_ns: at.ns,
            sources: [sources.servers, sources.clients],
        });
    }
}
