//! Runs are recorded, at a mount and in the library, and done again in the twin and on a real
//! cluster.

use crate::common::{Cluster, futago, write};
use futago_node::{
    Options, Recorder,
    blocking::{FileSystem, OpenOptions},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    thread,
};

/// How many operations of a kind succeeded and how many failed, by error.
type Counts = (u64, BTreeMap<String, u64>);

struct Recorded {
    counts: BTreeMap<String, Counts>,
    processes: BTreeSet<u64>,
    existing: Vec<Value>,
    ending: Value,
}

fn read(file: &Path) -> Recorded {
    let text = fs::read_to_string(file).unwrap();
    let mut recorded = Recorded {
        counts: BTreeMap::new(),
        processes: BTreeSet::new(),
        existing: Vec::new(),
        ending: Value::Null,
    };
    for line in text.lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(existing) = line.get("exists") {
            recorded.existing.push(existing.clone());
        } else if let Some(end) = line.get("end") {
            recorded.ending = end.clone();
        } else {
            let kind = line["operation"].as_object().unwrap().keys().next();
            let counts = recorded.counts.entry(kind.unwrap().clone()).or_default();
            match line.get("error") {
                None => counts.0 += 1,
                Some(errno) => {
                    *counts
                        .1
                        .entry(errno.as_str().unwrap().to_owned())
                        .or_default() += 1;
                }
            }
            recorded.processes.insert(line["process"].as_u64().unwrap());
        }
    }
    recorded
}

/// The work of two threads: all kinds of operations.
fn use_files(mount: &Path) {
    assert_eq!(fs::read(mount.join("input/data")).unwrap(), [7; 10_000]);
    fs::create_dir(mount.join("output")).unwrap();
    let result = mount.join("output/result");
    fs::write(&result, [1; 5000]).unwrap();
    let mut log = fs::File::options().append(true).open(&result).unwrap();
    log.write_all(b"more").unwrap();
    log.set_len(3000).unwrap();
    drop(log);
    fs::rename(&result, mount.join("output/final")).unwrap();
    fs::hard_link(mount.join("output/final"), mount.join("again")).unwrap();
    symlink("output/final", mount.join("link")).unwrap();
    fs::read_link(mount.join("link")).unwrap();
    fs::metadata(mount.join("missing")).unwrap_err();
    fs::create_dir(mount.join("output")).unwrap_err();
    fs::remove_dir(mount.join("output")).unwrap_err();
    fs::copy(mount.join("input/data"), mount.join("copy")).unwrap();
    assert_eq!(fs::read_dir(mount).unwrap().count(), 5);
    fs::remove_file(mount.join("again")).unwrap();
    let other = || assert_eq!(fs::read(mount.join("input/data")).unwrap().len(), 10_000);
    thread::scope(|scope| scope.spawn(other).join().unwrap());
}

/// Records [`use_files`] at a mount; `None` where nothing can be mounted.
fn record(directory: &Path) -> Option<Recorded> {
    if !Path::new("/dev/fuse").exists() {
        println!("skipped: /dev/fuse is missing");
        return None;
    }
    let cluster = Cluster::up(&["--servers", "2"]);
    write(&cluster.path("data"), &[7; 10_000]);
    let (data, mount) = (cluster.path("data"), cluster.path("mount"));
    fs::create_dir(&mount).unwrap();
    let mount_text = mount.to_str().unwrap();
    cluster.command(&["mount", mount_text]).assert().success();
    fs::create_dir(mount.join("input")).unwrap();
    cluster.command(&["umount", mount_text]).assert().success();
    let put = ["put", data.to_str().unwrap(), "/input/data"];
    cluster.command(&put).assert().success();
    let trace = directory.join("trace.jsonl");
    let record = ["mount", mount_text, "--record", "trace.jsonl"];
    let mut mounting = cluster.command(&record);
    mounting.current_dir(directory).assert().success();
    use_files(&mount);
    cluster.command(&["down"]).assert().success();
    Some(read(&trace))
}

fn write_scenario(directory: &Path, processes: usize) {
    let text = format!(
        r#"
description = "a recorded run"
cluster = {{ servers = 2, clients = {processes} }}
machine.preset = "ideal"
[[workload.phases]]
name = "again"
trace = "trace.jsonl"
directory = "/"
"#
    );
    write(&directory.join("again.toml"), text.as_bytes());
}

fn run(directory: &Path, command: &str) -> Value {
    let mut futago = futago();
    futago.args(["twin", command, "again.toml", "--json"]);
    let output = futago.current_dir(directory).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn counts(count: &Value, errors: &Value) -> Counts {
    let errors = serde_json::from_value(errors.clone()).unwrap();
    (count.as_u64().unwrap(), errors)
}

/// Whether what [`use_files`] did is there, and what it found.
fn check_recorded(recorded: &Recorded) {
    let counts = recorded.counts.values();
    let total: u64 = counts
        .map(|(count, errors)| count + errors.values().sum::<u64>())
        .sum();
    assert_eq!(recorded.ending["operations"], total);
    assert_eq!(recorded.ending["left_out"], 0);
    let existing = recorded.existing.iter();
    let names: Vec<&str> = existing.map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["input", "data"]);
    assert_eq!(recorded.existing[1]["kind"]["file"]["size"], 10_000);
    for kind in [
        "append",
        "close",
        "create",
        "link",
        "make-directory",
        "open",
        "read",
        "read-directory",
        "read-link",
        "rename",
        "set-attributes",
        "stat",
        "symlink",
        "unlink",
        "write",
    ] {
        assert!(recorded.counts[kind].0 > 0, "{kind}: {:?}", recorded.counts);
    }
    assert!(recorded.counts["stat"].1["ENOENT"] >= 1);
    assert_eq!(recorded.counts["remove-directory"].1["ENOTEMPTY"], 1);
}

