//! Large files: what moves their data is what limits them, and what is read was written.

use crate::predictions::{assert_balanced, assert_near};
use crate::setups::{SERVER_BYTES_PER_S, hosts, own_files, ppmds, transfers};
use futago_lab::workload::{IoPhase, IoWorkload};
use futago_twin::world::{
    Amount, Latency, MeasuredPhase, MessageSize, OperationKind, Place, ResourceClass, RunOptions,
    Setup, run,
};

const MIB: f64 = (1 << 20) as f64;

/// Every host has the servers' interface, and nothing but the network takes time.
fn setup(servers: u32, clients: u32, phases: &[IoPhase], amount: Amount) -> Setup {
    let mut setup = ppmds(servers, clients, 1_000, 1);
    setup.hosts = hosts(servers, clients);
    for host in &mut setup.hosts {
        host.send_bytes_per_s = SERVER_BYTES_PER_S;
        host.receive_bytes_per_s = SERVER_BYTES_PER_S;
    }
    setup.network.message_size = MessageSize::Encoded;
    setup.network.packet_bytes = 65_536;
    setup.store.latency = Latency::ZERO;
    let workload = own_files(clients);
    let phases = phases.iter();
    setup.phases = phases
        .map(|&phase| transfers(phase.name(), Place::Own, phase, workload, amount))
        .collect();
    setup
}

const EACH_ONCE: Amount = Amount::Operations(64);

fn measure(setup: &Setup) -> Vec<MeasuredPhase> {
    run(setup, &RunOptions::default()).expect("it runs").phases
}

#[test]
fn sequential_writes_are_bound_by_what_the_server_receives() {
    let phase = measure(&setup(1, 4, &[IoPhase::Write], EACH_ONCE)).remove(0);
    let write = &phase.operations[&OperationKind::Write];
    let bound = SERVER_BYTES_PER_S as f64 / MIB;
    assert!(write.mib_per_s <= bound * 1.0001, "{write:?}");
    assert_near(write.mib_per_s, bound, 0.02);
    assert_near(write.per_s, write.mib_per_s, 1e-9);
    let nic = phase.resources[&ResourceClass::ServerNicReceive];
    assert_near(nic.utilisation, 1.0, 0.02);
    assert_balanced(&phase);
    assert!(write.errors.is_empty(), "{write:?}");
}

/// Every packet of an answer pays its start-up at the server.
#[test]
fn sequential_reads_are_bound_by_what_the_server_sends() {
    let phase = measure(&setup(1, 4, &[IoPhase::Write, IoPhase::Read], EACH_ONCE)).remove(1);
    let read = &phase.operations[&OperationKind::Read];
    let packet_s = 65_536.0 / SERVER_BYTES_PER_S as f64 + 1e-6;
    let bound = 65_536.0 / packet_s / MIB;
    assert!(read.mib_per_s <= bound * 1.0001, "{read:?}");
    assert_near(read.mib_per_s, bound, 0.02);
    assert_balanced(&phase);
    assert!(read.errors.is_empty(), "{read:?}");
}

#[test]
fn a_processor_that_copies_limits() {
    let mut setup = setup(1, 16, &[IoPhase::Write], EACH_ONCE);
    setup.costs.server.byte_received_ns = 2.0;
    // Messages that share an interface end together; a slow one would leave the processor idle.
    for host in &mut setup.hosts {
        host.send_bytes_per_s *= 100;
        host.receive_bytes_per_s *= 100;
    }
    let phase = measure(&setup).remove(0);
    let write = &phase.operations[&OperationKind::Write];
    assert_near(write.mib_per_s, 1e9 / 2.0 / MIB, 0.02);
    let cpu = phase.resources[&ResourceClass::ServerCpu];
    assert_near(cpu.utilisation, 1.0, 0.02);
    assert_balanced(&phase);
}

/// Four servers on a host have a core each, and one memory.
#[test]
fn the_memory_of_a_host_limits_all_its_cores_together() {
    let mut setup = setup(4, 16, &[IoPhase::Write], EACH_ONCE);
    setup.hosts.drain(1..4);
    setup.hosts[0].servers = 4;
    setup.hosts[0].cores = 4;
    setup.hosts[0].memory_bytes_per_s = Some(800_000_000);
    setup.costs.server.byte_received_ns = 0.2;
    for host in &mut setup.hosts {
        host.send_bytes_per_s *= 100;
        host.receive_bytes_per_s *= 100;
    }
    let phase = measure(&setup).remove(0);
    let write = &phase.operations[&OperationKind::Write];
    assert_near(write.mib_per_s, 800_000_000.0 / MIB, 0.02);
    let memory = phase.resources[&ResourceClass::Memory];
    assert_eq!(memory.units, 1);
    assert_near(memory.utilisation, 1.0, 0.02);
}

#[test]
fn a_store_may_take_time_for_every_byte() {
    let mut setup = setup(1, 16, &[IoPhase::Write], EACH_ONCE);
    setup.store.byte_ns = 5.0;
    setup.store.concurrency = Some(1);
    let phase = measure(&setup).remove(0);
    let write = &phase.operations[&OperationKind::Write];
    assert_near(write.mib_per_s, 1e9 / 5.0 / MIB, 0.02);
}

#[test]
fn chunks_of_one_file_are_spread_over_all_servers() {
    let per_s = |servers| {
        let phases = [IoPhase::Write, IoPhase::Read];
        let phase = measure(&setup(servers, 16, &phases, EACH_ONCE)).remove(1);
        phase.operations[&OperationKind::Read].mib_per_s
    };
    assert!(per_s(4) > 3.0 * per_s(1));
}

#[test]
fn what_nobody_has_written_is_no_success() {
    let phase = measure(&setup(1, 2, &[IoPhase::Read], Amount::Operations(3))).remove(0);
    assert_eq!(phase.operations[&OperationKind::Read].errors["EIO"], 6);
}

/// 128 GiB are written, read and checked.
#[test]
fn data_may_be_larger_than_memory() {
    let workload = IoWorkload {
        size_bytes: 64 << 30,
        transfer_bytes: 64 << 20,
        block_bytes: 64 << 20,
        ..own_files(2)
    };
    let mut setup = setup(2, 2, &[], EACH_ONCE);
    setup.network.packet_bytes = u32::MAX;
    setup.protocol.client.chunk_bytes = 4 << 20;
    let all = Amount::Operations(workload.transfer_count());
    setup.phases = [IoPhase::Write, IoPhase::Read]
        .map(|phase| transfers(phase.name(), Place::Own, phase, workload, all))
        .into();
    for (phase, kind) in measure(&setup)
        .iter()
        .zip([OperationKind::Write, OperationKind::Read])
    {
        let operation = &phase.operations[&kind];
        assert_eq!(operation.count, 2 * 1024);
        assert!(operation.errors.is_empty(), "{operation:?}");
    }
}
