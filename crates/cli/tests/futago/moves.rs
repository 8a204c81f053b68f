//! Clusters that grow and shrink while programs work.

use crate::common::{Cluster, free_port, wait_for, write};
use crate::data::{check, connect, make, make_directories};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// How many servers each process has, as the servers say.
pub fn shares(cluster: &Cluster) -> BTreeMap<u64, usize> {
    let (code, status) = cluster.json(&["status"]);
    assert_eq!(code, 0, "{status}");
    let mut shares = BTreeMap::new();
    for row in status["servers"].as_array().unwrap() {
        assert_eq!(row["moving"], false, "{row}");
        assert_eq!(row["process"], row["counters"]["process"], "{row}");
        *shares.entry(row["process"].as_u64().unwrap()).or_default() += 1;
    }
    shares
}

/// The same, as a test expects them.
pub fn of(shares: &[(u64, usize)]) -> BTreeMap<u64, usize> {
    shares.iter().copied().collect()
}

/// Runs `change` while a client makes files, and checks all of them afterwards.
pub fn while_files_are_made(cluster: &Cluster, change: impl FnOnce()) {
    let files = connect(cluster);
    make_directories(&files);
    let (made, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let number = made.fetch_add(1, Ordering::Relaxed);
                make(&files, number).unwrap();
                check_some(&files, number);
            }
        });
        let _over = Over(&is_over);
        change();
    });
    let made = made.load(Ordering::Relaxed);
    println!("{made} files were made");
    check(&files, made);
    check(&connect(cluster), made);
    let (code, report) = cluster.json(&["fsck"]);
    assert_eq!(code, 0, "{report}");
}

/// Says that it is over, also if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads all files again now and then.
fn check_some(files: &futago_node::blocking::FileSystem, number: u64) {
    if number.is_multiple_of(64) {
        check(files, number);
    }
}

/// Kills a process.
pub fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // It may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// Grows a cluster.
pub fn grown(cluster: &Cluster, arguments: &[&str]) -> Value {
    let (code, report) = cluster.json(&[&["grow"], arguments].concat());
    assert_eq!(code, 0, "{report}");
    report
}

fn refused(cluster: &Cluster, arguments: &[&str]) -> String {
    let failed = cluster.command(arguments).assert().failure();
    String::from_utf8(failed.get_output().stderr.clone()).unwrap()
}

#[test]
fn programs_go_on_while_a_cluster_grows_and_shrinks() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--servers", "2", "--shards", "4", "--data", place]);
    while_files_are_made(&cluster, || {
        let report = grown(&cluster, &["--servers", "2"]);
        assert_eq!(report["started"], serde_json::json!([2, 3]));
        assert_eq!(report["moves"].as_array().unwrap().len(), 4);
        assert_eq!(shares(&cluster), of(&[(0, 2), (1, 2), (2, 2), (3, 2)]));
        // Server 0 is in process 0.
        let (code, report) = cluster.json(&["shrink", "--server", "0"]);
        assert_eq!((code, &report["ended"]), (0, &0.into()), "{report}");
        assert_eq!(shares(&cluster), of(&[(1, 3), (2, 3), (3, 2)]));
        for _ in 0..5 {
            grown(&cluster, &[]);
            let (code, report) = cluster.json(&["shrink", "--server", "7"]);
            assert_eq!(code, 0, "{report}");
        }
    });
    // The next life of the cluster has its data.
    cluster.command(&["down"]).assert().success();
    let again = ["--servers", "1", "--shards", "8", "--data", place];
    cluster.start(&again).success();
    check(&connect(&cluster), 10);
}

