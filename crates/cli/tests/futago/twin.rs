//! Simulated clusters: `twin` and `lab`.

use crate::common::futago;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::{fs, path::Path, process::Stdio};

const SCENARIO: &str = r#"
description = "tiny"
cluster = { servers = 1, clients = 2 }
machine.preset = "ppmds"

[[workload.directories]]
name = "shared"

[[workload.phases]]
mix = { create = 1 }
directory = "shared"
operations = 5

[sweep]
cluster.clients = [1, 2]
"#;

const STUDY: &str = r#"
title = "Tiny"
[[figure]]
name = "tiny"
title = "Tiny figure"
claim = "hardly any"
scenario = "tiny.toml"
x = "cluster.clients"
y = "throughput.create"
check = ["sed", "s/.*/[{\"bound\":1}, {\"bound\":2}]/"]

[[figure]]
name = "latency"
title = "The same points, seen in another way"
scenario = "tiny.toml"
x = "cluster.clients"
y = "latency_us.create.p99"
"#;

/// The output of the study's first run.
const FIRST: &str = "tiny: 2 of 2 points to run\nlatency: 0 of 2 points to run\n";

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("tiny.toml"), SCENARIO).unwrap();
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = futago()
        .current_dir(directory)
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

fn points(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let all = [&["twin", "run", "tiny.toml", "--json"], arguments].concat();
    let (code, out, err) = run(directory, &all);
    assert_eq!(code, 0, "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    json["points"].as_array().unwrap().clone()
}

#[test]
fn a_run_prints_what_scripts_rely_on() {
    let directory = directory();
    let points = points(directory.path(), &["--set", "run.seeds=[7]"]);
    assert_eq!(points.len(), 2);
    for (point, clients) in points.iter().zip([1, 2]) {
        assert_eq!(point["parameters"]["cluster.clients"], clients);
        assert_eq!(point["parameters"]["cluster.servers"], 1);
        assert_eq!(point["parameters"]["seed"], 7);
        let measured = point["throughput"]["create"].as_f64().unwrap();
        assert!(measured > 0.0);
        assert!(point["bound"]["create"].as_f64().unwrap() >= measured);
        assert!(point["bound"]["resource"].is_string());
        for figure in ["p50", "p99", "mean"] {
            // Six start-ups, the slowest link twice, and the store.
            let idle_us = 6.0 * 32.0 + 2.0 * 4.096 + 500.0;
            let latency_us = point["latency_us"]["create"][figure].as_f64().unwrap();
            assert!(
                (idle_us - 1.0..idle_us * 1.2).contains(&latency_us),
                "{point}"
            );
        }
        let busy = &point["utilisation"]["server-nic-send"];
        assert!((0.0..=1.0).contains(&busy.as_f64().unwrap()), "{point}");
        assert!(point["events_committed"].as_u64().unwrap() > 0);
        assert!(point["events_per_s"].as_f64().unwrap() > 0.0);
        assert!(point["wall_s"].as_f64().is_some());
        assert!(point["digest"].is_string());
    }
}

#[test]
fn executors_and_jobs_give_the_same_digests() {
    let directory = directory();
    let digests = |arguments: &[&str]| -> Vec<Value> {
        let points = points(directory.path(), arguments);
        points.iter().map(|point| point["digest"].clone()).collect()
    };
    let plain = digests(&["--jobs", "1"]);
    assert_ne!(plain[0], plain[1]);
    for executor in ["conservative", "optimistic"] {
        let arguments = ["--executor", executor, "--threads", "2", "--jobs", "2"];
        assert_eq!(digests(&arguments), plain, "{executor}");
    }
}

#[test]
fn people_see_the_bottleneck_and_get_a_report() {
    let directory = directory();
    let arguments = ["twin", "run", "tiny.toml", "--report", "r.html"];
    let (code, out, err) = run(directory.path(), &arguments);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains("limited by") && out.contains("cluster.clients"),
        "{out}"
    );
    let page = fs::read_to_string(directory.path().join("r.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("tiny"));
    // The machine's parameters, which its preset says, and not the scenario.
    assert!(page.contains("startup_ns = 32000"));
    let single = [&arguments[..3], &["--set", "sweep={}"]].concat();
    let (_, out, _) = run(directory.path(), &single);
    assert!(
        out.contains("it allows create") || out.contains("no more than create"),
        "{out}"
    );
    assert!(out.contains("server-nic-send"), "{out}");
}

#[test]
fn transactions_are_counted_by_phase() {
    let directory = directory();
    let options = [
        "cluster.servers=3",
        "cluster.clients=4",
        "workload.phases.0.mix={ exchange = 1 }",
        "workload.phases.0.common=2",
        "workload.directories.0.buckets=16",
        "sweep={}",
    ];
    let arguments: Vec<&str> = options.iter().flat_map(|set| ["--set", set]).collect();
    let all = &points(directory.path(), &arguments)[0]["phases"][0]["transactions"];
    let count = |what: &str| all[what].as_u64().unwrap();
    assert_eq!(count("committed"), 20, "{all}");
    assert_eq!(count("begun"), 20 + count("aborted"), "{all}");
    assert!(count("conflicts") > 0 && count("retries") > 0, "{all}");
    let arguments = [&["twin", "run", "tiny.toml"], &arguments[..]].concat();
    let (_, out, _) = run(directory.path(), &arguments);
    assert!(out.contains(" begun, 20 committed ("), "{out}");
}

#[test]
fn mistakes_name_line_and_key_and_are_wrong_usage() {
    let directory = directory();
    let bad = SCENARIO.replace("servers = 1", "sevrers = 1");
    fs::write(directory.path().join("bad.toml"), bad).unwrap();
    let (code, _, err) = run(directory.path(), &["twin", "run", "bad.toml"]);
    assert_eq!(code, 2);
    let expected =
        "futago: bad.toml, line 3: cluster: unknown key `sevrers`; did you mean `servers`?\n";
    assert_eq!(err, expected);
    let option = [
        "twin",
        "run",
        "tiny.toml",
        "--json",
        "--set",
        "run.threads=0",
    ];
    let (code, _, err) = run(directory.path(), &option);
    let json: Value = serde_json::from_str(&err).unwrap();
    assert_eq!((code, json["exit_code"].as_i64()), (2, Some(2)));
    assert!(
        json["error"]
            .as_str()
            .unwrap()
            .starts_with("--set run.threads=0: run.threads:")
    );
    let (code, _, err) = run(directory.path(), &["twin", "run", "missing.toml"]);
    assert_eq!(code, 2);
    assert!(err.contains("missing.toml"), "{err}");
}

#[test]
fn a_study_is_run_once_and_has_a_report_with_tables() {
    let directory = directory();
    let study = directory.path().join("experiments/tiny");
    fs::create_dir_all(&study).unwrap();
    fs::write(study.join("tiny.toml"), SCENARIO).unwrap();
    fs::write(study.join("study.toml"), STUDY).unwrap();
    let lab = |more: &[&str]| {
        let all = [&["lab", "run", "tiny", "--out", "out"], more].concat();
        run(directory.path(), &all)
    };
    let (code, out, err) = lab(&[]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "out/tiny/report.html\n");
    assert_eq!(err, FIRST);
    let file =
        |name: &str| fs::read_to_string(directory.path().join("out/tiny").join(name)).unwrap();
    let page = file("report.html");
    assert!(page.contains("hardly any") && page.contains("Tiny figure"));
    assert!(file("tiny.csv").starts_with("cluster.clients,create/s,"));
    assert!(file("latency.csv").starts_with("cluster.clients,"));
    let json: Value = serde_json::from_str(&file("tiny.json")).unwrap();
    assert_eq!(json["points"].as_array().unwrap().len(), 2);
    assert_eq!(file("latency.json"), file("tiny.json"));

    assert_eq!(lab(&[]).2, FIRST.replace("2 of", "0 of"));
    assert_eq!(lab(&["--set", "cluster.servers=2"]).2, FIRST);
    let (code, _, err) = run(directory.path(), &["lab", "run", "all", "--out", "out"]);
    assert_eq!((code, err.as_str()), (0, FIRST));
    assert_eq!(lab(&["--figure", "none"]).0, 3);
    assert_eq!(
        run(directory.path(), &["lab", "run", "nothing", "--out", "out"]).0,
        2
    );
}

/// The check of the study computes the closed form with `python3`.
#[test]
fn shares_of_chunks_are_within_their_closed_form() {
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/chfs");
    let directory = directory();
    let figure = [
        "--figure",
        "shares-of-chunks",
        "--set",
        "cluster.servers=16",
    ];
    let all = [&["lab", "run", study, "--out", "out"], &figure[..]].concat();
    let (code, _, err) = run(directory.path(), &all);
    assert_eq!(code, 0, "{err}");
    let csv = directory.path().join("out/chfs/shares-of-chunks.csv");
    let rows = fs::read_to_string(csv).unwrap();
    assert_eq!(rows.matches(",ok,").count(), 4, "{rows}");
}

/// The check of the study computes the wait from the machine file with `python3`.
#[test]
fn servers_that_come_back_are_waited_for_as_long_as_they_read_their_logs() {
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/durable");
    let directory = directory();
    let held = "machine.disk.held_records=[20000, 200000]";
    let figure = ["--figure", "recovery", "--set", &format!("sweep.{held}")];
    let all = [&["lab", "run", study, "--out", "out"], &figure[..]].concat();
    let (code, _, err) = run(directory.path(), &all);
    assert_eq!(code, 0, "{err}");
    let csv = directory.path().join("out/durable/recovery.csv");
    let rows = fs::read_to_string(csv).unwrap();
    assert_eq!(rows.matches(",ok,").count(), 2, "{rows}");
}

#[test]
fn fuzzing_tells_what_it_did() {
    let directory = directory();
    let (code, out, err) = run(
        directory.path(),
        &["twin", "fuzz", "--seeds", "2", "--json"],
    );
    assert_eq!(code, 0, "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["clean"], &json["failures"]),
        (&2.into(), &Value::Array(Vec::new()))
    );
    let coverage = json["coverage"].as_array().unwrap();
    assert!(coverage.iter().any(|passed| passed["seeds"] == 2), "{out}");
    let (code, out, _) = run(directory.path(), &["twin", "fuzz", "--seed", "5"]);
    assert_eq!(code, 0);
    assert!(out.contains("1 transaction-committed "), "{out}");
    assert!(out.contains("\n1 seeds clean, 0 failed, "), "{out}");
}

#[test]
fn a_planted_defect_is_noticed() {
    let directory = directory();
    let fuzz = |arguments: &[&str]| run(directory.path(), &[&["twin", "fuzz"], arguments].concat());
    let (code, out, err) = fuzz(&["--list-defects", "--json"]);
    assert_eq!(code, 0, "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let names = json
        .as_array()
        .unwrap()
        .iter()
        .map(|defect| &defect["name"]);
    assert!(names.clone().any(|name| name == "forgets-leases"), "{out}");
    let (code, out, _) = fuzz(&["--defect", "forgets-leases", "--shrink", "0"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("the defect forgets-leases was noticed\n"),
        "{out}"
    );
    assert!(out.contains("--defect forgets-leases\n"), "{out}");
    assert_eq!(fuzz(&["--defect", "nothing"]).0, 2);
}

#[test]
fn fuzzing_that_is_interrupted_tells_what_was_clean() {
    let fuzz = std::process::Command::new(env!("CARGO_BIN_EXE_futago"))
        .args(["twin", "fuzz", "--seeds", "1000000000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while !catches(fuzz.id(), Signal::INT) {
        std::thread::yield_now();
    }
    rustix::process::kill_process(Pid::from_child(&fuzz), Signal::INT).unwrap();
    let ended = fuzz.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(out.contains("\ninterrupted: "), "{out}");
    assert!(out.contains(" seeds clean, 0 failed, "), "{out}");
}

/// Whether a process has a handler for a signal.
fn catches(process: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:\t"));
    let caught = u64::from_str_radix(caught.unwrap(), 16).unwrap();
    caught & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn a_host_is_measured_and_compared_with_its_twin() {
    let directory = directory();
    let (code, out, err) = run(
        directory.path(),
        &[
            "twin",
            "calibrate",
            "--rounds",
            "3",
            "--out",
            "m.toml",
            "--json",
        ],
    );
    assert_eq!(code, 0, "{err}");
    let measured: Value = serde_json::from_str(&out).unwrap();
    let create = &measured["measured"]["alone"]["create"];
    assert_eq!(create["requests"]["create"], 1.0);
    let recovered = &measured["measured"]["recovered_record_ns"]["least"];
    assert!(recovered.as_f64().unwrap() > 0.0, "{recovered}");
    for work in ["server_ns", "client_ns"] {
        let work_ns = create[work]["middle"].as_f64().unwrap();
        let all_ns = create["latency_ns"]["middle"].as_f64().unwrap();
        assert!(0.0 < work_ns && work_ns < all_ns, "{create}");
    }
    let compare = [
        "twin",
        "compare",
        "tiny.toml",
        "--machine",
        "m.toml",
        "--repetitions",
        "2",
        "--json",
    ];
    let (code, out, err) = run(directory.path(), &compare);
    assert_eq!(code, 0, "{err}");
    let compared: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(compared["machine_hash"], measured["machine_hash"]);
    let rows = compared["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["operation"], "create");
        for figure in ["throughput", "p50_us", "p99_us"] {
            let [least, real, most] =
                ["real_least", "real", "real_most"].map(|key| row[figure][key].as_f64().unwrap());
            assert!(0.0 < least && least <= real && real <= most, "{row}");
            assert!(row[figure]["twin"].as_f64().unwrap() > 0.0, "{row}");
            assert!(row[figure]["error_percent"].is_f64(), "{row}");
            let apart = row[figure]["real_difference_percent"].as_f64();
            assert_near(apart.unwrap(), (most - least) / real * 100.0);
        }
    }
}

/// A scenario of directories that have grown before.
const GROWN: &str = r#"
cluster = { servers = 2, clients = 2 }
machine.preset = "workstation"
workload.wide = { each = 3, buckets = 2 }

[[workload.directories]]
name = "shared"
buckets = 2
known = true
names = "round-robin"

[[workload.phases]]
mix = { create = 1 }
directory = "shared"
operations = 5

[[workload.phases]]
mix = { set-attributes = 1 }
directory = "shared"
operations = 3

[[workload.phases]]
mix = { remove-directory = 1 }
directory = "/"
operations = 3
"#;

/// Whether they are as wide as they should be, `compare` looks itself.
#[test]
fn directories_of_a_real_cluster_grow_before_they_are_used() {
    let directory = directory();
    fs::write(directory.path().join("grown.toml"), GROWN).unwrap();
    let compare = [
        "twin",
        "compare",
        "grown.toml",
        "--repetitions",
        "1",
        "--json",
    ];
    let (code, out, err) = run(directory.path(), &compare);
    assert_eq!(code, 0, "{err}");
    let compared: Value = serde_json::from_str(&out).unwrap();
    let rows = compared["rows"].as_array().unwrap();
    let operations = [
        ("create", 10),
        ("set-attributes", 6),
        ("remove-directory", 6),
    ];
    assert_eq!(rows.len(), operations.len(), "{out}");
    for (row, (operation, count)) in rows.iter().zip(operations) {
        assert_eq!(row["operation"], operation);
        assert_eq!(
            (&row["count"]["real"], &row["count"]["twin"]),
            (&count.into(), &count.into())
        );
        assert_eq!(
            row["errors"]["real"],
            Value::Object(serde_json::Map::new()),
            "{row}"
        );
    }
}

#[test]
fn what_a_real_cluster_cannot_be_given_is_refused_with_the_reason() {
    let directory = directory();
    fs::write(directory.path().join("grown.toml"), GROWN).unwrap();
    let refused = |option: &str, key: &str, reason: &str| {
        let compare = ["twin", "compare", "grown.toml", "--set", option];
        let (code, _, err) = run(directory.path(), &compare);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(key) && err.contains(reason), "{err}");
    };
    refused(
        "workload.directories.0.buckets=4096",
        "workload.directories.0.buckets: ",
        "there are 2; say `buckets = 2` or less",
    );
    refused(
        "workload.wide={ each = 1, buckets = 4 }",
        "workload.wide.buckets: ",
        "grows to one bucket on each server",
    );
    refused("faults.lost=0.1", "faults: ", "go their own way");
    refused(
        "cluster.protocol.split_entries=8",
        "cluster.protocol: ",
        "by their own settings",
    );
}

/// Servers of a real cluster keep what they have on a disk where simulated ones do.
#[test]
fn servers_with_disks_are_compared_too() {
    let directory = directory();
    let preset = "workload.phases.0.operations=20";
    let disk = "machine.disk={ latency = { constant_ns = 100_000 } }";
    let compare = |sync: &str| {
        let compare = ["twin", "compare", "tiny.toml", "--repetitions", "1"];
        let sync = format!("cluster.sync={sync}");
        let set = ["cluster.store=disk", &sync, disk, preset];
        let set = set.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = compare.into_iter().chain(["--json"]).chain(set).collect();
        let output = futago()
            .current_dir(directory.path())
            .env("TMPDIR", directory.path())
            .args(arguments)
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{err}");
        // The directory of the data and the cluster file are gone.
        assert_eq!(names(directory.path()), ["tiny.toml"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    for sync in ["process", "always"] {
        let compared = compare(sync);
        for (row, clients) in compared["rows"].as_array().unwrap().iter().zip([1, 2]) {
            let count = Value::from(20 * clients);
            assert_eq!(
                (&row["count"]["real"], &row["count"]["twin"]),
                (&count, &count)
            );
            assert!(row["throughput"]["real"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
}

/// Nothing of the data is left, beside the machine file, where the cluster does not start.
#[test]
fn a_real_cluster_that_does_not_start_leaves_no_data_behind() {
    let directory = directory();
    let machines = directory.path().join("machines");
    fs::create_dir(&machines).unwrap();
    let machine =
        "[servers]\nnic = { bandwidth_mb_per_s = 1000 }\n[network]\npacket_bytes = 4096\n[disk]\n";
    fs::write(machines.join("m.toml"), machine).unwrap();
    // There is no place for the cluster file.
    let output = futago()
        .current_dir(directory.path())
        .env("TMPDIR", directory.path().join("nowhere"))
        .args([
            "twin",
            "compare",
            "tiny.toml",
            "--machine",
            "machines/m.toml",
        ])
        .args(["--set", "cluster.store=disk"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{err}");
    assert!(err.contains("nowhere"), "{err}");
    assert_eq!(names(&machines), ["m.toml"]);
}

/// A client's five operations need four pauses of 10 ms at least, however fast the machine is.
#[test]
fn operations_arrive_and_clients_think_on_a_real_cluster_too() {
    const MOST_PER_S: f64 = 5.0 / 0.04;
    let think = ["workload.phases.0.think.constant_ns=10000000"];
    let arrivals = [
        "workload.phases.0.arrivals.per_s=100",
        "workload.phases.0.arrivals.process=\"constant\"",
    ];
    let directory = directory();
    for settings in [&think[..], &arrivals] {
        let compare = ["twin", "compare", "tiny.toml", "--json"];
        let set = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = compare.into_iter().chain(set).collect();
        let (code, out, err) = run(directory.path(), &arguments);
        assert_eq!(code, 0, "{err}");
        let compared: Value = serde_json::from_str(&out).unwrap();
        for (row, clients) in compared["rows"].as_array().unwrap().iter().zip([1.0, 2.0]) {
            let real = row["throughput"]["real"].as_f64().unwrap();
            assert!(0.0 < real && real <= clients * MOST_PER_S, "{row}");
        }
    }
}

#[test]
fn a_comparison_can_be_printed_as_it_is_published() {
    let directory = directory();
    let compare = [
        "twin",
        "compare",
        "tiny.toml",
        "--repetitions",
        "1",
        "--markdown",
    ];
    let (code, out, err) = run(directory.path(), &compare);
    assert_eq!(code, 0, "{err}");
    let of_create = |line: &&str| line.starts_with("| 1 |") && line.contains("| create |");
    assert_eq!(out.lines().filter(of_create).count(), 2, "{out}");
}

#[test]
fn a_comparison_can_be_made_in_pieces() {
    let directory = directory();
    let compare = |repetitions: &str, option: &str| {
        let compare = ["twin", "compare", "tiny.toml", "--json", "--keep", "kept"];
        let more = ["--repetitions", repetitions, "--set", option];
        run(directory.path(), &[&compare[..], &more].concat())
    };
    let (code, _, err) = compare("0", "run.seeds=[1]");
    assert_eq!(code, 2, "{err}");
    for (repetitions, all) in [("1", 1), ("2", 3), ("0", 3)] {
        let (code, out, err) = compare(repetitions, "run.seeds=[1]");
        assert_eq!(code, 0, "{err}");
        let compared: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(compared["repetitions"], all);
        let figures = &compared["rows"][0]["throughput"]["repetitions"];
        assert_eq!(figures.as_array().unwrap().len(), all);
    }
    let (code, _, err) = compare("1", "workload.phases.0.operations=6");
    assert_eq!(code, 2);
    assert!(err.contains("another scenario"), "{err}");
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} {expected}");
}

const LONG: &str = "workload.phases.0.operations=1000000000";

/// A measurement that ends, in any way, leaves no server running.
#[test]
fn a_measurement_that_is_ended_takes_its_cluster_along() {
    let calibrate = &["calibrate", "--rounds", "1000", "--out", "m.toml"][..];
    let compare = &["compare", "tiny.toml", "--set", LONG];
    let set = ["cluster.store=disk", "machine.disk.byte_ns=1", LONG];
    let set = set.iter().flat_map(|setting| ["--set", setting]);
    let with_disk: Vec<&str> = ["compare", "tiny.toml"].into_iter().chain(set).collect();
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        for measurement in [calibrate, compare, &with_disk] {
            end_measurement(measurement, signal);
        }
    }
}

/// Starts a measurement, ends it as soon as its cluster is up, and waits until nothing of it is
/// left.
fn end_measurement(arguments: &[&str], signal: Signal) {
    let directory = directory();
    let mut measurement = std::process::Command::new(env!("CARGO_BIN_EXE_futago"))
        .current_dir(directory.path())
        .env("TMPDIR", directory.path())
        .env("XDG_RUNTIME_DIR", directory.path())
        .arg("twin")
        .args(arguments)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let name = format!("futago-measurement-{}.toml", measurement.id());
    let file = directory.path().join(name);
    let is_up = || {
        let status = futago().arg("status").arg("--cluster").arg(&file).output();
        status.unwrap().status.success()
    };
    while !is_up() {
        assert_eq!(measurement.try_wait().unwrap(), None, "{arguments:?}");
        std::thread::yield_now();
    }
    rustix::process::kill_process(Pid::from_child(&measurement), signal).unwrap();
    assert!(!measurement.wait().unwrap().success(), "{arguments:?}");
    // `up` removes what it has made, here, when the servers' processes are gone.
    while names(directory.path()) != ["tiny.toml"] {
        std::thread::yield_now();
    }
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}
