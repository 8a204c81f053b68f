//! The protocol under faults, and whether the checks would notice if it were wrong.

use futago_twin::cluster::{Defect, Faults};
use futago_twin::fuzz::{Death, Scenario, shrink, try_run};

/// The seeds of every test run; the proof runs far more.
const SEEDS: u64 = 200;
/// Further seeds, which have found mistakes: in a rename's errors, in the model of copies, in waits
/// for locks of files that go, in requests that had waited together, in sessions that end side by
/// side, in unnamed files of directories that are about to go, in listings of directories that are
/// gone, in writes that are buffered where a file has no chunk yet, in files that go with a
/// session, in truncations that are done when their file goes, in what a loss explains of names
/// that were moved into a lost directory, in requests that wait for a lease of their own client, in
/// data that a dead client wrote ahead of the size, in appends that others do not wait for any
/// more, in what a client has open that dies while it leaves, in buckets whose header is lost
/// on its way, in holes that are punched where an append is under way, and in what is cached of
/// nodes that are gone.
const FOUND: [u64; 21] = [
    17_181, 38_836, 61_309, 2185, 9328, 18_100, 885, 52_216, 503, 6023, 8796, 12_168, 14_679,
    18_750, 7736, 10_844, 19_285, 13_174, 16_607, 774, 1130,
];

#[test]
fn seeds_are_clean() {
    for seed in (0..SEEDS).chain(FOUND) {
        let scenario = Scenario::draw(seed);
        if let Err(failure) = try_run(&scenario) {
            let (smallest, failure) = shrink(&scenario, &failure, 200);
            panic!(
                "seed {seed}: {:?}\n{}\n{}",
                failure.kind,
                failure.text,
                smallest.circumstances()
            );
        }
    }
}

/// Truncations are joined only where a file has many of them.
#[test]
fn some_seeds_work_hundreds_of_times_on_one_file() {
    let has_cycles = |seed: &u64| {
        let scenario = Scenario::draw(*seed);
        let mut scripts = scenario.bursts.iter().flat_map(|burst| &burst.scripts);
        scripts.any(|script| script.len() >= 200)
    };
    assert!((0..2000).any(|seed| has_cycles(&seed)));
}

#[test]
fn a_seed_does_the_same_every_time() {
    let failures = || {
        (0..40).map(|seed| {
            let scenario = Scenario {
                defect: Some(Defect::ForgetsLocators),
                ..Scenario::draw(seed)
            };
            try_run(&scenario).err().map(|failure| failure.text)
        })
    };
    assert!(failures().eq(failures()));
}

/// Losses of power and delays of disks are drawn, too.
#[test]
fn a_seed_with_disks_does_the_same_every_time() {
    let results = || {
        let scenarios = (0..60).map(Scenario::draw);
        let scenarios = scenarios.filter(|scenario| scenario.disks.is_some());
        scenarios.map(|scenario| {
            let scenario = Scenario {
                defect: Some(Defect::SynchronizesNothing),
                ..scenario
            };
            let checked = try_run(&scenario).map_err(|failure| failure.text);
            checked.map(|checked| checked.coverage)
        })
    };
    assert!(results().eq(results()));
}

/// Every client of every burst dies, after one message, after two, and so on.
#[test]
fn clients_may_die_after_any_message() {
    for seed in 0..4 {
        let whole = Scenario::draw_without_faults(seed);
        for (burst, client) in places(&whole) {
            for after_messages in 1..12 {
                let mut scenario = whole.clone();
                scenario.bursts[burst].death = Some(Death {
                    client,
                    after_messages,
                });
                if let Err(failure) = try_run(&scenario) {
                    panic!(
                        "seed {seed}, burst {burst}, client {client} dies after {after_messages}: {}",
                        failure.text
                    );
                }
            }
        }
    }
}

fn places(scenario: &Scenario) -> Vec<(usize, usize)> {
    let bursts = scenario.bursts.iter().enumerate();
    let places = bursts.flat_map(|(number, burst)| {
        let clients = burst.scripts.iter().enumerate();
        clients
            .filter(|(_, script)| !script.is_empty())
            .map(move |(client, _)| (number, client))
    });
    places.collect()
}

/// Messages that arrive twice lead to no mistake.
#[test]
fn doubled_messages_change_nothing() {
    for seed in 0..250 {
        let mut scenario = Scenario::draw(seed);
        for burst in &mut scenario.bursts {
            burst.faults = Faults {
                doubled_permille: 400,
                ..Faults::default()
            };
        }
        if let Err(failure) = try_run(&scenario) {
            let (_, failure) = shrink(&scenario, &failure, 300);
            panic!("seed {seed}: {:?}: {}", failure.kind, failure.text);
        }
    }
}
