//! The predictions of a world agree with computed values.

use crate::setups::{CLIENT_BYTES_PER_S, ppmds};
use futago_store::Sync;
use futago_twin::world::{
    Activity, Amount, Disk, FileNames, Latency, Measured, MeasuredOperation, MeasuredPhase,
    MessageSize, OperationKind, Phase, ResourceClass, RunOptions, ServerStop, Setup, SharedLink,
    run,
};

/// Start-up of the evaluation of PPMDS.
const STARTUP_NS: u64 = 32_000;
const MEASURED_NS: u64 = 100_000_000;

fn measure(setup: &Setup) -> Measured {
    run(setup, &RunOptions::default()).expect("it runs")
}

fn phase(setup: &Setup) -> MeasuredPhase {
    measure(setup).phases.remove(0)
}

fn creates(phase: &MeasuredPhase) -> &MeasuredOperation {
    &phase.operations[&OperationKind::Create]
}

#[track_caller]
pub fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= tolerance, "{found}, not {expected}");
}

#[test]
fn one_client_takes_a_cycle_of_six_start_ups_and_the_store() {
    let phase = phase(&ppmds(2, 1, STARTUP_NS, MEASURED_NS));
    let create = creates(&phase);
    // Each way: three start-ups, and the transmission at 125 MB/s, which takes longer than at 1250.
    let cycle_us = 6.0 * 32.0 + 2.0 * 4.096 + 500.0;
    for latency_us in [create.mean_us, create.p50_us, create.p99_us, create.max_us] {
        assert_near(latency_us, cycle_us, 0.01);
    }
    assert_near(create.per_s, 1e6 / cycle_us, 0.01);
    assert!(create.errors.is_empty(), "{create:?}");
}

#[test]
fn two_servers_are_bound_by_their_interfaces() {
    let bound_per_s = 2.0 * 1e9 / (STARTUP_NS as f64 + 409.6);
    let phase = phase(&ppmds(2, 88, STARTUP_NS, MEASURED_NS));
    let per_s = creates(&phase).per_s;
    assert!(per_s <= bound_per_s * 1.0001, "{per_s} of {bound_per_s}");
    assert_near(per_s, bound_per_s, 0.02);
    assert_near(per_s, 61_000.0, 0.03);
    let nic = phase.resources[&ResourceClass::ServerNicSend];
    assert_near(nic.utilisation, 1.0, 0.02);
}

/// One server, one disk.
fn on_disk(clients: u32, sync: Sync) -> Setup {
    let mut setup = ppmds(1, clients, STARTUP_NS, MEASURED_NS);
    setup.store.latency = Latency::ZERO;
    let disk = Disk {
        latency: Latency::Constant(500_000),
        ..Disk::default()
    };
    setup.disk = Some((disk, sync));
    setup
}

#[test]
fn a_create_on_one_server_waits_for_the_disk_only_if_everything_does() {
    let cycle_us = 6.0 * 32.0 + 2.0 * 4.096;
    let alone = |sync| creates(&phase(&on_disk(1, sync))).per_s;
    assert_near(alone(Sync::Process), 1e6 / cycle_us, 0.01);
    assert_near(alone(Sync::Always), 1e6 / (cycle_us + 500.0), 0.01);
}

#[test]
fn one_synchronization_serves_many_clients() {
    let phase = phase(&on_disk(20, Sync::Always));
    // Each client's create comes while the disk is at work, and is in the next synchronization.
    assert_near(creates(&phase).per_s, 20.0 / 1e-3, 0.02);
    let disk = phase.resources[&ResourceClass::Store];
    assert_near(disk.utilisation, 1.0, 0.01);
}

/// A server ends while its files are read, and has them all afterwards.
#[test]
fn a_server_with_a_disk_comes_back_with_its_files_after_its_recovery() {
    let mut setup = ppmds(1, 1, STARTUP_NS, MEASURED_NS);
    setup.store.latency = Latency::ZERO;
    let files = 200;
    setup.phases[0].amount = Amount::Operations(files);
    let stat = Phase {
        name: "stat".into(),
        activity: Activity::Names(vec![(OperationKind::Stat, 1)].into()),
        ..setup.phases[0].clone()
    };
    setup.phases.push(stat);
    setup.faults.stopped_servers = vec![ServerStop {
        server: 0,
        at_ns: 60_000_000,
        back_ns: 61_000_000,
    }];
    let mut longest_us = |held_records| {
        let disk = Disk {
            recovered_record_ns: 1e6,
            held_records,
            ..Disk::default()
        };
        setup.disk = Some((disk, Sync::Process));
        let measured = measure(&setup);
        let stat = &measured.phases[1].operations[&OperationKind::Stat];
        assert!(stat.errors.is_empty(), "{stat:?}");
        stat.max_us
    };
    // A name and an inode for each file.
    assert!(longest_us(0) >= 2.0 * files as f64 * 1e3);
    assert!(longest_us(1_000) >= (2.0 * files as f64 + 1_000.0) * 1e3);
}

#[test]
fn the_store_delays_answers_but_does_not_limit() {
    let mut setup = ppmds(2, 88, STARTUP_NS, MEASURED_NS);
    let slow = creates(&phase(&setup)).per_s;
    setup.store.latency = Latency::Constant(100_000);
    assert_near(creates(&phase(&setup)).per_s, slow, 0.02);
}

#[test]
fn a_store_with_few_places_limits() {
    let mut setup = ppmds(2, 60, STARTUP_NS, MEASURED_NS);
    setup.store.concurrency = Some(3);
    let bound_per_s = 2.0 * 3.0 * 1e9 / 500_000.0;
    let phase = phase(&setup);
    assert_near(creates(&phase).per_s, bound_per_s, 0.02);
    let store = phase.resources[&ResourceClass::Store];
    assert_eq!(store.units, 6);
    assert_near(store.utilisation, 1.0, 0.02);
}

