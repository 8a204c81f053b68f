//! Benchmarks count what they do and check what they read.

use crate::common::Cluster;
use serde_json::Value;

fn phases(report: &Value) -> Vec<&str> {
    report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| phase["name"].as_str().unwrap())
        .collect()
}

#[test]
fn metadata_operations_ask_a_server_each() {
    let cluster = Cluster::up(&["--servers", "2"]);
    for more in [&[][..], &["--shared-dir", "--in-flight", "4"]] {
        let arguments = [
            &["bench", "metadata", "--clients", "2", "--files", "50"],
            more,
        ]
        .concat();
        let (code, report) = cluster.json(&arguments);
        assert_eq!(code, 0);
        assert_eq!(phases(&report), ["create", "stat", "read", "unlink"]);
        for phase in report["phases"].as_array().unwrap() {
            assert_eq!(phase["ops"], 100);
            let requests = phase["server_requests"].as_u64().unwrap();
            assert!(requests >= 100, "{phase}");
            for field in [
                "ops_per_s",
                "mib_per_s",
                "p50_us",
                "p99_us",
                "client_cpu_us_per_op",
                "server_cpu_us_per_op",
                "server_busy_us_per_op",
            ] {
                assert!(phase[field].is_number(), "{field} in {phase}");
            }
        }
    }
    assert_eq!(cluster.json(&["ls"]).1, Value::Array(Vec::new()));
}

#[test]
fn io_reads_what_the_other_client_wrote() {
    let cluster = Cluster::up(&["--servers", "2"]);
    for more in [
        &["--size", "3MiB"][..],
        &["--size", "3MiB", "--shared-file", "--random"],
        &["--size", "3MiB", "--transfer", "47008", "--shared-file"],
        &["--size", "20MB", "--transfer", "9MB"],
    ] {
        let arguments = [&["bench", "io", "--clients", "2"], more].concat();
        let (code, report) = cluster.json(&arguments);
        assert_eq!(code, 0, "{report}");
        assert_eq!(phases(&report), ["write", "read"]);
    }
}

#[test]
fn a_run_leaves_no_file_behind_that_a_client_has_open() {
    let cluster = Cluster::up(&["--servers", "1"]);
    let (code, _) = cluster.json(&["bench", "io", "--clients", "2", "--size", "1MiB"]);
    assert_eq!(code, 0);
    let (_, rows) = cluster.json(&["df"]);
    let total = rows.as_array().unwrap().last().unwrap();
    assert_eq!(total["files"], 1, "only the root is left: {rows}");
}

#[test]
fn a_directory_is_measured_without_a_cluster() {
    let directory = tempfile::tempdir().unwrap();
    for kind in [["metadata", "--files", "10"], ["io", "--size", "1MiB"]] {
        let output = crate::common::futago()
            .arg("bench")
            .args(kind)
            .arg("--json")
            .arg("--path")
            .arg(directory.path())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["phases"][0]["server_requests"], Value::Null);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn other_directories_are_measured_interleaved_with_a_cluster() {
    let cluster = Cluster::up(&["--servers", "1"]);
    let directory = tempfile::tempdir().unwrap();
    let beside = |name| format!("{name}={}", directory.path().display());
    let (one, other) = (beside("one"), beside("other"));
    for kind in [["metadata", "--files", "10"], ["io", "--size", "1MiB"]] {
        let arguments = [
            &["bench"][..],
            &kind,
            &["--rounds", "3", "--beside", &one, "--beside", &other],
        ];
        let (code, report) = cluster.json(&arguments.concat());
        assert_eq!(code, 0, "{report}");
        let rate = |report: &Value| report["phases"][0]["ops_per_s"].as_f64().unwrap();
        let names = report["beside"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|beside| &beside["name"]).collect();
        assert_eq!(names, ["one", "other"]);
        for beside in report["beside"].as_array().unwrap() {
            assert_eq!(phases(beside), phases(&report));
            let first = &beside["phases"][0];
            let ratio = first["ratio"].as_f64().unwrap();
            assert!((ratio * rate(beside) / rate(&report) - 1.0).abs() < 1e-9);
            assert_eq!(first["rounds_ops_per_s"].as_array().unwrap().len(), 3);
        }
        assert_eq!(report["phases"][0]["ratio"], Value::Null);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(cluster.json(&["ls"]).1, Value::Array(Vec::new()));
}

/// Phases end at these limits, all but the random reads, which last for the stonewall of a second.
const SHORT_IO500: [&str; 10] = [
    "bench",
    "io500",
    "--clients",
    "2",
    "--stonewall",
    "1",
    "--limit-files",
    "120",
    "--limit-size",
    "5MiB",
];

#[track_caller]
fn check_io500(report: &Value) {
    assert_eq!(report["valid"], false, "{report}");
    let names = phases(report);
    assert_eq!(names.len(), 13);
    assert_eq!(names[..2], ["ior-easy-write", "mdtest-easy-write"]);
    assert_eq!(names[12], "ior-rnd4K-easy-read");
    for phase in report["phases"].as_array().unwrap() {
        let name = phase["name"].as_str().unwrap();
        assert!(phase["value"].as_f64().unwrap() > 0.0, "{phase}");
        let unit = if name.starts_with("ior") {
            "GiB/s"
        } else {
            "kIOPS"
        };
        assert_eq!(phase["unit"], unit);
        let is_short = !phase["invalid"].as_array().unwrap().is_empty();
        assert_eq!(is_short, name.ends_with("write"), "{phase}");
    }
    assert_eq!(report["phases"][1]["operations"], 240);
    assert_eq!(report["phases"][2]["operations"], 2 * 111);
    for score in ["bandwidth", "metadata", "total"] {
        assert!(report["score"][score].as_f64().unwrap() > 0.0, "{report}");
    }
}

#[test]
fn all_phases_of_io500_run_and_a_short_run_is_not_valid() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let results = tempfile::tempdir().unwrap();
    let out = results.path().join("out");
    for more in [&["--out", out.to_str().unwrap()][..], &["--leases"]] {
        let (code, report) = cluster.json(&[&SHORT_IO500, more].concat());
        assert_eq!(code, 0, "{report}");
        check_io500(&report);
    }
    let text = std::fs::read_to_string(out.join("result.txt")).unwrap();
    assert!(text.contains("\n[mdtest-hard-delete]\n"), "{text}");
    assert!(text.trim_end().ends_with("[INVALID]"), "{text}");
    let text = std::fs::read_to_string(out.join("result_summary.txt")).unwrap();
    assert_eq!(text.matches(" [INVALID]\n").count(), 5, "{text}");
    assert_eq!(cluster.json(&["ls"]).1, Value::Array(Vec::new()));
}

#[test]
fn io500_measures_a_directory_without_a_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let output = crate::common::futago()
        .args(SHORT_IO500)
        .arg("--json")
        .arg("--path")
        .arg(directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    check_io500(&serde_json::from_slice(&output.stdout).unwrap());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn io500_names_the_phase_and_the_client_that_fail() {
    let cluster = Cluster::up(&["--servers", "1"]);
    // The memory of the server is a quarter of it.
    let arguments = [&SHORT_IO500[..8], &["--limit-size", "1GiB"]].concat();
    let output = cluster.command(&arguments).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("ior-easy-write"), "{message}");
    assert!(message.contains("client"), "{message}");
    assert!(message.contains("no space left"), "{message}");
}
