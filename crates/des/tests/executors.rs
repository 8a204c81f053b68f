//! All executors give the same results.

use futago_des::models::chord::{self, Chord, Lookups, Settings as ChordSettings};
use futago_des::models::phold::Phold;
use futago_des::models::queueing::{self, Measured, Queueing};
use futago_des::ranks::in_process;
use futago_des::{Executor, Model, Outcome, Placement, Settings, Time, run, run_on};

fn settings(executor: Executor, threads: u32, end_s: f64) -> Settings {
    let end = Time::from_seconds(end_s);
    // Short intervals, so that short runs have many rounds.
    Settings {
        executor,
        threads,
        end,
        gvt_interval: 100,
        trace: true,
        ..Settings::default()
    }
}

/// Runs the model on ranks that are threads; returns each rank's outcome.
fn run_ranks<M: Model>(model: &M, settings: &Settings, count: u32) -> Vec<Outcome<M::Process>> {
    std::thread::scope(|scope| {
        let running: Vec<_> = in_process(count)
            .into_iter()
            .map(|mut rank| scope.spawn(move || run_on(model, settings, &mut rank)))
            .collect();
        let join = |rank: std::thread::ScopedJoinHandle<'_, Result<_, _>>| {
            rank.join().expect("no panic").expect("runs")
        };
        running.into_iter().map(join).collect()
    })
}

/// Every executor with 1, 2 and 4 threads and 1 and 2 ranks, all placements, several seeds.
fn assert_agreement<M: Model>(model: &M, end_s: f64) {
    for seed in 1..=3 {
        let base = Settings {
            seed,
            ..settings(Executor::Sequential, 1, end_s)
        };
        let expected = run(model, &base).expect("runs");
        assert!(
            expected.statistics.events_committed > 500,
            "too few events to tell"
        );
        for executor in [
            Executor::Sequential,
            Executor::Conservative,
            Executor::Optimistic,
        ] {
            for (threads, ranks) in [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2)] {
                for placement in [Placement::Block, Placement::RoundRobin, Placement::Hint] {
                    let settings = Settings {
                        executor,
                        threads,
                        placement,
                        ..base.clone()
                    };
                    let outcomes = run_ranks(model, &settings, ranks);
                    let found = &outcomes[0].statistics;
                    let case = format!("{executor:?} {threads}x{ranks} {placement:?} {seed}");
                    assert_eq!(found.digest, expected.statistics.digest, "{case}");
                    let committed = expected.statistics.events_committed;
                    assert_eq!(found.events_committed, committed, "{case}");
                    let mut trace: Vec<_> = outcomes
                        .iter()
                        .flat_map(|outcome| outcome.trace.clone())
                        .collect();
                    trace.sort();
                    assert!(trace == expected.trace, "{case}: another trace");
                }
            }
        }
    }
}

#[test]
fn phold_agrees() {
    assert_agreement(
        &Phold {
            processes: 64,
            start_events: 2,
            ..Phold::default()
        },
        10.0,
    );
}

#[test]
fn phold_with_zero_delays_agrees() {
    // Half of all delays are zero, but none between processes of different partitions may be in
    // the conservative executor, so everything is local there.
    let model = Phold {
        processes: 64,
        lookahead_s: 1e-9,
        mean_s: 2e-9,
        ..Phold::default()
    };
    let end = 40e-9;
    let expected = run(&model, &settings(Executor::Sequential, 1, end)).expect("runs");
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let found = run(&model, &settings(executor, 2, end)).expect("runs");
        assert_eq!(found.statistics.digest, expected.statistics.digest);
    }
}

#[test]
fn open_queues_agree() {
    let model = Queueing {
        stations: 12,
        servers: 2,
        warm_up_s: 5.0,
        ..Queueing::default()
    };
    assert_agreement(&model, 100.0);
}

#[test]
fn open_queues_without_lookahead_agree() {
    let model = Queueing {
        stations: 12,
        travel_s: 0.0,
        warm_up_s: 5.0,
        ..Queueing::default()
    };
    let expected = run(&model, &settings(Executor::Sequential, 1, 100.0)).expect("runs");
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let found = run(&model, &settings(executor, 2, 100.0)).expect("runs");
        assert_eq!(found.statistics.digest, expected.statistics.digest);
    }
}

