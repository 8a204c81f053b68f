//! A cluster begins with a directory, and writes changes back to it.

use crate::common::{Cluster, TemporaryDisk, wait_for, write};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A cluster with a directory of one file behind it.
fn up(policy: &str) -> (Cluster, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let slow = directory.path().join("slow");
    fs::create_dir(&slow).unwrap();
    write(&slow.join("before"), b"before");
    write(&slow.join("unread"), b"unread");
    let cluster = Cluster { directory };
    let arguments = [
        "--servers",
        "2",
        "--backing",
        text(&slow),
        "--flush",
        policy,
    ];
    cluster.start(&arguments).success();
    (cluster, slow)
}

fn put(cluster: &Cluster, name: &str, contents: &str) {
    let mut put = cluster.command(&["put", "-", name]);
    put.write_stdin(contents).assert().success();
}

#[test]
fn changes_are_in_the_directory_after_a_flush() {
    let (cluster, slow) = up("none");
    cluster
        .command(&["cat", "/before"])
        .assert()
        .stdout("before");
    put(&cluster, "/new", "new");
    let (_, status) = cluster.json(&["status"]);
    assert_eq!(status["backing"]["unflushed_bytes"], 3, "{status}");
    assert!(!slow.join("new").exists());
    cluster.command(&["rm", "/before"]).assert().success();
    let (code, report) = cluster.json(&["flush"]);
    assert_eq!((code, &report["complete"]), (0, &true.into()), "{report}");
    assert_eq!(fs::read(slow.join("new")).unwrap(), b"new");
    assert!(!slow.join("before").exists());
    let (code, status) = cluster.json(&["status"]);
    assert_eq!(
        (code, &status["backing"]["unflushed_files"]),
        (0, &0.into()),
        "{status}"
    );
}

#[test]
fn policies_write_back_without_a_request_and_down_does_the_rest() {
    let (cluster, slow) = up("close");
    put(&cluster, "/soon", "soon");
    wait_for(|| slow.join("soon").exists());
    put(&cluster, "/late", "late");
    let (code, ended) = cluster.json(&["down"]);
    assert_eq!((code, &ended["killed"]), (0, &serde_json::json!([])));
    assert_eq!(fs::read(slow.join("late")).unwrap(), b"late");
    assert!(!cluster.file().exists());
}

#[test]
fn down_refuses_to_lose_changes() {
    let (cluster, slow) = up("interval=3600");
    put(&cluster, "/before", "by a program");
    write(&slow.join("before"), b"by others");
    let refused = cluster.command(&["down"]).assert().code(1);
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        error.contains("slow/before") && error.contains("--discard"),
        "{error}"
    );
    cluster.command(&["flush"]).assert().code(1);
    let (code, status) = cluster.json(&["status"]);
    assert_eq!(code, 1, "{status}");
    assert!(status["backing"]["error"].is_string(), "{status}");
    cluster.command(&["down", "--discard"]).assert().success();
    assert_eq!(fs::read(slow.join("before")).unwrap(), b"by others");
}

#[test]
fn data_is_loaded_when_a_program_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let slow = directory.path().join("slow");
    fs::create_dir(&slow).unwrap();
    for number in 0..20 {
        write(
            &slow.join(format!("file{number}")),
            "data".repeat(number + 1).as_bytes(),
        );
    }
    let cluster = Cluster { directory };
    cluster
        .start(&[
            "--servers",
            "3",
            "--backing",
            text(&slow),
            "--flush",
            "none",
        ])
        .success();
    let (_, status) = cluster.json(&["status"]);
    assert_eq!(status["backing"]["unloaded_files"], 20, "{status}");
    let mut cat = cluster.command(&["cat", "/file3"]);
    cat.assert().success().stdout("data".repeat(4));
    fs::remove_file(slow.join("file7")).unwrap();
    cluster.command(&["cat", "/file7"]).assert().failure();
    let (code, status) = cluster.json(&["status"]);
    let error = status["backing"]["error"].as_str().unwrap();
    assert!(code == 1 && error.contains("file7"), "{status}");
    let out = cluster.path("out");
    fs::write(slow.join("file7"), "by others").unwrap();
    assert_eq!(cluster.json(&["stage", "out", "/", text(&out)]).0, 1);
    for number in (0..20).filter(|number| *number != 7) {
        let copied = fs::read_to_string(out.join(format!("file{number}"))).unwrap();
        assert_eq!(copied, "data".repeat(number + 1));
    }
    assert!(!out.join("file7").exists(), "no file without its data");
}