#[test]
fn servers_move_to_hosts_that_see_their_data() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let hosts = data.path().join("hosts");
    write(&hosts, b"127.0.0.1\n");
    let (port, other_port) = (free_port(), free_port());
    // It runs its arguments here, whatever the host, unless the host is gone.
    let script = data.path().join("launcher");
    write(
        &script,
        b"[ ! -e $0-$1-gone ] || exit 1; shift; exec \"$@\"\n",
    );
    let launcher = format!("sh {} {{host}}", script.display());
    let cluster = Cluster::up(&[
        "--launcher",
        &launcher,
        "--hosts",
        hosts.to_str().unwrap(),
        "--port",
        &port,
        "--shards",
        "4",
        "--data",
        place,
    ]);
    while_files_are_made(&cluster, || {
        for _ in 0..3 {
            grown(&cluster, &["--hosts", "127.0.0.2", "--port", &other_port]);
            let entry = cluster.load().servers[3].clone();
            let address = entry.address.to_string();
            assert!(address.starts_with("tcp:127.0.0.2:"), "{address}");
            assert_eq!(shares(&cluster), of(&[(0, 2), (1, 2)]));
            let (code, report) = cluster.json(&["shrink", "--server", "3"]);
            assert_eq!(code, 0, "{report}");
            assert_eq!(cluster.load().servers[3].host.as_deref(), Some("127.0.0.1"));
        }
        grown(&cluster, &["--hosts", "127.0.0.2", "--port", &other_port]);
        let gone = data.path().join("launcher-127.0.0.2-gone");
        write(&gone, b"");
        cluster.kill(3);
        let (code, report) = cluster.json(&["shrink", "--server", "3"]);
        assert_eq!(code, 0, "{report}");
        std::fs::remove_file(gone).unwrap();
    });
    std::fs::rename(data.path().join("server-3"), data.path().join("away")).unwrap();
    let error = refused(&cluster, &["grow", "--hosts", "127.0.0.2"]);
    assert!(
        error.contains("127.0.0.2: ") && error.contains("does not see"),
        "{error}"
    );
    std::fs::rename(data.path().join("away"), data.path().join("server-3")).unwrap();
}

#[test]
fn the_servers_of_a_dead_process_move_to_the_others() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--servers", "3", "--data", place]);
    while_files_are_made(&cluster, || {
        cluster.kill(1);
        let error = refused(&cluster, &["grow", "--servers", "0"]);
        assert!(error.contains("futago restart --server 1"), "{error}");
        let (code, report) = cluster.json(&["shrink", "--server", "1"]);
        assert_eq!(code, 0, "{report}");
        assert_eq!(shares(&cluster), of(&[(0, 2), (2, 1)]));
    });
}

#[test]
fn growth_that_was_interrupted_can_be_finished() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--servers", "2", "--shards", "3", "--data", place]);
    while_files_are_made(&cluster, || {
        for _ in 0..4 {
            let epoch = cluster.load().epoch;
            let mut growing = std::process::Command::new(env!("CARGO_BIN_EXE_futago"));
            growing.arg("grow").env("FUTAGO_CLUSTER", cluster.file());
            let mut growing = growing.spawn().unwrap();
            wait_for(|| cluster.load().epoch > epoch);
            growing.kill().unwrap();
            growing.wait().unwrap();
            // The process was started or not.
            restart_all(&cluster);
            let moved = cluster.load().servers_of_process(2)[0].0.to_string();
            let restarted = cluster.command(&["restart", "--server", &moved]).output();
            assert!([0, 5].contains(&restarted.unwrap().status.code().unwrap()));
            grown(&cluster, &["--servers", "0"]);
            assert_eq!(shares(&cluster), of(&[(0, 2), (1, 2), (2, 2)]));
            cluster
                .command(&["shrink", "--server", &moved])
                .assert()
                .success();
        }
    });
}

/// When a process is killed, and which one.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// One that has servers, when the cluster file says that some of them move.
    Announced,
    /// The new one, as soon as it is there.
    Started,
    /// The new one, when it has a server.
    Adopted,
}

