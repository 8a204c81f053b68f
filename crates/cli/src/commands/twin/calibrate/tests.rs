use super::{
    machine_file,
    measure::{AT_ONCE, Cost, Costs, Measured},
};
use crate::{commands::twin::spread::Spread, simulation::surroundings::Usual};
use futago_twin::{
    machine::{Machine, ManyConnections},
    world::{AfterIdle, Latency, Looking, MessageCosts, MuchData},
};
use std::collections::BTreeMap;

/// The costs of the host whose measurements follow.
const BATCH_NS: f64 = 1_000.0;
const TRANSIT_NS: f64 = 500.0;
const PASS_NS: f64 = 4_000.0;
const BYTE_NS: f64 = 0.25;
const BYTE_OF_MUCH_NS: f64 = 0.375;
const WRITTEN_WHOLE: f64 = 0.75;
const READ_WHOLE: f64 = 1.5;
const AFTER_IDLE_NS: f64 = 3_000.0;
const AFTER_OTHER: f64 = 0.25;
const WOKEN_NS: f64 = 20_000.0;
const WAKE_UP_NS: f64 = 18_000.0;
const SOCKETS_NS: f64 = 11_000.0;
const HANDED_NS: f64 = 1_500.0;
const DISK_NS: f64 = 90_000.0;
const RECOVERED_RECORD_NS: f64 = 1_300.0;

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

fn name(phase: &str, request_ns: f64, waiting_ns: f64) -> (String, Cost) {
    let alone = cost(&[(phase, 1.0)], BATCH_NS + request_ns, waiting_ns);
    (phase.to_owned(), alone)
}

fn data(home: &str, size: &str, chunks: f64, bytes_ns: f64) -> (String, Cost) {
    let work_ns = BATCH_NS + 2_000.0 + chunks * 700.0 + bytes_ns;
    let chunk = format!("{home}_chunk");
    let requests = [(home, 1.0), (chunk.as_str(), chunks)];
    (format!("{home}-{size}"), cost(&requests, work_ns, 1_000.0))
}

/// The cost of the bytes of a large transfer; the bytes of a small one are measured apart.
fn large_ns(byte_ns: f64) -> f64 {
    4096.0 * BYTE_NS + (1_048_576.0 - 4096.0) * byte_ns
}

/// Costs that are higher by an amount for each batch and for each byte.
fn dearer(batch_ns: f64, byte_ns: f64, waiting_ns: f64) -> Costs {
    let mut costs = Costs::from([
        name("stat", 3_000.0 + batch_ns, waiting_ns),
        name("create", 4_000.0 + batch_ns, waiting_ns),
    ]);
    // Only bytes of large transfers cost more, so that a batch can be distinguished from them.
    for home in ["write", "read"] {
        let more_ns = (1_048_576.0 - 4096.0) * byte_ns;
        costs.extend([
            data(home, "first", 0.0, 4096.0 * BYTE_NS + batch_ns),
            data(
                home,
                "large",
                0.0,
                1_048_576.0 * BYTE_NS + batch_ns + more_ns,
            ),
        ]);
    }
    costs
}

fn measured() -> Measured {
    let name = |phase: &str, request_ns: f64| name(phase, request_ns, 2.0 * TRANSIT_NS);
    let exactly = |figure| Spread::of(vec![figure]);
    let thinking = |phase: &str, more_ns: f64, think_ns: f64| {
        (
            phase.to_owned(),
            cost(&[("lookup", 1.0)], BATCH_NS + 3_000.0 + more_ns, think_ns),
        )
    };
    let mut alone = BTreeMap::from([
        name("stat", 3_000.0),
        thinking("stat-after-idle", AFTER_IDLE_NS, 30_000.0),
        thinking("stat-after-sleep", AFTER_IDLE_NS + WOKEN_NS, 8_000_000.0),
        name("create", 4_000.0),
        name("unlink", 4_500.0),
        name("make-directory", 5_000.0),
        name("rename", 2.0 * 3_000.0 + BATCH_NS + 5_500.0),
        name("list-few", 2_000.0 + 200.0 * 30.0),
        name("list-many", 2_000.0 + 875.0 * 30.0),
        name("list-more", 2_000.0 + 968.75 * 50.0),
    ]);
    for home in ["write", "read"] {
        alone.extend([
            data(home, "first", 0.0, 4096.0 * BYTE_NS),
            data(home, "small", 0.875, 4096.0 * BYTE_NS),
            data(home, "large", 0.99, 1_048_576.0 * BYTE_NS),
            data(home, "much", 0.99, large_ns(BYTE_OF_MUCH_NS)),
        ]);
    }
    let count = AT_ONCE as f64;
    Measured {
        alone,
        sockets: dearer(8_000.0, 0.5, 2.0 * SOCKETS_NS + WAKE_UP_NS),
        at_once: cost(&[("lookup", 1.0)], BATCH_NS / count + 3_000.0, 0.0),
        on_one_core: BTreeMap::from([
            (
                "stat".to_owned(),
                cost(
                    &[("lookup", 1.0)],
                    (BATCH_NS + 3_000.0) * (1.0 + AFTER_OTHER),
                    2.0 * PASS_NS,
                ),
            ),
            data("write", "large", 0.99, large_ns(BYTE_NS * WRITTEN_WHOLE)),
            data("read", "large", 0.99, large_ns(BYTE_NS * READ_WHOLE)),
        ]),
        wake_up_ns: exactly(WAKE_UP_NS),
        core_bytes_per_s: exactly(9e9),
        host_bytes_per_s: exactly(12e9),
        host_bytes_per_s_through_many: exactly(8e9),
        usual: Usual {
            handover_ns: Some(30.0),
            computation_ns: Some(30_000.0),
        },
        like_phases: [90, 100],
        handed_ns: [4096.0, 1_048_576.0].map(|bytes| exactly(HANDED_NS + bytes * 0.25)),
        disk_ns: [4096.0, 1_048_576.0].map(|bytes| exactly(DISK_NS + bytes * 2.0)),
        recovered_record_ns: exactly(RECOVERED_RECORD_NS),
    }
}

