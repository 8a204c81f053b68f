//! Processes that look for messages before they sleep: what can be computed.

use crate::predictions::assert_near;
use crate::setups::ppmds;
use futago_twin::world::{
    Amount, FileNames, Latency, Looking, MeasuredOperation, OperationKind, Place, RunOptions,
    Setup, Store, run,
};

const LOCAL_NS: f64 = 300.0;
const PASS_NS: f64 = 2_000.0;
const WAKE_UP_NS: f64 = 20_000.0;
/// What each side pays for an operation: the client before it sends and after it has the answer.
const CLIENT_NS: [f64; 2] = [1_200.0, 800.0];
const SERVER_NS: f64 = 3_000.0;

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
    costs.looking = Some(Looking {
        pass_ns: PASS_NS as u64,
    });
    costs.wake_up_ns = WAKE_UP_NS as u64;
    costs.client.operation_ns = CLIENT_NS[0];
    costs.client.turn_ns = CLIENT_NS[1];
    costs.server.turn_ns = 500.0;
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

/// What one client and one server on a core each take.
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
fn on_one_core_they_take_turns() {
    let create = creates(&setup(1, 1, 500));
    // A message is there before the core is passed on.
    let cycle_ns = CLIENT_NS[0] + PASS_NS + SERVER_NS + PASS_NS + CLIENT_NS[1];
    assert_near(create.p50_us, cycle_ns / 1e3, 0.01);
    assert_near(create.per_s, 1e9 / cycle_ns, 0.01);
}

#[test]
fn three_of_them_on_two_cores_do_not_starve_each_other() {
    // They are done before the queues are made even.
    let create = creates(&setup(2, 2, 500));
    // The server has a core. The clients pass theirs to each other, and each finds its answer in its turn.
    let turn_ns = CLIENT_NS[1] + CLIENT_NS[0] + PASS_NS;
    assert_near(create.per_s, 1e9 / turn_ns, 0.02);
    assert_near(create.p50_us, (2.0 * turn_ns - 1.0) / 1e3, 0.03);
    assert_near(create.max_us, create.p50_us, 0.2);
}

#[test]
fn who_waits_for_longer_than_its_patience_is_woken() {
    let mut setup = setup(1, 2, 500);
    setup.phases[0].think = Latency::Constant(3_000_000);
    let create = creates(&setup);
    assert_near(create.p50_us, (ALONE_NS + WAKE_UP_NS) / 1e3, 0.01);
}

#[test]
fn a_queue_that_grows_longer_makes_all_wait() {
    let rates: Vec<f64> = [2, 4, 8]
        .map(|clients| creates(&setup(clients, 1, 300)).per_s)
        .to_vec();
    // The server finds the requests of all together, so a turn of its own is shared by more.
    assert!(rates.is_sorted(), "{rates:?}");
    let work_ns = CLIENT_NS[0] + CLIENT_NS[1] + SERVER_NS - 500.0;
    assert!(rates[2] < 1e9 / (work_ns + PASS_NS), "{rates:?}");
}
