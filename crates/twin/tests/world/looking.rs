//! Processes that look for messages before they sleep: what can be computed.

use crate::predictions::assert_near;
use crate::setups::{own_files, ppmds, transfers};
use futago_lab::workload::IoPhase;
use futago_twin::world::{
    AfterIdle, Amount, FileNames, Latency, Looking, MeasuredOperation, MuchData, OperationKind,
    Place, RunOptions, Setup, Store, run,
};

const LOCAL_NS: f64 = 300.0;
const PASS_NS: f64 = 2_000.0;
const WAKE_UP_NS: f64 = 20_000.0;
/// The costs of an operation: of the client before it sends and after it has the reply.
const CLIENT_NS: [f64; 2] = [1_200.0, 800.0];
const SERVER_NS: f64 = 3_000.0;

const LOOKING: Looking = Looking {
    pass_ns: PASS_NS as u64,
    woken_ns: 0.0,
    after_idle: None,
    after_other: 0.0,
};

/// One host whose processes look for messages, and create files of their own.
fn setup(clients: u32, cores: u32, operations: u64) -> Setup {
    let mut setup = ppmds(1, 1, 1_000, 1);
    setup.hosts.truncate(1);
    setup.hosts[0].clients = clients;
    setup.hosts[0].cores = cores;
    setup.network.local_ns = LOCAL_NS as u64;
    setup.store = Store::default();
    setup.directories[0].names = FileNames::Numbered;
    let costs = &mut setup.costs;
    costs.looking = Some(LOOKING);
    costs.wake_up_ns = WAKE_UP_NS as u64;
    costs.client.operation_ns = CLIENT_NS[0];
    costs.client.batch_ns = CLIENT_NS[1];
    costs.server.batch_ns = 500.0;
    costs.server.input_ns = SERVER_NS - 500.0;
    setup.phases[0].place = Place::Shared(0);
    setup.phases[0].amount = Amount::Operations(operations);
    setup
}

fn creates(setup: &Setup) -> MeasuredOperation {
    let measured = run(setup, &RunOptions::default()).expect("it runs");
    let mut phase = measured.phases.into_iter().next().expect("a phase");
    phase
        .operations
        .remove(&OperationKind::Create)
        .expect("files are created")
}

/// The latency with one client and one server on a core each.
const ALONE_NS: f64 = CLIENT_NS[0] + LOCAL_NS + SERVER_NS + LOCAL_NS + CLIENT_NS[1];

#[test]
fn a_server_and_a_client_on_a_core_each_find_messages_at_once() {
    let create = creates(&setup(1, 2, 500));
    for latency_us in [create.mean_us, create.p50_us, create.p99_us] {
        assert_near(latency_us, ALONE_NS / 1e3, 0.01);
    }
    assert_near(create.per_s, 1e9 / ALONE_NS, 0.01);
}

#[test]
fn on_one_core_they_alternate() {
    let create = creates(&setup(1, 1, 500));
    // A message is there before the core is passed on.
    let cycle_ns = CLIENT_NS[0] + PASS_NS + SERVER_NS + PASS_NS + CLIENT_NS[1];
    assert_near(create.p50_us, cycle_ns / 1e3, 0.01);
    assert_near(create.per_s, 1e9 / cycle_ns, 0.01);
}