/// The agent's process, from the record of the cluster.
fn agent(cluster: &Cluster) -> Pid {
    let directory = cluster.load().runtime_directory.unwrap();
    let record = fs::read(directory.join("backing-0.process")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    Pid::from_raw(record["pid"].as_i64().unwrap() as i32).unwrap()
}

#[test]
fn an_agent_that_was_killed_is_noticed_and_started_again() {
    let (cluster, slow) = up("interval=3600");
    put(&cluster, "/new", "new");
    kill_process(agent(&cluster), Signal::KILL).unwrap();
    wait_for(|| cluster.json(&["status"]).0 == 1);
    let (_, status) = cluster.json(&["status"]);
    assert!(status["backing"]["unflushed_files"].is_null(), "{status}");
    fs::remove_file(slow.join("before")).unwrap();
    write(&slow.join("before"), b"by others");
    assert_eq!(cluster.json(&["flush"]).0, 0);
    assert_eq!(fs::read(slow.join("new")).unwrap(), b"new");
    assert_eq!(fs::read(slow.join("before")).unwrap(), b"by others");
    let mut cat = cluster.command(&["cat", "/unread"]);
    cat.assert().success().stdout("unread");
}

#[test]
fn files_of_a_restarted_server_stay_in_the_directory() {
    let (cluster, slow) = up("interval=3600");
    let tree = cluster.path("tree");
    crate::common::spread(&tree);
    assert_eq!(cluster.json(&["put", "-r", text(&tree), "/"]).0, 0);
    assert_eq!(cluster.json(&["flush"]).0, 0);
    cluster.kill(1);
    cluster
        .command(&["restart", "--server", "1"])
        .assert()
        .success();
    let refused = cluster.command(&["flush"]).assert().code(4);
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(error.contains("restarted"), "{error}");
    cluster.command(&["down"]).assert().code(1);
    assert_eq!(fs::read_dir(slow.join("tree")).unwrap().count(), 16);
    for directory in fs::read_dir(slow.join("tree")).unwrap().flatten() {
        assert_eq!(fs::read(directory.path().join("file")).unwrap(), b"data");
    }
}

/// As root: a file system that is too small for what is to be written back.
#[test]
fn a_full_directory_is_named_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let slow = directory.path().join("slow");
    fs::create_dir(&slow).unwrap();
    let Some(disk) = TemporaryDisk::mount(&slow, "1m") else {
        return;
    };
    let cluster = Cluster {
        directory: tempfile::tempdir().unwrap(),
    };
    cluster
        .start(&["--backing", text(&slow), "--flush", "none"])
        .success();
    put(&cluster, "/large", &"x".repeat(3 << 20));
    let (code, report) = cluster.json(&["flush"]);
    assert_eq!(code, 1, "{report}");
    let failure = report["failures"][0].as_str().unwrap();
    assert!(failure.contains("No space left"), "{report}");
    assert_eq!(fs::read_dir(&slow).unwrap().count(), 0);
    disk.remount("ro");
    let (code, report) = cluster.json(&["flush"]);
    assert_eq!(code, 1, "{report}");
    disk.remount("rw,size=8m");
    assert_eq!(cluster.json(&["flush"]).0, 0);
    assert_eq!(fs::metadata(slow.join("large")).unwrap().len(), 3 << 20);
    cluster.command(&["down"]).assert().success();
}
