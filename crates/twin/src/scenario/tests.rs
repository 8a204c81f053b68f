use super::*;
use crate::world::{Activity, Amount, OperationKind, Place};

const SMALL: &str = r#"
description = "small"
[cluster]
servers = 2
clients = 3

[machine]
preset = "ppmds"

[[workload.directories]]
name = "shared"

[[workload.phases]]
mix = { create = 1 }
directory = "shared"
operations = 5
"#;

fn load(text: &str, options: &[&str]) -> Result<Vec<Point>, String> {
    let options: Vec<String> = options.iter().map(|o| (*o).to_owned()).collect();
    let scenario = Scenario::parse("s.toml", text, Path::new("."), &options);
    scenario
        .and_then(|scenario| scenario.points())
        .map_err(|problem| problem.to_string())
}

fn with(more: &str) -> Result<Vec<Point>, String> {
    load(&format!("{SMALL}{more}"), &[])
}

fn varied(points: &[Point], key: &str) -> Vec<serde_json::Value> {
    points
        .iter()
        .map(|point| point.parameters[key].clone())
        .collect()
}

#[test]
fn a_scenario_without_a_sweep_is_one_point() {
    let points = load(SMALL, &[]).unwrap();
    let [point] = points.as_slice() else {
        panic!("{} points", points.len())
    };
    let setup = &point.setup;
    assert_eq!((setup.server_count(), setup.client_count()), (2, 3));
    assert_eq!(setup.phases[0].name, "create");
    assert_eq!(setup.phases[0].place, Place::Shared(0));
    let creates = Activity::Names(vec![(OperationKind::Create, 1)].into());
    assert_eq!(setup.phases[0].activity, creates);
    assert_eq!(setup.phases[0].amount, Amount::Operations(5));
    let expected = serde_json::json!({"cluster.servers": 2, "cluster.clients": 3, "seed": 1});
    assert_eq!(serde_json::to_value(&point.parameters).unwrap(), expected);
}

#[test]
fn a_table_varies_every_key_by_itself_and_the_last_fastest() {
    let more = "[sweep]\ncluster.clients = { from = 1, to = 5, step = 2 }\n\"cluster.servers\" = [1, 2]\n[run]\nseeds = [7, 8]";
    let points = with(more).unwrap();
    assert_eq!(points.len(), 12);
    assert_eq!(varied(&points, "cluster.clients")[..5], [1, 1, 1, 1, 3]);
    assert_eq!(varied(&points, "cluster.servers")[..5], [1, 1, 2, 2, 1]);
    assert_eq!(varied(&points, "seed")[..5], [7, 8, 7, 8, 7]);
    assert_eq!(points[4].setup.client_count(), 3);
    assert_eq!(points[3].setup.seed, 8);
}

#[test]
fn keys_of_one_table_of_a_list_change_together() {
    let more = "[[sweep]]\ncluster.clients = [4, 6]\nmachine.network.startup_ns = [10, 20]\n[[sweep]]\ncluster.servers = [1, 2]";
    let points = with(more).unwrap();
    assert_eq!(varied(&points, "cluster.clients"), [4, 4, 6, 6]);
    assert_eq!(
        varied(&points, "machine.network.startup_ns"),
        [10, 10, 20, 20]
    );
    assert_eq!(varied(&points, "cluster.servers"), [1, 2, 1, 2]);
    let startup = |point: &Point| point.setup.network.paths[1][0].startup_ns;
    assert_eq!(
        points.iter().map(startup).collect::<Vec<_>>(),
        [10, 10, 20, 20]
    );
}

#[test]
fn options_override_any_key_even_of_the_preset() {
    let options = [
        "cluster.servers=4",
        "machine.network.switches.0.latency_ns=5",
        "run.seeds=[3]",
    ];
    let points = load(SMALL, &options).unwrap();
    assert_eq!(points[0].setup.server_count(), 4);
    assert_eq!(points[0].setup.seed, 3);
    let latencies: Vec<u64> = points[0].setup.network.paths[1][0]
        .hops
        .iter()
        .map(|hop| hop.latency_ns)
        .collect();
    assert_eq!(latencies, [5, 0, 32_000]);
    let ideal = load(SMALL, &["machine.preset=ideal"]).unwrap();
    assert_eq!(ideal[0].setup.network.paths[0][0].startup_ns, 0);
}

