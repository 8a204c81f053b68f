//! The output of `futago des`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const EXECUTORS: [&str; 3] = ["sequential", "conservative", "optimistic"];

fn futago_des(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_futago-des"));
    command.args(arguments.split_whitespace());
    command
}

fn run(mut command: Command) -> Output {
    let output = command.output().expect("starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    output
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("was written");
    text.lines().map(str::to_owned).collect()
}

/// Runs the model with this executor and all observers of a run; returns its trace.
fn watched_trace(model: &str, executor: &str, threads: u32) -> Vec<String> {
    let name = model.split(' ').next().unwrap_or_default();
    let series = file(&format!("{name}-{executor}-{threads}.series"));
    let trace = file(&format!("{name}-{executor}-{threads}.trace"));
    let mut command = futago_des(model);
    command.args(["--executor", executor, "--threads", &threads.to_string()]);
    command
        .args(["--json", "--progress", "--series"])
        .arg(&series);
    command.arg("--trace").arg(&trace);
    let output = run(command);

    let statistics: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let committed = statistics["events_committed"].as_u64().expect("a number");
    let last = lines(&series).pop().expect("at least one sample");
    let last: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(last["events_committed"], committed, "{executor}");
    assert_eq!(last["gvt_s"], 20.0, "{executor}: the end of the run");
    assert_eq!(last["simulated_s"], 20.0, "{executor}");
    assert!(last["resident_bytes"].as_u64() > Some(0), "{executor}");
    let progress = String::from_utf8_lossy(&output.stderr);
    for part in [
        "100% at 20.000 s, GVT 20.000 s, ",
        " events/s, efficiency ",
        " %, ",
        "iB",
    ] {
        assert!(progress.contains(part), "{executor}: {progress}");
    }
    let trace = lines(&trace);
    assert_eq!(
        trace.len() as u64,
        committed + 1,
        "{executor}: events and a header"
    );
    trace
}

#[test]
fn a_watched_run_is_seen_to_its_end_and_leaves_the_same_trace() {
    for model in [
        "phold --lps 64 --end 20",
        "queueing --end 20",
        "chord --nodes 32 --lookup-every 1 --end 20",
    ] {
        let expected = watched_trace(model, "sequential", 1);
        for executor in EXECUTORS {
            for threads in [1, 2] {
                let found = watched_trace(model, executor, threads);
                assert!(found == expected, "{model}, {executor}, {threads} threads");
            }
        }
    }
}

#[test]
fn the_statistics_have_what_scripts_rely_on() {
    for executor in EXECUTORS {
        let mut command = futago_des(
            "phold --lps 64 --start-events 1 --lookahead 0.1 --mean 1.0 --remote 0.25 --end 20 \
             --threads 2 --seed 1 --json",
        );
        command.args(["--executor", executor]);
        let statistics: Value = serde_json::from_slice(&run(command).stdout).expect("JSON");
        for number in [
            "events_committed",
            "events_rolled_back",
            "events_per_s",
            "wall_s",
            "peak_rss_bytes",
            "gvt_rounds",
            "gvt_share",
            "queue_peak",
            "efficiency",
        ] {
            assert!(statistics[number].is_number(), "{executor}: {number}");
        }
        assert_eq!(statistics["digest"].as_str().map(str::len), Some(16));
        assert_eq!(statistics["hot_spots"].as_array().map(Vec::len), Some(5));
    }
}

#[test]
fn models_report_what_they_measured_beside_what_is_expected() {
    for (arguments, measured, expected, tolerance) in [
        (
            "queueing --end 2000 --json",
            "mean_wait_s",
            "expected_wait_s",
            0.2,
        ),
        (
            "chord --nodes 256 --end 200 --json",
            "mean_hops",
            "expected_hops",
            1.0,
        ),
    ] {
        let output = run(futago_des(arguments));
        let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let number = |name: &str| results["results"][name].as_f64().expect("a number");
        let difference = number(measured) - number(expected);
        assert!(
            difference.abs() < tolerance,
            "{arguments}: off by {difference}"
        );
    }
}

#[test]
fn invalid_arguments_are_named() {
    for (arguments, named) in [
        ("phold --lookahead 2 --mean 1", "--lookahead"),
        ("phold --remote 1.5", "--remote"),
        ("phold --end=-1", "--end"),
        ("phold --lps 0", "no processes"),
        ("phold --threads 0", "threads"),
        ("phold --memory-mib 1", "--memory-mib 1"),
        ("phold --end 1 --trace /nowhere/trace", "/nowhere/trace"),
        ("queueing --arrivals 2", "--arrivals"),
        ("chord --delay 0.001", "--delay"),
    ] {
        let output = futago_des(arguments).output().expect("starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {stderr}");
        assert!(stderr.contains(named), "{arguments}: {stderr}");
    }
}
