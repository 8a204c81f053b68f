//! The protocol under faults, and whether the checks would notice if it were wrong.

use futago_twin::cluster::{Defect, Faults};
use futago_twin::fuzz::{Death, Scenario, shrink, try_run};

/// The seeds of every test run; the proof runs far more.
const SEEDS: u64 = 200;
/// Further seeds, which have found mistakes: in a rename's errors, in the model of copies, in waits
/// for locks of files that go, in requests that had waited together, in sessions that end side by side, and
/// in unnamed files of directories that are about to go, in listings of directories that are gone, and in writes that
/// are kept where a file has no chunk yet.
const FOUND: [u64; 8] = [17_181, 38_836, 61_309, 2185, 9328, 18_100, 885, 52_216];

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

#[test]
fn a_seed_does_the_same_every_time() {
    let failures = || {
        (0..40).map(|seed| {
            let scenario = Scenario {
                defect: Defect::ForgetsLocators,
                ..Scenario::draw(seed)
            };
            try_run(&scenario).err().map(|failure| failure.text)
        })
    };
    assert!(failures().eq(failures()));
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

/// The mistakes that the first seeds lead to, with a defect.
fn noticed(defect: Defect, faults: &Faults) -> Vec<String> {
    let failures = (0..250).filter_map(|seed| {
        let mut scenario = Scenario {
            defect,
            ..Scenario::draw(seed)
        };
        for burst in &mut scenario.bursts {
            burst.faults = faults.clone();
        }
        let failure = try_run(&scenario).err()?;
        let (_, failure) = shrink(
            &scenario,
            &failure,
            if defect == Defect::None { 300 } else { 0 },
        );
        Some(format!("seed {seed}: {:?}: {}", failure.kind, failure.text))
    });
    failures.collect()
}

fn doubled() -> Faults {
    Faults {
        doubled_permille: 400,
        ..Faults::default()
    }
}

#[test]
fn nothing_is_noticed_where_nothing_is_wrong() {
    let noticed = noticed(Defect::None, &doubled());
    assert!(noticed.is_empty(), "{}", noticed.join("\n"));
}

#[test]
fn servers_that_forget_their_replies_are_noticed() {
    assert!(noticed(Defect::ForgetsReplies, &doubled()).len() > 5);
}

#[test]
fn servers_that_forget_locators_are_noticed() {
    assert!(noticed(Defect::ForgetsLocators, &Faults::default()).len() > 1);
}

#[test]
fn servers_that_forget_what_peers_delivered_are_noticed() {
    assert!(noticed(Defect::ForgetsInbox, &doubled()).len() > 5);
}

#[test]
fn servers_that_forget_shrinkings_are_noticed() {
    assert!(noticed(Defect::ForgetsShrinkings, &Faults::default()).len() > 2);
}

#[test]
fn servers_that_forget_leases_are_noticed() {
    assert!(noticed(Defect::ForgetsLeases, &Faults::default()).len() > 5);
}

#[test]
fn servers_that_forget_exclusive_leases_are_noticed() {
    assert!(noticed(Defect::ForgetsExclusiveLeases, &Faults::default()).len() > 1);
}

#[test]
fn servers_that_take_chunks_of_files_that_are_gone_are_noticed() {
    assert!(noticed(Defect::KeepsAdmissions, &Faults::default()).len() > 5);
}