#[test]
fn what_is_set_is_not_varied() {
    let text = format!("{SMALL}[sweep]\ncluster.clients = [4, 6]\ncluster.servers = [1, 2]");
    let clients = |options| varied(&load(&text, options).unwrap(), "cluster.clients");
    assert_eq!(clients(&["cluster.clients=9"]), [9, 9]);
    assert_eq!(clients(&["sweep.cluster.servers=[5]"]), [4, 6]);
    assert_eq!(clients(&["sweep={}"]), [3]);
}

#[test]
fn the_whole_machine_is_part_of_a_point_so_that_points_differ() {
    let point = &load(SMALL, &[]).unwrap()[0];
    assert_eq!(point.document["machine"]["network"]["startup_ns"], 32_000);
}

#[test]
fn a_machine_may_come_from_a_file_beside_the_scenario() {
    let directory = std::env::temp_dir().join(format!("futago-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let machine = crate::machine::presets::text("ideal").unwrap();
    std::fs::write(directory.join("m.toml"), machine).unwrap();
    let text = SMALL.replace("preset = \"ppmds\"", "file = \"m.toml\"");
    let load = |text: &str| Scenario::parse("s.toml", text, &directory, &[])?.points();
    let points = load(&text);
    let missing = load(&text.replace("m.toml", "n.toml"))
        .unwrap_err()
        .to_string();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(
        points.unwrap()[0].setup.network.paths[0][0].hops[0].latency_ns,
        1_000
    );
    assert!(
        missing.starts_with("s.toml, line 8: machine.file: cannot read the machine"),
        "{missing}"
    );
}

#[test]
fn a_trace_lies_beside_the_scenario_and_tells_points_apart() {
    let directory = std::env::temp_dir().join(format!("futago-traces-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, processes: u64| {
        let lines = (1..=processes).map(|process| {
            format!(
                "\n{{\"process\":{process},\"begin_ns\":0,\"took_ns\":1,\"operation\":{{\"open\":{{\"file\":0}}}}}}"
            )
        });
        let text = ["{\"futago_trace\":1}".to_owned()].into_iter().chain(lines);
        std::fs::write(directory.join(name), text.collect::<String>()).unwrap();
    };
    write("two.jsonl", 2);
    write("three.jsonl", 3);
    write("four.jsonl", 4);
    std::fs::write(directory.join("bad.jsonl"), "{\"futago_trace\":1}\n{}").unwrap();
    let phase = "mix = { create = 1 }\ndirectory = \"shared\"\noperations = 5";
    let load = |keys: &str, options: &[&str]| {
        let text = SMALL.replace(phase, keys);
        let options: Vec<String> = options.iter().map(|o| (*o).to_owned()).collect();
        let scenario = Scenario::parse("s.toml", &text, &directory, &options);
        let points = scenario.and_then(|scenario| scenario.points());
        points.map_err(|problem| problem.to_string())
    };
    let two = "trace = \"two.jsonl\"\ndirectory = \"shared\"";
    let sweep = "sweep={ workload.phases.0.trace = [\"two.jsonl\", \"three.jsonl\"] }";
    let points = load(two, &[sweep]);
    let mistakes = [
        load("trace = \"two.jsonl\"", &[]),
        load(&format!("{two}\noperations = 5"), &[]),
        load(&format!("{two}\nthink = {{ constant_ns = 5 }}"), &[]),
        load(&format!("{two}\nrepeat = 2"), &[]),
        load(&two.replace("two", "four"), &[]),
        load(&two.replace("two", "bad"), &[]),
        load(&two.replace("two", "no"), &[]),
    ];
    let mistakes: Vec<String> = mistakes.into_iter().map(|e| e.unwrap_err()).collect();
    let mistakes = mistakes
        .join("\n")
        .replace(&directory.display().to_string(), "DIRECTORY");
    std::fs::remove_dir_all(&directory).unwrap();
    let points = points.unwrap();
    assert_eq!(points[0].setup.phases[0].name, "trace");
    assert_eq!(points[0].setup.phases[0].amount, Amount::Operations(1));
    assert_ne!(points[0].document["traces"], points[1].document["traces"]);
    insta::assert_snapshot!(mistakes);
}

/// Data that an earlier phase has written is read as it is; the rest is written before.
#[test]
fn what_is_read_is_written_before_once() {
    let text = |written: &str| {
        let phases = SMALL.find("[[workload.phases]]").unwrap();
        format!(
            "{}[[workload.phases]]\ndata = {{ operation = \"write\", size = \"{written}\" }}\n\
             [[workload.phases]]\ndata = {{ operation = \"read\", size = \"8MiB\", transfer = \"4KiB\" }}",
            &SMALL[..phases]
        )
    };
    let read = |written: &str| {
        let phase = load(&text(written), &[]).unwrap()[0].setup.phases[1].clone();
        match phase.activity {
            Activity::Data(data) => (phase.amount, data.fill),
            _ => panic!("{phase:?}"),
        }
    };
    assert_eq!(read("8MiB"), (Amount::Operations(2048), false));
    assert_eq!(read("4MiB"), (Amount::Operations(2048), true));
    let options = ["sweep={ workload.phases.1.data.transfer = [\"4KiB\", \"1MiB\"] }"];
    let points = load(&text("8MiB"), &options).unwrap();
    assert_eq!(points[1].setup.phases[1].amount, Amount::Operations(8));
}

#[test]
fn what_is_read_again_has_been_written() {
    let phases = SMALL.find("[[workload.phases]]").unwrap();
    let text = format!(
        "{}[[workload.phases]]\ndata = {{ operation = \"read\", size = \"1MiB\" }}\nrepeat = 3",
        &SMALL[..phases]
    );
    let points = load(&text, &[]).unwrap();
    let fills = points[0].setup.phases.iter().map(|phase| {
        let Activity::Data(data) = &phase.activity else {
            panic!("{phase:?}")
        };
        (phase.name.as_str(), phase.amount, data.fill)
    });
    let read = |fill| ("read", Amount::Operations(1), fill);
    assert_eq!(
        fills.collect::<Vec<_>>(),
        [read(true), read(false), read(false)]
    );
}

#[test]
fn mistakes_of_scenarios_are_reported() {
    let replaced = |from: &str, to: &str| load(&SMALL.replace(from, to), &[]);
    let errors = [
        with("[clusters]\n"),
        replaced("servers = 2", "server = 2"),
        replaced("servers = 2", "servers = 0"),
        replaced("servers = 2", "servers = 5000"),
        replaced("clients = 3", "clients = 3\nchunk = \"1GiB\""),
        replaced("clients = 3", "clients = 3\npartitions = 1"),
        replaced("\"ppmds\"", "\"pmds\""),
        replaced("[machine]\npreset = \"ppmds\"", ""),
        replaced("\"ppmds\"", "\"ppmds\"\nclients.nic.bandwidth_mb_per_s = 0"),
        replaced("create = 1", "creat = 1"),
        replaced("create = 1", "create = 0"),
        replaced("directory = \"shared\"", "directory = \"shard\""),
        replaced("operations = 5", ""),
        replaced("operations = 5", "operations = 0"),
        replaced("operations = 5", "operations = 5\nmeasured_ms = 3"),
        replaced("operations = 5", "measured_ms = -3"),
        replaced("name = \"shared\"", "name = \"shared\"\nbuckets = 3"),
        with("[run]\nexecutor = \"optimist\""),
        with("[run]\nseeds = []"),
        with("[run]\nthreads = 2000"),
        with("[faults]\nlost = 2"),
        with("[faults]\nstopped_servers = [{ server = 9, at_ns = 1, back_ns = 2 }]"),
        with("[[faults.partitions]]\none = 0\nother = 1\nfrom_ns = 1\nuntil_ns = 2\nway = 1"),
        with("[sweep]\ncluster.server = [1, 2]"),
        with("[sweep]\ncluster.servers = 3"),
        with("[sweep]\ncluster.servers = []"),
        with("[sweep]\ncluster.servers = [1,\n 0]"),
        with("[sweep]\ncluster.servers = { from = 1, to = 4, stop = 2 }"),
        with("[sweep]\ncluster.servers = { from = 4, to = 1 }"),
        with("[[sweep]]\ncluster.servers = [1, 2]\ncluster.clients = [1]"),
        with("[sweep]\ncluster.servers = [1, 2]\ncluster.clients = { from = 1, to = 500000 }"),
        load(SMALL, &["cluster.sevrers=3"]),
        load(SMALL, &["machine.network.links.0.bandwidth_mb_per_s=0"]),
    ];
    let text: Vec<String> = errors.into_iter().map(|e| e.unwrap_err()).collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn mistakes_of_workloads_are_reported() {
    let replaced = |from: &str, to: &str| load(&SMALL.replace(from, to), &[]);
    let phases = SMALL.find("[[workload.phases]]").unwrap();
    let data = |keys: &str| {
        let text = format!(
            "{}[[workload.phases]]\ndata = {{ {keys} }}",
            &SMALL[..phases]
        );
        load(&text, &[])
    };
    let with_phase = |keys: &str| replaced("operations = 5", &format!("operations = 5\n{keys}"));
    let errors = [
        replaced("create = 1", "write = 1"),
        with_phase("data = { operation = \"write\" }"),
        data("operation = \"copy\""),
        data("operation = \"write\", transfer = \"0\""),
        data("operation = \"write\", transfer = \"1 MIB/s\""),
        data("operation = \"write\", block = \"1000\""),
        data("operation = \"write\", acess = \"random\""),
        data("operation = \"write\", file = \"shared\""),
        data("operation = \"write\", file = \"common\""),
        data("operation = \"read\", file = \"shared\", shuffled = true"),
        replaced("clients = 3", "clients = 3\ncooperative = true"),
        replaced(
            "name = \"shared\"",
            "name = \"shared\"\nnames = \"round-robbin\"",
        ),
        replaced(
            "name = \"shared\"",
            "name = \"shared\"\nnames = \"round-robin\"",
        ),
        replaced("directory = \"shared\"", "common = 3"),
        with_phase("common = 3"),
        with_phase("popularity = { zipf = 1 }"),
        with_phase("popularity = { zipf = -1 }"),
        with_phase("popularity = \"unifrom\""),
        with_phase("arrivals = { per_s = 0 }"),
        with_phase("arrivals = { process = \"poisson\" }"),
        with_phase("arrivals = { per_s = 9 }\nthink = { constant_ns = 3 }"),
        with("[workload.wide]\nbuckets = 3"),
        replaced("name = \"shared\"", "name = \"shared\"\nbuckets = 4194304"),
        replaced("\"shared\"", "\"a/b\""),
        with_phase("think = { uniform_ns = [9, 1] }"),
        with("[workload.wide]\nevery = 3"),
        with_phase("repeat = 0"),
        with_phase("repeat = 10_001"),
    ];
    let text: Vec<String> = errors.into_iter().map(|e| e.unwrap_err()).collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn impossible_sizes_and_costs_are_reported() {
    let replaced = |from: &str, to: &str| load(&SMALL.replace(from, to), &[]);
    let errors = [
        replaced("clients = 3", "clients = 3\nchunk = \"5000\""),
        replaced("clients = 3", "clients = 3\nmemory = \"0\""),
        replaced("clients = 3", "clients = 3\nmemory = \"99999999999TiB\""),
        replaced("clients = 3", "clients = 3\nmemory = \"much\""),
        replaced("clients = 3", "clients = 9999999999"),
        replaced("clients = 3", "clients = \"three\""),
        replaced("clients = 3", "clients = 3\nprotocol.request_resend_ms = 0"),
        replaced("clients = 3", "clients = 3\nprotocol.window = 0"),
        replaced("\"ppmds\"", "\"ppmds\"\nstore.concurrency = 0"),
        replaced("\"ppmds\"", "\"ppmds\"\ncosts.server.input_ns = -5"),
        replaced("\"ppmds\"", "\"ppmds\"\ncosts.client.byte_sent_ns = nan"),
        load(
            SMALL,
            &["machine.store.latency={ constant_ns = 9000000000000 }"],
        ),
        load(
            &SMALL.replace("\"ppmds\"", "\"ppmds\"\ndisk.byte_ns = -1"),
            &["cluster.store=disk"],
        ),
        load(
            SMALL,
            &[
                "cluster.store=disk",
                "machine.disk={ recovered_record_ns = 1e6, held_records = 4_000_000 }",
            ],
        ),
        replaced(
            "\"ppmds\"",
            "\"ppmds\"\ncosts.server.request_ns = { create = -5 }",
        ),
        replaced(
            "\"ppmds\"",
            "\"ppmds\"\ncosts.server.request_ns = { create = 5, lokup = 5 }",
        ),
        replaced("\"ppmds\"", "\"ppmds\"\ncosts.client.request_ns.stat = 5"),
        load(SMALL, &["machine.costs.client.request_ns.creat=5"]),
    ];
    let text: Vec<String> = errors.into_iter().map(|e| e.unwrap_err()).collect();
    insta::assert_snapshot!(text.join("\n"));
}