impl Moment {
    /// The process to kill, once the moment has come.
    fn process(self, cluster: &Cluster, before: &futago_node::Cluster) -> Option<i32> {
        let number = if matches!(self, Self::Announced) {
            0
        } else {
            2
        };
        let directory = before.runtime_directory.as_ref().unwrap();
        let record = std::fs::read(directory.join(format!("server-{number}.process")));
        let record: Value = serde_json::from_slice(&record.ok()?).ok()?;
        let has_come = match self {
            Self::Announced => cluster.load().epoch > before.epoch,
            Self::Started => true,
            Self::Adopted => {
                let (_, status) = cluster.json(&["status", "--wait", "0.5"]);
                let mut rows = status["servers"].as_array().unwrap().iter();
                rows.any(|row| row["counters"]["process"] == 2)
            }
        };
        has_come.then(|| record["pid"].as_i64().unwrap() as i32)
    }
}

/// Starts all processes again that have servers which do not answer.
pub fn restart_all(cluster: &Cluster) {
    loop {
        let (_, status) = cluster.json(&["status"]);
        let mut rows = status["servers"].as_array().unwrap().iter();
        let Some(row) = rows.find(|row| row["up"] == false) else {
            return;
        };
        let number = row["server"].to_string();
        let restart = ["restart", "--server", &number, "--force"];
        cluster.command(&restart).assert().success();
    }
}

#[test]
fn a_process_that_is_killed_while_the_cluster_grows_loses_nothing() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--servers", "2", "--shards", "3", "--data", place]);
    while_files_are_made(&cluster, || {
        for moment in [Moment::Announced, Moment::Started, Moment::Adopted] {
            let before = cluster.load();
            let mut growing = cluster.command(&["grow", "--wait", "3"]);
            let growth = thread::spawn(move || growing.output().unwrap());
            let mut pid = None;
            wait_for(|| {
                pid = moment.process(&cluster, &before);
                pid.is_some()
            });
            kill(pid.unwrap());
            growth.join().unwrap();
            restart_all(&cluster);
            if cluster.load().servers_of_process(2).is_empty() {
                grown(&cluster, &[]);
            }
            assert_eq!(
                shares(&cluster),
                of(&[(0, 2), (1, 2), (2, 2)]),
                "{moment:?}"
            );
            let last = cluster.load().servers_of_process(2)[0].0.to_string();
            cluster
                .command(&["shrink", "--server", &last])
                .assert()
                .success();
        }
    });
}

#[test]
fn growth_that_cannot_work_is_refused() {
    let cluster = Cluster::up(&["--shards", "2"]);
    let error = refused(&cluster, &["grow"]);
    assert!(error.contains("futago up --data"), "{error}");
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--servers", "2", "--data", place]);
    let error = refused(&cluster, &["grow"]);
    let expected = "3 processes cannot share the 2 servers of this cluster";
    assert!(
        error.contains(expected) && error.contains("--shards"),
        "{error}"
    );
    cluster
        .command(&["shrink", "--server", "1"])
        .assert()
        .success();
    let error = refused(&cluster, &["shrink", "--server", "1"]);
    assert!(error.contains("last process"), "{error}");
    let error = refused(&cluster, &["shrink", "--server", "2"]);
    assert!(error.contains("there is no server 2"), "{error}");
}

#[test]
fn processes_that_do_not_start_leave_all_as_it_was() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let cluster = Cluster::up(&["--shards", "4", "--data", place]);
    let files = connect(&cluster);
    make_directories(&files);
    make(&files, 0).unwrap();
    // New processes are started as process 0 was: with a program that is none here.
    let before = cluster.load();
    let started = cluster.path("not-a-program");
    std::fs::write(&started, b"").unwrap();
    let directory = before.runtime_directory.clone().unwrap();
    let note = directory.join("server-0.command");
    let text = std::fs::read_to_string(&note).unwrap();
    let program = env!("CARGO_BIN_EXE_futago").as_bytes();
    let spoilt = text.replace(
        &serde_json::to_string(program).unwrap(),
        &serde_json::to_string(started.to_str().unwrap().as_bytes()).unwrap(),
    );
    assert_ne!(spoilt, text);
    std::fs::write(&note, spoilt).unwrap();
    let error = refused(&cluster, &["grow"]);
    assert!(error.contains("stay where they were"), "{error}");
    assert_eq!(cluster.load().servers, before.servers);
    assert_eq!(shares(&cluster), of(&[(0, 4)]));
    check(&files, 1);
}
