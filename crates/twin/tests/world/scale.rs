//! A world of the largest size.

use crate::setups::{hosts, ppmds, run_by};
use futago_des::Executor;
use futago_twin::world::Amount;

/// A thousand servers, and a hundred thousand clients on a thousand hosts, that create four files
/// each.
#[test]
#[ignore = "takes minutes and gigabytes; crates/twin/proof.sh scale runs it"]
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
