//! Whether the checks would notice if the protocol were wrong: every planted defect makes some seed
//! fail.

use futago_twin::cluster::Defect;
use futago_twin::fuzz::{Scenario, try_run};
use std::ops::Range;

/// A defect that so many seeds do not notice is unnoticed.
const SEEDS: u64 = 2000;
/// So many notice most of them.
const SEEDS_OF_SAMPLE: u64 = 30;
/// Defects that only rare circumstances show, and a seed that has them.
const RARE: [(Defect, u64); 14] = [
    (Defect::TrustsLeasesTooLong, 100),
    (Defect::TakesClientStamps, 210),
    (Defect::ReadsPastCuts, 256),
    (Defect::SkipsCopies, 324),
    (Defect::RelaysAfterRecall, 94),
    (Defect::SplitsUnderTransactions, 483),
    (Defect::IgnoresTreeVersion, 198),
    (Defect::SetsXattrsUnderLeases, 643),
    (Defect::RemovesFullDirectories, 652),
    (Defect::AdmitsStaleWriters, 688),
    (Defect::GivesUpWhenBusy, 983),
    (Defect::ClientsMeasureByWallClock, 1384),
    (Defect::RelaysTooLong, 152),
    (Defect::EndsLeasesOfHeard, 8691),
];

/// The first of some seeds that notices a defect, and how.
fn noticed(defect: Defect, mut seeds: Range<u64>) -> Option<(u64, String)> {
    seeds.find_map(|seed| {
        let scenario = Scenario {
            defect: Some(defect),
            ..Scenario::draw(seed)
        };
        let failure = try_run(&scenario).err()?;
        Some((seed, format!("{:?}", failure.kind)))
    })
}

/// As [`noticed`], the seed first that is known to notice a rare one.
fn noticed_anywhere(defect: Defect) -> Option<(u64, String)> {
    let known = RARE.iter().filter(|(rare, _)| *rare == defect);
    let mut known = known.filter_map(|&(_, seed)| noticed(defect, seed..seed + 1));
    known.next().or_else(|| noticed(defect, 0..SEEDS))
}

#[test]
fn most_defects_are_noticed_at_once() {
    let missed: Vec<&str> = Defect::all()
        .filter(|defect| noticed(*defect, 0..SEEDS_OF_SAMPLE).is_none())
        .map(Defect::name)
        .collect();
    assert!(missed.len() * 4 < Defect::all().count(), "{missed:?}");
}

#[test]
fn rare_defects_are_noticed() {
    for (defect, _) in RARE {
        let found = noticed_anywhere(defect);
        assert!(found.is_some(), "{} is not noticed", defect.name());
    }
}

/// Takes minutes; the proof runs it.
#[test]
#[ignore = "takes minutes; cargo xtask proof defects runs it"]
fn every_defect_is_noticed() {
    let mut missed = Vec::new();
    for defect in Defect::all() {
        match noticed_anywhere(defect) {
            Some((seed, kind)) => println!("{:26} seed {seed:4} {kind}", defect.name()),
            None => missed.push(defect.name()),
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// Nothing but the phase of progress would notice these.
#[test]
fn defects_of_progress_are_noticed_by_its_phase() {
    for defect in Defect::all().filter(|defect| defect.kind() == "progress") {
        let found = noticed(defect, 0..200);
        let kind = found.map(|(_, kind)| kind);
        assert_eq!(kind.as_deref(), Some("Stuck"), "{}", defect.name());
    }
}