#[test]
fn the_file_is_a_machine_with_the_costs_that_explain_what_was_measured() {
    let measured = measured();
    let text = machine_file::text(&measured, &super::costs::Costs::of(&measured), 2);
    let machine = Machine::parse("machine.toml", &text).unwrap();
    assert_eq!(machine.servers.cores, 2);
    assert_eq!(machine.network.local_ns as f64, TRANSIT_NS);
    let costs = &machine.costs;
    assert_eq!(costs.wake_up_ns as f64, WAKE_UP_NS);
    let work_ns = BATCH_NS + 3_000.0;
    let looking = Looking {
        pass_ns: PASS_NS as u64,
        woken_ns: 2.0 * WOKEN_NS,
        after_idle: Some(AfterIdle {
            from_ns: (work_ns + 2.0 * TRANSIT_NS) as u64,
            until_ns: (work_ns + AFTER_IDLE_NS + 30_000.0) as u64,
            more: AFTER_IDLE_NS / work_ns,
        }),
        after_other: AFTER_OTHER,
    };
    assert_eq!(costs.looking, Some(looking));
    assert_eq!(costs.server.batch_ns, BATCH_NS);
    assert_eq!(costs.server.request_ns["lookup"], 3_000.0);
    assert_eq!(costs.server.request_ns["create"], 4_000.0);
    assert_eq!(costs.server.request_ns["read_directory"], 2_000.0);
    assert_eq!(costs.server.record_scanned_ns, 30.0);
    let many = costs.server.many_files.unwrap();
    assert_eq!((many.from, many.until), (4_000, 16_000));
    assert_eq!(many.record_scanned_ns, 50.0);
    assert_eq!(costs.server.request_ns["write"], 2_000.0);
    assert_eq!(costs.server.request_ns["read_chunk"], 700.0);
    assert_eq!(costs.server.byte_received_ns, BYTE_NS);
    assert_eq!(costs.client.byte_received_ns, BYTE_NS);
    let much = MuchData {
        from_mib: 32,
        until_mib: 128,
        byte_received_ns: BYTE_OF_MUCH_NS,
        byte_sent_ns: BYTE_OF_MUCH_NS,
    };
    assert_eq!(costs.server.found_whole, Some(WRITTEN_WHOLE));
    assert_eq!(costs.client.found_whole, Some(READ_WHOLE));
    assert_eq!(costs.server.much_data, Some(much));
    assert_eq!(costs.client.much_data, Some(much));
    assert_eq!(costs.client.listed_name_ns, 30.0);
    assert_eq!(costs.client.request_ns["unlink"], 4_500.0);
    assert_eq!(costs.server.request_ns["execute"], 5_500.0);
    assert_eq!(costs.client.request_ns["prepare"], 5_500.0);
    assert!(costs.client.other_request_ns > 2_000.0);
    assert!(machine.lay_out(4, 4).is_ok());
}

#[test]
fn a_file_of_a_busy_host_is_a_machine_too() {
    let mut measured = measured();
    let stat = measured.alone["stat"].clone();
    measured.alone.insert("stat-after-idle".to_owned(), stat);
    let text = machine_file::text(&measured, &super::costs::Costs::of(&measured), 2);
    let machine = Machine::parse("machine.toml", &text).unwrap();
    let looking = machine.costs.looking.unwrap();
    assert_eq!(looking.after_idle, None);
}

#[test]
fn the_file_tells_what_messages_cost_elsewhere_and_what_memory_and_disk_do() {
    let measured = measured();
    let text = machine_file::text(&measured, &super::costs::Costs::of(&measured), 2);
    let machine = Machine::parse("machine.toml", &text).unwrap();
    let many = ManyConnections {
        from: 2,
        until: 16,
        times: 1.5,
    };
    assert_eq!(machine.servers.many_connections, Some(many));
    assert_eq!(machine.servers.handover_ns, Some(30.0));
    assert_eq!(machine.servers.computation_ns, Some(30_000.0));
    assert_eq!(machine.network.latency_ns as f64, SOCKETS_NS);
    let messages = |batch_ns, byte_ns| MessageCosts {
        batch_ns,
        byte_received_ns: byte_ns,
        byte_sent_ns: byte_ns,
    };
    let (server, client) = (&machine.costs.server, &machine.costs.client);
    for sockets in [server.sockets, client.sockets] {
        assert_eq!(sockets, messages(8_000.0, 0.5));
    }
    let disk = machine.disk.unwrap();
    assert_eq!(disk.latency, Latency::Constant(DISK_NS as u64));
    assert_eq!((disk.batch_ns, disk.handed_byte_ns), (HANDED_NS, 0.25));
    assert_eq!(disk.byte_ns, 2.0);
    assert_eq!(disk.recovered_record_ns, RECOVERED_RECORD_NS);
}
