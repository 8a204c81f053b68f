//! Files with data that clients create and read as a whole.

use crate::setups::ppmds;
use futago_twin::world::{Activity, Amount, Mix, OperationKind, RunOptions, Setup, run};

/// Clients that create files of 3,901 bytes and then read files of so many bytes.
fn setup(read_bytes: u32) -> Setup {
    let mut setup = ppmds(3, 5, 1_000, 1);
    let first = setup.phases[0].clone();
    let phases = [
        (OperationKind::Create, 3_901),
        (OperationKind::ReadFile, read_bytes),
    ];
    setup.phases = phases
        .map(|(kind, file_bytes)| {
            let mut phase = first.clone();
            phase.amount = Amount::Operations(20);
            phase.activity = Activity::Names(Mix {
                operations: vec![(kind, 1)],
                file_bytes,
                ..Mix::default()
            });
            phase
        })
        .into();
    setup
}

#[test]
fn clients_read_what_they_have_written() {
    let measured = run(&setup(3_901), &RunOptions::default()).expect("it runs");
    let read = &measured.phases[1].operations[&OperationKind::ReadFile];
    assert_eq!((read.count, read.errors.len()), (100, 0));
}

#[test]
fn files_of_another_length_are_errors() {
    let measured = run(&setup(3_902), &RunOptions::default()).expect("it runs");
    let read = &measured.phases[1].operations[&OperationKind::ReadFile];
    assert_eq!((read.count, read.errors["EIO"]), (0, 100));
}