#[test]
fn a_closed_network_agrees() {
    let model = Queueing {
        stations: 16,
        arrivals_per_s: None,
        customers: 3,
        travel_s: 0.2,
        warm_up_s: 5.0,
        ..Queueing::default()
    };
    assert_agreement(&model, 60.0);
}

#[test]
fn chord_agrees() {
    let model = Chord::new(ChordSettings {
        nodes: 48,
        lifetime_s: Some(60.0),
        lookup_every_s: 5.0,
        ..ChordSettings::default()
    });
    assert_agreement(&model, 40.0);
}

fn ring() -> Chord {
    Chord::new(ChordSettings {
        nodes: 48,
        lookup_every_s: 5.0,
        ..ChordSettings::default()
    })
}

#[test]
fn results_of_ranks_add_up() {
    let ring = ring();
    let queues = Queueing {
        stations: 12,
        warm_up_s: 5.0,
        ..Queueing::default()
    };
    let alone = settings(Executor::Sequential, 1, 40.0);
    let looked_up = chord::measure(&run(&ring, &alone).expect("runs").processes);
    let measured = queueing::measure(&run(&queues, &alone).expect("runs").processes);
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let together = Settings {
            placement: Placement::RoundRobin,
            ..settings(executor, 2, 40.0)
        };
        let of_rings: Vec<Lookups> = run_ranks(&ring, &together, 2)
            .iter()
            .map(|rank| chord::measure(&rank.processes))
            .collect();
        assert!(of_rings.iter().all(|lookups| lookups.found > 0));
        assert_eq!(of_rings.iter().sum::<Lookups>(), looked_up);
        let of_queues: Vec<Measured> = run_ranks(&queues, &together, 2)
            .iter()
            .map(|rank| queueing::measure(&rank.processes))
            .collect();
        assert!(of_queues.iter().all(|queues| queues.served > 0));
        assert_eq!(of_queues.iter().sum::<Measured>(), measured);
    }
}

#[test]
fn a_skewed_model_rolls_back_and_agrees() {
    let model = Phold {
        processes: 256,
        lookahead_s: 0.001,
        skew: 50.0,
        ..Phold::default()
    };
    let expected = run(&model, &settings(Executor::Sequential, 1, 20.0)).expect("runs");
    let optimistic = settings(Executor::Optimistic, 4, 20.0);
    let found = run(&model, &optimistic).expect("runs");
    assert!(found.statistics.events_rolled_back > 0);
    assert!(found.statistics.cancellations > 0);
    assert_eq!(found.statistics.digest, expected.statistics.digest);
}

/// Ranks communicate only when GVT is computed. With one thread each, their behaviour depends on
/// nothing else.
#[test]
fn ranks_that_seldom_communicate_do_not_run_ahead() {
    let model = ring();
    for ranks in [2, 4] {
        let optimistic = Settings {
            placement: Placement::RoundRobin,
            gvt_interval: 1_024,
            ..settings(Executor::Optimistic, 1, 40.0)
        };
        let found = &run_ranks(&model, &optimistic, ranks)[0].statistics;
        assert!(found.events_rolled_back > 0);
        assert!(found.efficiency > 0.5, "{}", found.efficiency);
    }
}

#[test]
fn a_tiny_history_is_enough() {
    let model = Phold {
        processes: 64,
        lookahead_s: 0.0,
        skew: 10.0,
        ..Phold::default()
    };
    let expected = run(&model, &settings(Executor::Sequential, 1, 3.0)).expect("runs");
    let limited = Settings {
        history_limit_bytes: Some(1),
        ..settings(Executor::Optimistic, 2, 3.0)
    };
    let found = run(&model, &limited).expect("runs");
    assert_eq!(found.statistics.digest, expected.statistics.digest);
    assert!(
        found.statistics.history_peak <= 4,
        "{}",
        found.statistics.history_peak
    );
}

#[test]
fn the_limiting_link_is_named() {
    let model = Queueing {
        stations: 4,
        ..Queueing::default()
    };
    let spread = Settings {
        placement: Placement::RoundRobin,
        ..settings(Executor::Conservative, 3, 20.0)
    };
    let statistics = run(&model, &spread).expect("runs").statistics;
    let limit = statistics.effective_lookahead.expect("links cross");
    assert_eq!(
        (limit.from.as_str(), limit.to.as_str()),
        ("source 0", "station 0")
    );
    assert_eq!(limit.lookahead, Time::from_seconds(0.1));
}
