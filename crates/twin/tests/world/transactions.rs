//! Changes that several servers take part in: all are counted, and who wants the same gets in each
//! other's way.

use crate::setups::ppmds;
use futago_twin::world::{
    Activity, Amount, MeasuredPhase, Mix, OperationKind, Phase, Place, RunOptions, Setup,
    WideDirectories, run,
};

const SERVERS: u32 = 4;

/// Each client performs so many operations of one kind.
fn phase_of(setup: &Setup, kind: OperationKind, count: u64) -> Phase {
    Phase {
        activity: Activity::Names(vec![(kind, 1)].into()),
        amount: Amount::Operations(count),
        ..setup.phases[0].clone()
    }
}

fn setup(servers: u32, clients: u32, kind: OperationKind) -> Setup {
    let mut setup = ppmds(servers, clients, 1_000, 1);
    setup.phases = [OperationKind::Create, kind]
        .map(|kind| phase_of(&setup, kind, 10))
        .into();
    setup
}

#[track_caller]
fn measure(setup: &Setup) -> MeasuredPhase {
    let mut measured = run(setup, &RunOptions::default()).expect("it runs");
    let phase = measured.phases.pop().expect("there is a phase");
    for (kind, operation) in &phase.operations {
        assert!(operation.errors.is_empty(), "{kind:?}: {operation:?}");
    }
    let all = phase.transactions;
    assert_eq!(all.begun, all.committed + all.aborted, "{all:?}");
    phase
}

#[test]
fn what_one_server_does_alone_is_no_transaction() {
    let phase = measure(&setup(1, 5, OperationKind::Rename));
    assert_eq!(phase.operations[&OperationKind::Rename].count, 50);
    assert_eq!(phase.transactions.begun, 0);
}

#[test]
fn clients_with_files_of_their_own_never_abort() {
    for kind in [OperationKind::Rename, OperationKind::Link] {
        let phase = measure(&setup(SERVERS, 5, kind));
        let all = phase.transactions;
        assert_eq!((all.aborted, all.retries), (0, 0), "{kind:?}");
        let count = phase.operations[&kind].count;
        assert!((1..=count).contains(&all.committed), "{kind:?}: {all:?}");
    }
}

/// A few files that all clients exchange repeatedly, beginning at the same moment. No client waits
/// until the grace time is over; afterwards all files are still there.
#[test]
fn clients_that_want_the_same_abort_and_try_again_until_all_have_had_their_way() {
    let mut setup = setup(SERVERS, 11, OperationKind::Stat);
    for (phase, kind) in [OperationKind::Exchange, OperationKind::Stat]
        .into_iter()
        .enumerate()
    {
        let operations = vec![(kind, 1)];
        setup.phases[phase].activity = Activity::Names(Mix {
            operations,
            common: 16,
            ..Mix::default()
        });
    }
    assert_eq!(measure(&setup).transactions.begun, 0);
    setup.phases.pop();
    let phase = measure(&setup);
    let all = phase.transactions;
    let exchange = &phase.operations[&OperationKind::Exchange];
    assert_eq!(exchange.count, 110);
    let grace_us = setup.protocol.server.grace.0 as f64 / 1e3;
    assert!(exchange.max_us < grace_us / 2.0, "{exchange:?}");
    assert!(all.aborted > 0 && all.conflicts > 0, "{all:?}");
    assert!(all.retries >= all.aborted, "{all:?}");
}

#[test]
fn a_change_of_a_wide_directory_is_one_of_all_servers() {
    let mut setup = setup(SERVERS, 6, OperationKind::SetAttributes);
    setup.phases.remove(0);
    let phase = measure(&setup);
    assert_eq!(phase.transactions.committed, 60);
    assert!(phase.transactions.conflicts > 0);
}

#[test]
fn wide_directories_go_with_all_their_buckets() {
    let mut setup = setup(SERVERS, 3, OperationKind::RemoveDirectory);
    setup.wide = WideDirectories {
        each: 10,
        buckets: 16,
    };
    setup.phases.remove(0);
    setup.phases[0].place = Place::Root;
    let phase = measure(&setup);
    assert_eq!(phase.operations[&OperationKind::RemoveDirectory].count, 30);
    assert_eq!(phase.transactions.committed, 30);
    // There is nothing left, so the next one is to be made first.
    setup.phases[0].amount = Amount::Operations(11);
    let phase = measure(&setup);
    assert_eq!(phase.operations[&OperationKind::MakeDirectory].count, 3);
}
