//! Worlds of the largest size, and how fast they run: `cargo test --release -p futago-twin --test
//! world -- --ignored --nocapture`, on a machine with nothing else to do.

use crate::setups::{hosts, ppmds};
use futago_des::Executor;
use futago_twin::world::{Amount, Measured, RunOptions, Setup, run};

fn run_by(setup: &Setup, executor: Executor, threads: u32) -> Measured {
    let options = RunOptions {
        executor,
        threads,
        watch: None,
    };
    run(setup, &options).expect("it runs")
}

/// A thousand servers, and a hundred thousand clients on a thousand hosts, that create four files
/// each.
#[test]
#[ignore = "takes minutes and gigabytes"]
fn a_thousand_servers_and_a_hundred_thousand_clients() {
    let mut setup = ppmds(1000, 1000, 1_000, 1);
    setup.hosts = hosts(1000, 1000);
    for host in &mut setup.hosts[1000..] {
        host.clients = 100;
    }
    setup.phases[0].amount = Amount::Operations(4);
    let measured = run_by(&setup, Executor::Sequential, 1);
    let (engine, phase) = (&measured.engine, &measured.phases[0]);
    let created: u64 = phase.operations.values().map(|kind| kind.count).sum();
    assert_eq!(created, 400_000);
    println!("{engine:#?}");
    let rss_bytes = engine.peak_rss_bytes.expect("the host tells");
    assert!(rss_bytes < 16 << 30, "{rss_bytes} bytes");
}

/// Two threads against one, in turns.
#[test]
#[ignore = "needs a machine with two cores to itself"]
fn two_threads_are_faster_than_one() {
    let setup = ppmds(128, 2048, 32_000, 100_000_000);
    let rate = |executor, threads| {
        let mut rates: Vec<f64> = (0..3)
            .map(|_| run_by(&setup, executor, threads).engine.events_per_s)
            .collect();
        rates.sort_by(f64::total_cmp);
        rates[1]
    };
    let sequential = rate(Executor::Sequential, 1);
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let ratio = rate(executor, 2) / sequential;
        println!("{executor:?}: {ratio:.2} times {sequential:.0} events/s");
        assert!(ratio >= 1.4, "{executor:?}: {ratio}");
    }
}