#[test]
fn a_slow_processor_limits() {
    let mut setup = ppmds(2, 60, 1_000, MEASURED_NS);
    setup.costs.server.input_ns = 50_000.0;
    let phase = phase(&setup);
    assert_near(creates(&phase).per_s, 2.0 * 1e9 / 50_000.0, 0.02);
    assert_near(
        phase.resources[&ResourceClass::ServerCpu].utilisation,
        1.0,
        0.02,
    );
}

#[test]
fn a_shared_link_limits() {
    let mut setup = ppmds(4, 60, 1_000, MEASURED_NS);
    setup.network.shared_links.push(SharedLink {
        name: "trunk".into(),
        bytes_per_s: 10_000_000,
    });
    setup.network.paths[0][0].hops[0].shared_link = Some(0);
    // Requests and answers pass the same link.
    let bound_per_s = 10_000_000.0 / (2.0 * 512.0);
    assert_near(creates(&phase(&setup)).per_s, bound_per_s, 0.02);
}

#[test]
fn every_packet_pays_its_start_up() {
    let mut setup = ppmds(1, 1, STARTUP_NS, MEASURED_NS);
    setup.network.message_size = MessageSize::Fixed(4 * 1500);
    // The last of four packets leaves after three others, and follows the first in cut-through.
    let client_ns = 1500.0 * 1e9 / CLIENT_BYTES_PER_S as f64;
    let request_ns = 3.0 * (32_000.0 + client_ns) + 3.0 * 32_000.0 + client_ns;
    let answer_ns = 3.0 * (32_000.0 + 1_200.0) + 3.0 * 32_000.0 + client_ns;
    let cycle_us = (request_ns + answer_ns + 500_000.0) / 1e3;
    assert_near(creates(&phase(&setup)).mean_us, cycle_us, 0.001);
}

#[test]
fn processes_of_one_host_do_not_use_its_interface() {
    let mut setup = ppmds(1, 1, STARTUP_NS, MEASURED_NS);
    setup.hosts.truncate(1);
    setup.hosts[0].clients = 1;
    let phase = phase(&setup);
    let cycle_us = (2.0 * setup.network.local_ns as f64 + 500_000.0) / 1e3;
    assert_near(creates(&phase).mean_us, cycle_us, 0.001);
    assert!(!phase.resources.contains_key(&ResourceClass::ServerNicSend));
}

#[test]
fn flows_balance_and_littles_law_holds() {
    for clients in [11, 88] {
        let think_ns = 200_000;
        let mut setup = ppmds(2, clients, STARTUP_NS, 10 * MEASURED_NS);
        setup.phases[0].think = Latency::Exponential(think_ns as f64);
        setup.costs.server.input_ns = 5_000.0;
        setup.store.latency = Latency::Exponential(400_000.0);
        let phase = phase(&setup);
        let create = creates(&phase);
        // The clients are all either waiting for an answer or thinking.
        let cycle_s = (create.mean_us + think_ns as f64 / 1e3) / 1e6;
        assert_near(create.per_s * cycle_s, f64::from(clients), 0.01);
        // Each create uses everything once.
        for resource in phase.resources.values() {
            assert_near(resource.uses_per_s, create.per_s, 0.01);
        }
        assert_balanced(&phase);
    }
}

/// At every resource, busy time is uses times service, and by Little's law those who wait are uses
/// times waiting.
#[track_caller]
pub fn assert_balanced(phase: &MeasuredPhase) {
    for (class, resource) in &phase.resources {
        let busy = resource.uses_per_s * resource.service_us / 1e6;
        if resource.units > 0 {
            assert_near(resource.utilisation * resource.units as f64, busy, 0.01);
        }
        let waiting = resource.uses_per_s * resource.wait_us / 1e6;
        assert!(
            (resource.queue_mean - waiting).abs() <= 0.01 * waiting.max(0.01),
            "{class:?}: {resource:?}"
        );
    }
}

/// Names in sequence give each server its share at every moment; with random names, servers are
/// idle at times while others are overloaded.
#[test]
fn round_robin_names_reach_the_bound_that_random_names_miss() {
    let mut setup = ppmds(2, 33, STARTUP_NS, 3 * MEASURED_NS);
    setup.store.latency = Latency::Constant(100_000);
    setup.protocol.partitions = 4096;
    setup.directories[0].buckets = 4096;
    let bound_per_s = 2.0 * 1e9 / (STARTUP_NS as f64 + 410.0);
    let at_random = creates(&phase(&setup)).per_s;
    setup.directories[0].names = FileNames::RoundRobin;
    setup.phases.push(setup.phases[0].clone());
    setup.phases[1].activity = Activity::Names(vec![(OperationKind::Stat, 1)].into());
    let measured = measure(&setup);
    let round_robin = creates(&measured.phases[0]).per_s;
    assert!(
        at_random < 0.98 * bound_per_s,
        "{at_random} of {bound_per_s}"
    );
    assert_near(round_robin, bound_per_s, 0.002);
    // Files are found again by the same names.
    let stat = &measured.phases[1].operations[&OperationKind::Stat];
    assert!(stat.count > 0 && stat.errors.is_empty(), "{stat:?}");
}

#[test]
fn any_number_of_servers_shares_a_directory_of_many_buckets_evenly() {
    let mut setup = ppmds(3, 120, STARTUP_NS, MEASURED_NS);
    setup.protocol.partitions = 1024;
    setup.directories[0].buckets = 1024;
    let bound_per_s = 3.0 * 1e9 / (STARTUP_NS as f64 + 409.6);
    assert_near(creates(&phase(&setup)).per_s, bound_per_s, 0.02);
}
