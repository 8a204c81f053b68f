//! Recorded runs: the operations are repeated, with the recorded pauses, in the simulated cluster's
//! own time.

use crate::predictions::assert_near;
use crate::setups::{ppmds, recorded, trace_phase};
use futago_twin::world::{
    Error, MeasuredOperation, MeasuredPhase, OperationKind, Phase, Place, RunOptions, run,
};

fn measure(clients: u32, phases: Vec<Phase>) -> Result<Vec<MeasuredPhase>, Error> {
    let mut setup = ppmds(2, clients, 5_000, 1);
    setup.phases = phases;
    run(&setup, &RunOptions::default()).map(|measured| measured.phases)
}

fn replay(lines: &[&str]) -> MeasuredPhase {
    let text = [&["{\"futago_trace\":1}"], lines].concat().join("\n");
    let phases = measure(2, vec![trace_phase(&text, Place::Shared(0))]);
    phases.expect("it runs").remove(0)
}

fn errors(operation: &MeasuredOperation) -> Vec<(&str, u64)> {
    let errors = operation.errors.iter();
    errors
        .map(|(name, count)| (name.as_str(), *count))
        .collect()
}

/// Each of the recorded operations, and what a process needs to find what the other one has made.
#[test]
fn every_operation_is_performed_and_ends_as_it_did() {
    let phase = measure(3, vec![recorded()]).expect("it runs").remove(0);
    let count = |kind| phase.operations.get(&kind).map_or(0, |all| all.count);
    let expected = [
        (OperationKind::Stat, 4),
        (OperationKind::Lookup, 1),
        (OperationKind::Create, 1),
        (OperationKind::Write, 1),
        (OperationKind::Append, 1),
        (OperationKind::Copy, 1),
        (OperationKind::SetAttributes, 1),
        (OperationKind::Close, 2),
        (OperationKind::MakeDirectory, 1),
        (OperationKind::Rename, 1),
        (OperationKind::Exchange, 1),
        (OperationKind::Symlink, 1),
        (OperationKind::ReadDirectory, 1),
        (OperationKind::Open, 1),
        (OperationKind::Read, 2),
        (OperationKind::ReadLink, 1),
        (OperationKind::GetAttributes, 1),
        (OperationKind::Link, 1),
        (OperationKind::Unlink, 1),
    ];
    for (kind, times) in expected {
        assert_eq!(count(kind), times, "{kind:?}");
    }
    let failed = phase.operations.iter();
    let failed = failed.filter(|(_, operation)| !operation.errors.is_empty());
    let failed: Vec<_> = failed.map(|(kind, all)| (*kind, errors(all))).collect();
    let expected = [
        (OperationKind::Stat, vec![("ENOENT", 1)]),
        (OperationKind::RemoveDirectory, vec![("ENOTEMPTY", 1)]),
    ];
    assert_eq!(failed, expected);
    // The second one ends with the file.
    let read = &phase.operations[&OperationKind::Read];
    let bytes = read.mib_per_s * phase.measured_s * f64::from(1 << 20);
    assert_near(bytes, 4096.0 + 2000.0, 1e-9);
}

/// One process has all that it does, and all that it thinks, one after the other.
#[test]
fn think_times_are_replayed_and_latencies_are_the_simulated_ones() {
    let lines = |took_ns: u64| {
        [
            format!(
                r#"{{"process":0,"begin_ns":1000000,"took_ns":{took_ns},"operation":{{"create":{{"in":0,"name":"a","file":1}}}}}}"#
            ),
            format!(
                r#"{{"process":0,"begin_ns":{},"took_ns":7,"operation":{{"unlink":{{"in":0,"name":"a"}}}}}}"#,
                1_000_000 + took_ns + 2_000_000
            ),
        ]
    };
    for took_ns in [1, 1_000_000_000] {
        let lines = lines(took_ns);
        let phase = replay(&[&lines[0], &lines[1]]);
        let latencies = phase.operations.values().map(|all| all.mean_us * 1e-6);
        let latencies: f64 = latencies.sum();
        assert!(latencies > 1e-3, "two changes are stored: {latencies}");
        assert_near(phase.measured_s, 0.003 + latencies, 1e-6);
    }
}

/// As the other process is later here than it was then.
#[test]
fn what_is_not_there_yet_cannot_be_used() {
    let phase = replay(&[
        r#"{"process":0,"begin_ns":0,"took_ns":1,"operation":{"get-attributes":{"file":0}}}"#,
        r#"{"process":0,"begin_ns":1,"took_ns":1,"operation":{"create":{"in":0,"name":"a","file":1}}}"#,
        r#"{"process":1,"begin_ns":2,"took_ns":1,"operation":{"open":{"file":1}}}"#,
    ]);
    let of = |kind| errors(&phase.operations[&kind]);
    assert_eq!(of(OperationKind::Lookup), [("ENOENT", 1)]);
    assert_eq!(of(OperationKind::Open), [("ESTALE", 1)]);
    assert_eq!(phase.operations[&OperationKind::Create].count, 1);
}

/// They end at once, and never within each other.
#[test]
fn any_number_of_operations_may_need_no_server() {
    let lines = (1..=20_000).map(|number| {
        format!(
            r#"{{"process":0,"begin_ns":{number},"took_ns":1,"operation":{{"read":{{"file":0,"offset":0,"length":0}}}}}}"#
        )
    });
    let lines: Vec<String> = lines.collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let phase = replay(&lines);
    assert_eq!(phase.operations[&OperationKind::Read].count, 20_000);
}

/// The files of the first run are found.
#[test]
fn a_trace_can_be_replayed_again() {
    let lines = r#"{"futago_trace":1}
{"exists":{"file":1,"in":0,"name":"d","kind":"directory"}}
{"exists":{"file":2,"in":1,"name":"f","kind":{"file":{"size":3000000}}}}
{"process":0,"begin_ns":1,"took_ns":1,"operation":{"stat":{"in":0,"name":"d","file":1}}}
{"process":0,"begin_ns":3,"took_ns":1,"operation":{"stat":{"in":1,"name":"f","file":2}}}
{"process":0,"begin_ns":5,"took_ns":1,"operation":{"read":{"file":2,"offset":2999000,"length":4000}}}"#;
    let phase = || trace_phase(lines, Place::Root);
    for phase in measure(1, vec![phase(), phase()]).expect("it runs") {
        assert_eq!(phase.operations[&OperationKind::Stat].count, 2);
        let read = &phase.operations[&OperationKind::Read];
        assert_eq!((read.count, read.errors.len()), (1, 0));
        let bytes = read.mib_per_s * phase.measured_s * f64::from(1 << 20);
        assert_near(bytes, 1_000.0, 1e-9);
    }
}

#[test]
fn each_process_needs_a_client_and_all_a_directory() {
    let message = |phases| measure(1, phases).unwrap_err().to_string();
    let mut own = recorded();
    own.place = Place::Own;
    let fewer = message(vec![recorded()]);
    assert_eq!(
        fewer,
        "phases[0].trace: each of its processes is a client, and there are fewer"
    );
    let own = measure(2, vec![own]).unwrap_err().to_string();
    assert_eq!(
        own,
        "phases[0].trace: it takes place in a directory that clients share"
    );
}
