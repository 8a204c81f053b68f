//! Servers that keep what they have: killed, they come back, and programs go on.

use crate::common::{Cluster, TemporaryDisk};
use futago_node::{
    Options,
    blocking::{FileSystem, OpenOptions},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io,
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// How a new file is opened.
pub const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// A client with leases.
pub fn connect(cluster: &Cluster) -> FileSystem {
    let options = Options {
        leases: true,
        ..Options::default()
    };
    FileSystem::connect(&cluster.load(), options).unwrap()
}

fn text(number: u64) -> Vec<u8> {
    format!("{number} ")
        .repeat(number as usize % 300 + 1)
        .into()
}

/// Makes a file, and moves it to another name.
pub fn make(files: &FileSystem, number: u64) -> io::Result<()> {
    let (before, path) = (
        format!("/new{number}"),
        format!("/d{}/f{number}", number % 8),
    );
    let file = files.open(before.as_bytes(), NEW)?;
    file.write_at(0, text(number).into())?;
    file.close()?;
    files.rename(before.as_bytes(), path.as_bytes())
}

/// Checks all files up to a number.
pub fn check(files: &FileSystem, count: u64) {
    for number in 0..count {
        let path = format!("/d{}/f{number}", number % 8);
        let file = files.open(path.as_bytes(), OpenOptions::default()).unwrap();
        let found = file.read_at(0, 1 << 16).unwrap();
        assert_eq!(found.to_vec(), text(number), "{path}");
    }
}

/// The directories of the files.
pub fn make_directories(files: &FileSystem) {
    for number in 0..8 {
        let path = format!("/d{number}");
        files.create_directory(path.as_bytes(), 0o755).unwrap();
    }
}

#[test]
fn programs_go_on_when_killed_servers_come_back() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().join("state");
    let cluster = Cluster::up(&["--servers", "2", "--data", place.to_str().unwrap()]);
    let mode = place.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
    let files = connect(&cluster);
    make_directories(&files);
    let is_over = AtomicBool::new(false);
    let made = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let unfinished = (0..).find(|&number| {
                make(&files, number).unwrap();
                is_over.load(Ordering::Relaxed)
            });
            unfinished.unwrap() + 1
        });
        for round in 0..6 {
            let server = round % 2;
            cluster.kill(server);
            let (code, report) = cluster.json(&["restart", "--server", &server.to_string()]);
            assert_eq!((code, &report["durable"]), (0, &true.into()));
        }
        is_over.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    check(&files, made);
    check(&connect(&cluster), made);
    let (code, report) = cluster.json(&["fsck"]);
    assert_eq!(code, 0, "{report}");
}

#[test]
fn a_cluster_whose_processes_were_all_killed_goes_on_with_up() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let arguments = ["--servers", "2", "--chunk-size", "64KiB", "--data", place];
    let cluster = Cluster::up(&arguments);
    let files = connect(&cluster);
    make_directories(&files);
    for number in 0..100 {
        make(&files, number).unwrap();
    }
    for pid in [0, 1].map(|process| cluster.process_id(process)) {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
    let before = cluster.load();
    let other = cluster
        .start(&["--servers", "3", "--data", place])
        .failure();
    let error = String::from_utf8(other.get_output().stderr.clone()).unwrap();
    assert!(
        error.contains("has the data of 2 server(s), and 3 are asked for"),
        "{error}"
    );
    cluster
        .start(&["--servers", "2", "--data", place])
        .success();
    let (_, status) = cluster.json(&["status"]);
    for server in [0, 1] {
        let store = &status["servers"][server]["counters"]["store"];
        assert!(store["recovered_entries"].as_u64() > Some(10), "{store}");
    }
    let after = cluster.load();
    assert_eq!(
        (after.id, after.chunk_bytes),
        (before.id, before.chunk_bytes)
    );
    check(&connect(&cluster), 100);
    // `down` leaves the data, too.
    cluster.command(&["down"]).assert().success();
    cluster.start(&arguments).success();
    check(&connect(&cluster), 100);
}

/// As root: a disk of 64 MiB.
#[test]
fn a_full_disk_refuses_new_data_and_can_be_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = TemporaryDisk::mount(directory.path(), "64m") else {
        return;
    };
    let place = disk.0.join("data");
    let cluster = Cluster::up(&["--servers", "2", "--data", place.to_str().unwrap()]);
    let files = connect(&cluster);
    let text = |number: u64| number.to_le_bytes().repeat(1 << 17);
    let write = |number: u64| -> io::Result<()> {
        let file = files.open(format!("/f{number}").as_bytes(), NEW)?;
        file.write_at(0, text(number).into())?;
        file.close()
    };
    let refused = (0..).find_map(|number| Some((number, write(number).err()?)));
    let (full, error) = refused.unwrap();
    assert_eq!(error.raw_os_error(), Some(28), "{error}");
    assert!((40..64).contains(&full), "{full}");
    // Others fill the disk, too. The files can still be read, and removed.
    let rest = disk.0.join("of-others");
    drop(std::fs::write(&rest, vec![0; 64 << 20]));
    let check = |number: u64| {
        let path = format!("/f{number}");
        let file = files.open(path.as_bytes(), OpenOptions::default()).unwrap();
        assert!(file.read_at(0, 1 << 21).unwrap().to_vec() == text(number));
    };
    (0..full).for_each(check);
    for server in [0, 1] {
        cluster.kill(server);
        let (code, _) = cluster.json(&["restart", "--server", &server.to_string()]);
        assert_eq!(code, 0);
    }
    (0..full).for_each(check);
    std::fs::remove_file(rest).unwrap();
    for number in 0..full {
        files.remove_file(format!("/f{number}").as_bytes()).unwrap();
    }
    let _ = files.remove_file(format!("/f{full}").as_bytes());
    (100..100 + full / 2).for_each(|number| write(number).unwrap());
    (100..100 + full / 2).for_each(check);
    assert_eq!(cluster.json(&["fsck"]).0, 0);
}

/// That it survives a loss of power is shown with simulated disks, in the tests of the store.
#[test]
fn a_cluster_that_synchronizes_everything_goes_on_as_well() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let arguments = ["--servers", "2", "--data", place, "--sync", "always"];
    let cluster = Cluster::up(&arguments);
    let files = connect(&cluster);
    make_directories(&files);
    (0..20).for_each(|number| make(&files, number).unwrap());
    cluster.kill(0);
    assert_eq!(cluster.json(&["restart", "--server", "0"]).0, 0);
    (20..30).for_each(|number| make(&files, number).unwrap());
    check(&connect(&cluster), 30);
    assert_eq!(cluster.json(&["fsck"]).0, 0);
}

#[test]
fn programs_go_on_when_all_servers_come_back_at_other_addresses() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().to_str().unwrap();
    let arguments = ["--shards", "2", "--transport", "tcp", "--data", place];
    let cluster = Cluster::up(&arguments);
    let files = connect(&cluster);
    make_directories(&files);
    make(&files, 0).unwrap();
    let before = cluster.load();
    cluster.kill(0);
    cluster.start(&arguments).success();
    assert_ne!(cluster.load().servers, before.servers);
    check(&files, 1);
}