/// The seed decides which two of them share a core.
#[test]
fn three_of_them_on_two_cores_do_not_starve_each_other() {
    let of_seed = |seed| {
        let mut setup = setup(2, 2, 500);
        setup.seed = seed;
        creates(&setup)
    };
    let (alone, beside): (Vec<_>, Vec<_>) = (0..16)
        .map(of_seed)
        // Most are done before the queues are made even.
        .partition(|create| create.per_s > 1e9 / (CLIENT_NS[1] + CLIENT_NS[0] + 1.1 * PASS_NS));
    assert!(alone.len() > 3 && beside.len() > 3, "{alone:?} {beside:?}");
    for create in alone {
        // The server has a core. The clients share the other one, and each finds its reply in its
        // time slice.
        let cycle_ns = CLIENT_NS[1] + CLIENT_NS[0] + PASS_NS;
        assert_near(create.per_s, 1e9 / cycle_ns, 0.02);
        assert_near(create.p50_us, (2.0 * cycle_ns - 1.0) / 1e3, 0.03);
        assert_near(create.max_us, create.p50_us, 0.2);
    }
    for create in beside {
        // The server passes its core to a client and back for every other operation at least.
        let cycles_ns = 2.0 * (SERVER_NS + PASS_NS) + CLIENT_NS[1] + CLIENT_NS[0];
        assert!(create.max_us * 1e3 < 2.0 * cycles_ns, "{create:?}");
    }
}

/// Two clients on one core keep the server on the other one busy all the time.
#[test]
fn who_shares_a_core_with_a_busy_server_gets_its_slice() {
    let mut setup = setup(3, 2, 300);
    let work_ns = 80_000.0;
    setup.costs.server.input_ns = work_ns;
    let create = creates(&setup);
    // The server handles the messages of all three, and yields between two of them at the latest.
    assert!(create.max_us * 1e3 < 6.0 * work_ns, "{create:?}");
}

#[test]
fn work_after_a_while_without_is_dearer() {
    let p50_ns = |think_ns| {
        let mut setup = setup(1, 2, 500);
        setup.phases[0].think = Latency::Constant(think_ns);
        let after_idle = Some(AfterIdle {
            from_ns: 10_000,
            until_ns: 1_000_000,
            more: 0.5,
        });
        setup.costs.looking = Some(Looking {
            after_idle,
            ..LOOKING
        });
        creates(&setup).p50_us * 1e3
    };
    assert_near(p50_ns(1), ALONE_NS, 0.001);
    // Half of the way from 10 us to 1 ms, by logarithms: for the server, and for the client as it
    // begins.
    let think_ns = 100_000.0 - (ALONE_NS - SERVER_NS);
    let more_ns = 0.25 * (SERVER_NS + CLIENT_NS[0]);
    assert_near(p50_ns(think_ns as u64) - ALONE_NS, more_ns, 0.02);
}

#[test]
fn work_after_others_of_the_core_is_dearer() {
    let p50_ns = |cores, after_other| {
        let mut setup = setup(1, cores, 500);
        setup.costs.looking = Some(Looking {
            after_other,
            ..LOOKING
        });
        creates(&setup).p50_us * 1e3
    };
    let work_ns = SERVER_NS + CLIENT_NS[0] + CLIENT_NS[1];
    assert_near(p50_ns(1, 0.5) - p50_ns(1, 0.0), 0.5 * work_ns, 0.02);
    assert_near(p50_ns(2, 0.5), ALONE_NS, 0.001);
}

/// The time of a write of 1 MiB, without that of creating a file, in nanoseconds.
fn data_ns([sent_ns, received_ns]: [f64; 2]) -> f64 {
    let mut setup = setup(1, 2, 1);
    setup.costs.client.byte_sent_ns = sent_ns;
    setup.costs.server.byte_received_ns = received_ns;
    written_ns(setup, 1)
}

/// The same where a file of 1 MiB is written so often, and costs are given.
fn written_ns(mut setup: Setup, times: u64) -> f64 {
    let workload = own_files(1);
    let all = Amount::Operations(times * workload.transfer_count());
    let write = transfers("write", Place::Own, IoPhase::Write, workload, all);
    setup.phases = vec![write];
    let measured = run(&setup, &RunOptions::default()).expect("it runs");
    let write = &measured.phases[0].operations[&OperationKind::Write];
    write.p50_us * 1e3 - ALONE_NS
}

