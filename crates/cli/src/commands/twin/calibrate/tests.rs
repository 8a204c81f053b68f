use super::{
    costs::Costs,
    machine_file,
    measure::{AT_ONCE, Cost, Measured},
};
use crate::commands::twin::spread::Spread;
use futago_twin::machine::Machine;
use std::collections::BTreeMap;

/// What a host would measure whose costs are these.
const TURN_NS: f64 = 1_000.0;
const TRANSIT_NS: f64 = 500.0;
const PASS_NS: f64 = 4_000.0;
const BYTE_NS: f64 = 0.25;

fn cost(requests: &[(&str, f64)], work_ns: f64, waiting_ns: f64) -> Cost {
    let exactly = |figure| Spread::of(vec![figure]);
    let requests = requests
        .iter()
        .map(|&(name, count)| (name.to_owned(), count));
    Cost {
        requests: requests.collect(),
        server_ns: exactly(work_ns),
        client_ns: exactly(work_ns),
        latency_ns: exactly(2.0 * work_ns + waiting_ns),
    }
}

fn measured() -> Measured {
    let name = |phase: &str, request_ns: f64| {
        let alone = cost(&[(phase, 1.0)], TURN_NS + request_ns, 2.0 * TRANSIT_NS);
        (phase.to_owned(), alone)
    };
    let data = |home: &str, size: &str, chunks: f64, bytes: f64| {
        let work_ns = TURN_NS + 2_000.0 + chunks * 700.0 + bytes * BYTE_NS;
        let chunk = format!("{home}_chunk");
        let requests = [(home, 1.0), (chunk.as_str(), chunks)];
        (format!("{home}-{size}"), cost(&requests, work_ns, 1_000.0))
    };
    let mut alone = BTreeMap::from([
        name("stat", 3_000.0),
        name("create", 4_000.0),
        name("unlink", 4_500.0),
        name("make-directory", 5_000.0),
        name("list-few", 2_000.0 + 200.0 * 30.0),
        name("list-many", 2_000.0 + 875.0 * 30.0),
    ]);
    for home in ["write", "read"] {
        alone.extend([
            data(home, "first", 0.0, 4096.0),
            data(home, "small", 0.875, 4096.0),
            data(home, "large", 0.99, 1_048_576.0),
        ]);
    }
    let count = AT_ONCE as f64;
    Measured {
        alone,
        at_once: cost(&[("lookup", 1.0)], TURN_NS / count + 3_000.0, 0.0),
        on_one_core: cost(&[("lookup", 1.0)], TURN_NS + 3_000.0, 2.0 * PASS_NS),
        wake_up_ns: Spread::of(vec![18_000.0]),
    }
}

#[test]
fn the_file_is_a_machine_with_the_costs_that_explain_what_was_measured() {
    let measured = measured();
    let text = machine_file::text(&measured, &Costs::of(&measured), 2);
    let machine = Machine::parse("machine.toml", &text).unwrap();
    assert_eq!(machine.servers.cores, 2);
    assert_eq!(machine.network.local_ns as f64, TRANSIT_NS);
    let costs = &machine.costs;
    assert_eq!(costs.wake_up_ns, 18_000);
    assert_eq!(costs.looking.unwrap().pass_ns as f64, PASS_NS);
    assert_eq!(costs.server.turn_ns, TURN_NS);
    assert_eq!(costs.server.request_ns["lookup"], 3_000.0);
    assert_eq!(costs.server.request_ns["create"], 4_000.0);
    assert_eq!(costs.server.request_ns["read_directory"], 2_000.0);
    assert_eq!(costs.server.record_scanned_ns, 30.0);
    assert_eq!(costs.server.request_ns["write"], 2_000.0);
    assert_eq!(costs.server.request_ns["read_chunk"], 700.0);
    assert_eq!(costs.server.byte_received_ns, BYTE_NS);
    assert_eq!(costs.client.byte_received_ns, BYTE_NS);
    assert_eq!(costs.client.listed_name_ns, 30.0);
    assert_eq!(costs.client.request_ns["unlink"], 4_500.0);
    assert!(machine.lay_out(4, 4).is_ok());
}
