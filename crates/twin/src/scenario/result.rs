//! From what a world has measured to results.

use super::Point;
use crate::world::{
    Measured, MeasuredOperation, MeasuredPhase, MeasuredResource, MeasuredSources,
    MeasuredTransactions, ResourceClass,
};
use futago_lab::results::{
    Bound, LatencySummary, OperationResult, PhaseResult, PointResult, ResourceResult, SourceResult,
    TransactionResult,
};

/// The results of a point.
pub fn summarize(point: &Point, measured: &Measured) -> PointResult {
    let clients = point.body.cluster.clients;
    let phases = measured.phases.iter();
    let phases = phases.map(|phase| phase_result(phase, clients)).collect();
    let engine = &measured.engine;
    PointResult {
        events_committed: engine.events_committed,
        events_per_s: engine.events_per_s,
        wall_s: engine.wall_s,
        peak_rss_bytes: engine.peak_rss_bytes,
        digest: engine.digest.clone(),
        ..PointResult::collect(point.parameters.clone(), phases)
    }
}

fn phase_result(phase: &MeasuredPhase, clients: u32) -> PhaseResult {
    let operations = phase.operations.iter().map(|(kind, operation)| {
        let name: &str = kind.into();
        (name.to_owned(), operation_result(operation))
    });
    let resources = phase.resources.iter().map(|(class, resource)| {
        let name: &str = class.into();
        (name.to_owned(), resource_result(resource))
    });
    let open = phase.resources.contains_key(&ResourceClass::Client);
    let mut result = PhaseResult {
        name: phase.name.clone(),
        measured_s: phase.measured_s,
        operations: operations.collect(),
        transactions: transaction_result(phase),
        sources: phase.sources.map(source_result),
        left: open.then_some(phase.left),
        resources: resources.collect(),
        bound: Bound::default(),
    };
    result.find_bound(clients);
    result
}

fn source_result(sources: MeasuredSources) -> SourceResult {
    SourceResult {
        bytes_from_servers: sources.bytes_from_servers,
        bytes_from_clients: sources.bytes_from_clients,
        copies_from_servers: sources.copies_from_servers,
    }
}

fn operation_result(operation: &MeasuredOperation) -> OperationResult {
    OperationResult {
        count: operation.count,
        errors: operation.errors.clone(),
        per_s: operation.per_s,
        mib_per_s: operation.mib_per_s,
        latency_us: LatencySummary {
            p50: operation.p50_us,
            p99: operation.p99_us,
            mean: operation.mean_us,
        },
    }
}

fn transaction_result(phase: &MeasuredPhase) -> TransactionResult {
    let MeasuredTransactions {
        begun,
        committed,
        aborted,
        conflicts,
        retries,
    } = phase.transactions;
    let ended = phase.operations.values();
    let ended = ended.map(|operation| operation.count + operation.errors.values().sum::<u64>());
    let ended = ended.sum::<u64>().max(1) as f64;
    let per_s = |count: u64| match phase.measured_s {
        0.0 => 0.0,
        measured_s => count as f64 / measured_s,
    };
    TransactionResult {
        begun,
        committed,
        aborted,
        conflicts,
        retries,
        committed_per_s: per_s(committed),
        aborted_per_s: per_s(aborted),
        conflicts_per_operation: conflicts as f64 / ended,
        retries_per_operation: retries as f64 / ended,
    }
}

const fn resource_result(resource: &MeasuredResource) -> ResourceResult {
    ResourceResult {
        units: resource.units,
        uses_per_s: resource.uses_per_s,
        service_us: resource.service_us,
        wait_us: resource.wait_us,
        utilisation: resource.utilisation,
        utilisation_max: resource.utilisation_max,
        queue_mean: resource.queue_mean,
    }
}
