//! Since when a server is down, and why.

use crate::common::{Cluster, free_port, wait_for, write};
use crate::data::{NEW, connect, make, make_directories};
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The row of a server that is down, in a status that says so.
fn down(cluster: &Cluster, server: usize) -> Value {
    let (code, status) = cluster.json(&["status"]);
    assert_eq!(code, 1, "{status}");
    let row = status["servers"][server].clone();
    assert_eq!((&row["up"], &row["since"]), (&false.into(), &Value::Null));
    row["down"].clone()
}

fn reason(down: &Value) -> &str {
    down["reason"].as_str().unwrap()
}

fn time(text: &Value) -> Timestamp {
    text.as_str().unwrap().parse().unwrap()
}

/// That a server has ended between two times, of which the first may be a sign of life earlier.
fn assert_since(down: &Value, after: Timestamp) {
    let since = time(&down["since"]);
    let earliest = after - SignedDuration::from_secs(3);
    assert!(earliest <= since && since <= Timestamp::now(), "{down}");
}

#[test]
fn the_time_and_the_cause_of_a_kill_are_known() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let (_, status) = cluster.json(&["status"]);
    let row = &status["servers"][1];
    assert_eq!(row["down"], Value::Null);
    assert!(time(&row["since"]) <= Timestamp::now());
    let pid = cluster.process_id(1).to_string();
    let before = Timestamp::now();
    cluster.kill(1);
    let found = down(&cluster, 1);
    assert_since(&found, before);
    assert!(reason(&found).contains(&pid), "{found}");
    assert!(reason(&found).contains("killed"), "{found}");
    // The time is that of the end, to the millisecond, and not that of the question.
    assert_eq!(down(&cluster, 1), found);
    let printed = cluster.command(&["status"]).assert().code(1);
    let printed = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
    let line = format!("down since {}: ", found["since"].as_str().unwrap());
    assert!(printed.contains(&line), "{printed}");
}

#[test]
fn a_server_that_was_asked_to_end_or_is_stopped_is_no_mystery() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let signal = |server: usize, signal| {
        let pid = Pid::from_raw(cluster.process_id(server)).unwrap();
        kill_process(pid, signal).unwrap();
        pid
    };
    let stopped = signal(0, Signal::STOP);
    let before = Timestamp::now();
    let found = down(&cluster, 0);
    assert_since(&found, before);
    assert!(reason(&found).contains("stopped"), "{found}");
    kill_process(stopped, Signal::CONT).unwrap();
    wait_for(|| cluster.json(&["status"]).0 == 0);
    let before = Timestamp::now();
    signal(1, Signal::TERM);
    wait_for(|| cluster.json(&["status"]).0 == 1);
    let found = down(&cluster, 1);
    assert_since(&found, before);
    assert!(reason(&found).contains("without an error"), "{found}");
}

/// A byte within the first entry of the log becomes another.
fn damage(server: &std::path::Path) {
    let files = std::fs::read_dir(server).unwrap().flatten();
    let logs = files.filter(|file| {
        std::fs::read(file.path())
            .unwrap()
            .starts_with(b"FTGOLOG\n")
    });
    for log in logs {
        let mut bytes = std::fs::read(log.path()).unwrap();
        bytes[60] ^= 1;
        write(&log.path(), &bytes);
    }
}

#[test]
fn a_damaged_log_is_named() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--servers", "2", "--data", place]);
    let files = connect(&cluster);
    make_directories(&files);
    (0..40).for_each(|number| make(&files, number).unwrap());
    cluster.kill(1);
    damage(&data.path().join("server-1"));
    let before = Timestamp::now();
    let restart = ["restart", "--server", "1"];
    cluster.command(&restart).assert().failure();
    let found = down(&cluster, 1);
    assert_since(&found, before);
    assert!(reason(&found).contains("is damaged at byte"), "{found}");
}

#[test]
fn a_store_that_fails_is_named() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--give-up", "2", "--data", place]);
    let files = connect(&cluster);
    // The first data makes a file, and its directory is gone.
    std::fs::remove_dir_all(data.path().join("server-0")).unwrap();
    let before = Timestamp::now();
    let file = files.open(b"/f", NEW).unwrap();
    let _ = file.write_at(0, vec![1; 2 << 20].into());
    let _ = file.close();
    let found = down(&cluster, 0);
    assert_since(&found, before);
    let reason = reason(&found);
    assert!(reason.contains("the server ends: making"), "{found}");
    assert!(reason.contains("No such file"), "{found}");
}

#[test]
fn a_host_that_does_not_answer_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let hosts = scratch.path().join("hosts");
    write(&hosts, b"127.0.0.1\n127.0.0.2\n");
    // It runs its arguments here, whatever the host, unless the host is gone.
    let script = scratch.path().join("launcher");
    write(
        &script,
        b"[ ! -e $0-$1-gone ] || exit 1; shift; exec \"$@\"\n",
    );
    let launcher = format!("sh {} {{host}}", script.display());
    let arguments = ["--launcher", &launcher, "--port", &free_port(), "--hosts"];
    let cluster = Cluster::up(&[&arguments[..], &[hosts.to_str().unwrap()]].concat());
    let before = Timestamp::now();
    cluster.kill(1);
    let found = down(&cluster, 1);
    assert_since(&found, before);
    assert!(reason(&found).contains("killed"), "{found}");
    let gone = scratch.path().join("launcher-127.0.0.2-gone");
    write(&gone, b"");
    let found = down(&cluster, 1);
    let expected = "host 127.0.0.2 does not answer";
    assert!(reason(&found).contains(expected), "{found}");
    std::fs::remove_file(gone).unwrap();
}
