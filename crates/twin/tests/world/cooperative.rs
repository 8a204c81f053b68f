//! Clients that read from each other's caches.

use crate::predictions::assert_near;
use crate::setups::{broadcast, epochs, exchange, exchange_on_disks, faulty_broadcast};
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

/// The phase in which clients read what others have written.
fn measure_reads(setup: &Setup) -> MeasuredPhase {
    let measured = run(setup, &RunOptions::default()).expect("it runs");
    for phase in &measured.phases {
        for operation in phase.operations.values() {
            assert!(operation.errors.is_empty(), "{phase:?}");
        }
    }
    measured.phases.into_iter().nth(1).expect("a second phase")
}

#[test]
fn what_clients_have_written_others_read_from_them() {
    for servers in [1, 3] {
        let phase = measure_reads(&exchange(servers, 6, 16, true));
        let sources = sources(&phase, 6, 16);
        assert_eq!(sources.bytes_from_servers, 0, "{sources:?}");
        let phase = measure_reads(&exchange(servers, 6, 16, false));
        assert!(phase.sources.is_none());
    }
}

/// No server sends anything twice, because clients have all of it.
#[test]
fn clients_that_read_in_new_orders_read_from_each_other() {
    let setup = epochs(2, 4, 32);
    let measured = run(&setup, &RunOptions::default()).expect("it runs");
    let sources = measured.phases.iter().map(|phase| {
        let read = &phase.operations[&OperationKind::Read];
        assert_eq!((read.count, read.errors.len()), (32, 0), "{read:?}");
        phase.sources.expect("all read the same file")
    });
    let [first, second, third] = sources.collect::<Vec<_>>()[..] else {
        panic!("three phases");
    };
    assert_near(first.copies_from_servers, 1.0, 1e-9);
    assert_eq!(first.bytes_from_clients, 0);
    // Besides, clients have some of it in their own caches.
    for later in [second, third] {
        assert_eq!(later.bytes_from_servers, 0);
        assert!(later.bytes_from_clients > 0);
    }
}

/// Servers that have to read their disks are far slower than clients that have the data.
#[test]
fn what_servers_no_longer_have_in_memory_comes_from_their_disks() {
    let seconds = |memory_mib, shares| {
        let setup = exchange_on_disks(4, 16, memory_mib, shares);
        measure_reads(&setup).measured_s
    };
    let in_memory = seconds(1000, false);
    let from_disk = seconds(32, false);
    // 5 ms for each piece, and 8 ns for each byte.
    let each_s = 0.005 + 8e-9 * MIB as f64;
    assert!(from_disk >= 64.0 * each_s, "{from_disk}");
    assert!(from_disk < 64.0 * each_s + in_memory, "{from_disk}");
    let from_clients = seconds(32, true);
    assert!(from_clients < in_memory, "{from_clients} {in_memory}");
}