/// Each end copies 1 MiB; the slower one shares only the first or the last 64 KiB with the other.
#[test]
fn the_other_end_takes_out_what_is_large_while_it_is_put_in() {
    let (first, later) = (65_536.0, 1_048_576.0 - 65_536.0);
    for [sent_ns, received_ns] in [[0.1_f64, 0.2], [0.2, 0.1]] {
        let both_ns = first * (sent_ns + received_ns) + later * sent_ns.max(received_ns);
        assert_near(data_ns([sent_ns, received_ns]), both_ns, 0.02);
    }
}

/// Both ends share a core: all is put in before it is found.
#[test]
fn data_that_is_found_whole_has_a_cost_of_its_own() {
    let costs_ns = [0.1, 0.2];
    let on = |cores, found_whole| {
        let mut setup = setup(1, cores, 1);
        [
            setup.costs.client.byte_sent_ns,
            setup.costs.server.byte_received_ns,
        ] = costs_ns;
        setup.costs.server.found_whole = found_whole;
        written_ns(setup, 1)
    };
    let more_ns = on(1, Some(1.5)) - on(1, None);
    assert_near(more_ns, 0.5 * costs_ns[1] * 1_048_576.0, 0.001);
    assert_eq!(on(2, Some(1.5)), on(2, None), "it is put in meanwhile");
}

#[test]
fn data_is_dearer_through_many_connections() {
    let mut setup = setup(1, 2, 1);
    setup.hosts[0].byte_times = 2.0;
    setup.costs.client.byte_sent_ns = 0.05;
    setup.costs.server.byte_received_ns = 0.1;
    assert_near(written_ns(setup, 1), data_ns([0.1, 0.2]), 0.001);
}

#[test]
fn data_is_dearer_where_servers_hold_much_of_it() {
    let bytes_ns = [0.2, 0.1];
    let mut setup = setup(1, 2, 1);
    let much = |byte_ns| {
        Some(MuchData {
            from_mib: 0,
            until_mib: 1,
            byte_received_ns: byte_ns,
            byte_sent_ns: byte_ns,
        })
    };
    setup.costs.client.much_data = much(bytes_ns[0]);
    setup.costs.server.much_data = much(bytes_ns[1]);
    // From the second time on the server holds 1 MiB.
    let dear_ns = written_ns(setup, 5);
    assert_near(dear_ns, data_ns(bytes_ns), 0.001);
}

#[test]
fn sockets_cost_more_and_nobody_looks_at_them() {
    let mut setup = ppmds(1, 1, 1_000, 1);
    setup.store = Store::default();
    setup.phases[0].amount = Amount::Operations(500);
    let near = creates(&setup);
    setup.costs.looking = Some(Looking {
        pass_ns: 1_000_000,
        ..LOOKING
    });
    setup.costs.wake_up_ns = WAKE_UP_NS as u64;
    setup.costs.server.sockets.batch_ns = 5_000.0;
    setup.costs.client.sockets.batch_ns = 3_000.0;
    let more_ns = (creates(&setup).mean_us - near.mean_us) * 1e3;
    assert_near(more_ns, WAKE_UP_NS + 5_000.0 + 3_000.0, 0.01);
}

#[test]
fn a_client_that_waits_beyond_its_spin_limit_is_woken() {
    let mut setup = setup(1, 2, 500);
    setup.phases[0].think = Latency::Constant(8_000_000);
    setup.costs.looking = Some(Looking {
        woken_ns: 7_000.0,
        ..LOOKING
    });
    let create = creates(&setup);
    assert_near(create.p50_us, (ALONE_NS + WAKE_UP_NS + 7_000.0) / 1e3, 0.01);
}

#[test]
fn a_queue_that_grows_longer_makes_all_wait() {
    let rates: Vec<f64> = [2, 4, 8]
        .map(|clients| creates(&setup(clients, 1, 300)).per_s)
        .to_vec();
    // The server finds the requests of all together, so the cost of a batch is shared by more.
    assert!(rates.is_sorted(), "{rates:?}");
    let work_ns = CLIENT_NS[0] + CLIENT_NS[1] + SERVER_NS - 500.0;
    assert!(rates[2] < 1e9 / (work_ns + PASS_NS), "{rates:?}");
}
