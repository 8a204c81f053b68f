//! The example models agree with theory, and can be undone.

use futago_des::models::chord::{self, Chord};
use futago_des::models::phold::Phold;
use futago_des::models::queueing::{Measured, Queueing, measure, theory};
use futago_des::{Settings, Time, check, run};

const REPLICATIONS: u64 = 20;

/// The two-sided 99.9 % quantile of Student's t with 19 degrees of freedom. Seeds are fixed, so a
/// passing test keeps passing.
const QUANTILE: f64 = 3.883;

/// Independent runs: each has its own seed.
fn replicate(model: &Queueing, end_s: f64) -> Vec<Measured> {
    (1..=REPLICATIONS)
        .map(|seed| {
            let settings = Settings {
                seed,
                end: Time::from_seconds(end_s),
                ..Settings::default()
            };
            measure(&run(model, &settings).expect("runs").processes)
        })
        .collect()
}

#[track_caller]
fn assert_agrees(runs: &[Measured], quantity: fn(&Measured) -> f64, expected: f64) {
    let values: Vec<f64> = runs.iter().map(quantity).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0);
    let half_width = QUANTILE * (variance / count).sqrt();
    assert!(
        (mean - expected).abs() <= half_width,
        "{mean} ± {half_width}, not {expected}"
    );
    assert!(
        half_width < 0.1 * expected,
        "± {half_width} of {expected} says nothing"
    );
}

fn assert_open_queue(servers: u32, arrivals_per_s: f64) {
    let model = Queueing {
        stations: 8,
        servers,
        arrivals_per_s: Some(arrivals_per_s),
        ..Queueing::default()
    };
    let runs = replicate(&model, 2_000.0);
    let wait = theory::mean_wait(servers, arrivals_per_s, 1.0);
    assert_agrees(&runs, Measured::mean_wait_s, wait);
    assert_agrees(&runs, Measured::mean_busy, arrivals_per_s);
    assert_agrees(
        &runs,
        Measured::mean_customers,
        arrivals_per_s * (wait + 1.0),
    );
    // Little's law, from quantities that are measured separately.
    for run in &runs {
        let time_in_station = run.mean_wait_s() + run.mean_busy() / run.throughput_per_s();
        let ratio = run.mean_customers() / (run.throughput_per_s() * time_in_station);
        assert!((ratio - 1.0).abs() < 0.02, "Little's law is off by {ratio}");
    }
}

#[test]
fn one_server_agrees_with_theory() {
    assert_open_queue(1, 0.7);
}

#[test]
fn several_servers_agree_with_erlang() {
    assert_open_queue(3, 2.1);
}

#[test]
fn a_closed_network_agrees_with_mean_value_analysis() {
    let model = Queueing {
        stations: 6,
        arrivals_per_s: None,
        customers: 2,
        travel_s: 0.5,
        ..Queueing::default()
    };
    let runs = replicate(&model, 2_000.0);
    let (throughput, customers) = theory::closed_network(6, 12, 1.0, 0.5);
    assert_agrees(&runs, Measured::throughput_per_s, throughput);
    assert_agrees(&runs, Measured::mean_customers, customers);
    assert_agrees(&runs, Measured::mean_busy, throughput);
}

fn lookups(settings: chord::Settings, end_s: f64) -> chord::Lookups {
    let settings_of_run = Settings {
        end: Time::from_seconds(end_s),
        ..Settings::default()
    };
    let outcome = run(&Chord::new(settings), &settings_of_run).expect("runs");
    chord::measure(&outcome.processes)
}

#[test]
fn a_ring_without_churn_finds_every_owner_in_half_the_logarithm() {
    let found = lookups(chord::Settings::default(), 300.0);
    assert!(found.found > 4_000);
    assert_eq!((found.failed, found.found_right), (0, found.found));
    let expected = 1024f64.log2() / 2.0;
    assert!(
        (found.mean_hops() - expected).abs() < 1.0,
        "{} hops",
        found.mean_hops()
    );
}

#[test]
fn a_ring_with_churn_still_finds_most() {
    let settings = chord::Settings {
        lifetime_s: Some(1_000.0),
        ..chord::Settings::default()
    };
    let found = lookups(settings, 600.0);
    let share = found.found as f64 / (found.found + found.failed) as f64;
    assert!(share > 0.9, "{share} of the lookups found an owner");
}

#[test]
fn all_undos_restore() {
    let settings = |end_s| Settings {
        end: Time::from_seconds(end_s),
        ..Settings::default()
    };
    let phold = Phold {
        processes: 32,
        ..Phold::default()
    };
    check(&phold, &settings(20.0)).expect("restores");
    let open = Queueing {
        stations: 8,
        arrivals_per_s: Some(0.8),
        ..Queueing::default()
    };
    check(&open, &settings(50.0)).expect("restores");
    let closed = Queueing {
        stations: 8,
        arrivals_per_s: None,
        customers: 3,
        ..open
    };
    check(&closed, &settings(50.0)).expect("restores");
    let ring = chord::Settings {
        nodes: 24,
        lifetime_s: Some(30.0),
        lookup_every_s: 5.0,
        ..chord::Settings::default()
    };
    check(&Chord::new(ring), &settings(20.0)).expect("restores");
}
