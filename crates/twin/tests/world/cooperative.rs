//! Clients that read one file from each other's caches.

use crate::predictions::assert_near;
use crate::setups::{broadcast, faulty_broadcast};
use futago_twin::world::{MeasuredPhase, MeasuredSources, OperationKind, RunOptions, Setup, run};

const MIB: u64 = 1 << 20;

fn measure(setup: &Setup) -> MeasuredPhase {
    let measured = run(setup, &RunOptions::default()).expect("it runs");
    let phase = measured.phases.into_iter().next();
    phase.expect("there is a phase")
}

/// All clients have read the whole file.
fn sources(phase: &MeasuredPhase, clients: u64, mib: u64) -> MeasuredSources {
    let read = &phase.operations[&OperationKind::Read];
    assert_eq!(read.count, clients * mib, "{read:?}");
    assert!(read.errors.is_empty(), "{read:?}");
    let sources = phase.sources.expect("all read the same file");
    let all = sources.bytes_from_servers + sources.bytes_from_clients;
    assert_eq!(all, clients * mib * MIB, "{sources:?}");
    sources
}

#[test]
fn without_cooperation_the_servers_send_a_copy_to_every_client() {
    let phase = measure(&broadcast(2, 6, 16, false));
    let sources = sources(&phase, 6, 16);
    assert_near(sources.copies_from_servers, 6.0, 1e-9);
    assert_eq!(sources.bytes_from_clients, 0);
}

#[test]
fn with_cooperation_one_copy_leaves_the_servers() {
    for clients in [2, 6, 40] {
        let phase = measure(&broadcast(2, clients, 16, true));
        let sources = sources(&phase, clients.into(), 16);
        assert!(sources.copies_from_servers <= 1.1, "{clients}: {sources:?}");
    }
}

/// Each client of a chain sends what it receives, so all clients take hardly longer than one.
#[test]
fn a_chain_of_clients_is_as_fast_as_one() {
    let measured_s = |clients| measure(&broadcast(1, clients, 64, true)).measured_s;
    let (one, many) = (measured_s(1), measured_s(8));
    assert!(many < 1.5 * one, "{one} s, {many} s");
    let apart = measure(&broadcast(1, 8, 64, false)).measured_s;
    assert!(apart > 5.0 * many, "{apart} s, {many} s");
}

/// A client that gets no answer from another one reads from the servers.
#[test]
fn lost_messages_and_dead_clients_hold_nobody_up() {
    for seed in 1..=3 {
        let phase = measure(&faulty_broadcast(2, 6, 16, seed));
        let read = &phase.operations[&OperationKind::Read];
        assert!(read.errors.is_empty(), "{read:?}");
        assert!(read.count >= 5 * 16, "{read:?}");
        let sources = phase.sources.expect("all read the same file");
        assert!(sources.copies_from_servers < 6.0, "{sources:?}");
    }
}