/// Replays a run in both worlds, where it ends as it did.
fn check_replayed(directory: &Path, recorded: &Recorded) {
    write_scenario(directory, recorded.processes.len());
    let simulated = run(directory, "run");
    let operations = &simulated["points"][0]["phases"][0]["operations"];
    let compared = run(directory, "compare");
    let rows = compared["rows"].as_array().unwrap();
    for (kind, expected) in &recorded.counts {
        let operation = &operations[kind];
        let counted = counts(&operation["count"], &operation["errors"]);
        assert_eq!(counted, *expected, "{kind}");
        let row = rows.iter().find(|row| row["operation"] == **kind).unwrap();
        for world in ["real", "twin"] {
            let counted = counts(&row["count"][world], &row["errors"][world]);
            assert_eq!(counted, *expected, "{kind} in the {world} world");
        }
    }
}

#[test]
fn a_run_at_a_mount_is_the_same_in_both_worlds() {
    let directory = tempfile::tempdir().unwrap();
    let Some(recorded) = record(directory.path()) else {
        return;
    };
    check_recorded(&recorded);
    check_replayed(directory.path(), &recorded);
}

const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// Paths, symbolic links on the way, files that nobody looked at, and a file that another thread
/// closes.
fn use_library(files: &FileSystem) {
    files.create_directory(b"/d", 0o755).unwrap();
    files.create_directory(b"/input", 0o755).unwrap_err();
    files.symlink(b"d", b"/way").unwrap();
    let file = files.open(b"/d/f", NEW).unwrap();
    file.write_at(3, vec![1; 5 << 20].into()).unwrap();
    file.append(vec![2; 100].into()).unwrap();
    file.set_size(7).unwrap();
    drop(file);
    files.rename(b"/input/old", b"/input/new").unwrap();
    files.remove_file(b"/input/gone").unwrap();
    files
        .open(b"/input/none", OpenOptions::default())
        .err()
        .unwrap();
    let data = files.open(b"/input/data", OpenOptions::default()).unwrap();
    assert_eq!(data.read_at(0, 20_000).unwrap().len(), 10_000);
    data.close().unwrap();
    assert_eq!(files.read_directory(b"/input").unwrap().len(), 2);
    files.read_link(b"/way").unwrap();
    assert_eq!(files.metadata(b"/way/f", true).unwrap().size, 7);
    assert_eq!(files.metadata(b"/input/new", true).unwrap().size, 10_000);
}

#[test]
fn a_run_of_the_library_is_the_same_in_both_worlds() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let cluster = Cluster::up(&["--servers", "3"]);
    write(&cluster.path("data"), &[7; 10_000]);
    let before = FileSystem::connect(&cluster.load(), Options::default()).unwrap();
    before.create_directory(b"/input", 0o755).unwrap();
    for name in ["old", "gone", "data"] {
        let data = cluster.path("data");
        let put = ["put", data.to_str().unwrap(), &format!("/input/{name}")];
        cluster.command(&put).assert().success();
    }
    let trace = directory.join("trace.jsonl");
    let recorder = Recorder::create(&trace).unwrap();
    let options = Options {
        recorder: Some(recorder.clone()),
        ..Options::default()
    };
    let files = FileSystem::connect(&cluster.load(), options).unwrap();
    use_library(&files);
    drop(files);
    recorder.end().unwrap();
    let recorded = read(&trace);
    assert_eq!(recorded.processes.len(), 1);
    assert_eq!(recorded.counts["write"].0, 1);
    assert_eq!(recorded.counts["close"].0, 2);
    assert_eq!(recorded.counts["make-directory"].1["EEXIST"], 1);
    check_replayed(directory, &recorded);
}

#[test]
fn a_recording_that_cannot_begin_mounts_nothing() {
    let cluster = Cluster::up(&["--servers", "1"]);
    let mount = cluster.path("mount");
    fs::create_dir(&mount).unwrap();
    let mount = mount.to_str().unwrap();
    for (file, reason) in [
        ("/nowhere/trace.jsonl", "No such file or directory"),
        ("/dev/full", "No space left on device"),
    ] {
        let output = cluster
            .command(&["mount", mount, "--record", file])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{errors}");
        let expected = format!("cannot record to {file}: {reason}");
        assert!(errors.contains(&expected), "{errors}");
    }
    if Path::new("/dev/fuse").exists() {
        cluster.command(&["mount", mount]).assert().success();
        cluster.command(&["umount", mount]).assert().success();
    }
}
