//! A restarted server is empty, and shows no client data of another file.

use crate::common::Cluster;
use futago_base::ServerId;
use futago_node::{
    Options,
    blocking::{FileSystem, OpenOptions},
};
use std::{collections::BTreeSet, io, path::Path};

const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

fn connect(cluster: &Cluster) -> FileSystem {
    FileSystem::connect(&cluster.load(), Options::default()).unwrap()
}

fn write(files: &FileSystem, path: &str, text: &'static [u8]) -> io::Result<()> {
    let file = files.open(path.as_bytes(), NEW)?;
    file.write_at(0, text.into())?;
    file.close()
}

fn read(files: &FileSystem, path: &str) -> io::Result<Vec<u8>> {
    let file = files.open(path.as_bytes(), OpenOptions::default())?;
    Ok(file.read_at(0, 1 << 16)?.to_vec())
}

/// Directories of the root, which are dealt out to the servers.
fn directories() -> impl Iterator<Item = String> {
    (0..16).map(|number| format!("/d{number}"))
}

#[test]
fn what_a_server_has_lost_is_gone_and_never_another_file_s() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let before = connect(&cluster);
    for directory in directories() {
        before
            .create_directory(directory.as_bytes(), 0o755)
            .unwrap();
        let (inside, moved) = (format!("{directory}/secret"), format!("{directory}.secret"));
        write(&before, &inside, b"secret").unwrap();
        before.rename(inside.as_bytes(), moved.as_bytes()).unwrap();
    }
    cluster.kill(1);
    let (code, report) = cluster.json(&["restart", "--server", "1"]);
    assert_eq!((code, &report["servers"]), (0, &serde_json::json!([1])));

    // As many files as before would draw the same identities if anybody did.
    let after = connect(&cluster);
    for directory in directories() {
        let other = directory.replace('d', "e");
        after.create_directory(other.as_bytes(), 0o755).unwrap();
        write(&after, &format!("{other}/public"), b"public").unwrap();
    }
    let found: Vec<io::Result<Vec<u8>>> = directories()
        .map(|directory| read(&after, &format!("{directory}.secret")))
        .collect();
    let alive = found.iter().flatten().count();
    assert!(0 < alive && alive < found.len(), "{found:?}");
    assert!(
        found.iter().flatten().all(|text| text == b"secret"),
        "{found:?}"
    );
    for directory in directories() {
        let other = directory.replace('d', "e");
        assert_eq!(read(&after, &format!("{other}/public")).unwrap(), b"public");
    }
}

/// The names of all files below a directory of this host.
fn files_below(directory: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.append(&mut files_below(&path));
        } else {
            assert_eq!(std::fs::read(&path).unwrap(), b"alive");
            names.insert(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    names
}

#[test]
fn what_lives_on_other_servers_outlives_the_root() {
    let cluster = Cluster::up(&["--servers", "4"]);
    let files = connect(&cluster);
    let mut alive = BTreeSet::new();
    for directory in directories() {
        files.create_directory(directory.as_bytes(), 0o755).unwrap();
        let path = format!("{directory}/in{}", &directory[1..]);
        write(&files, &path, b"alive").unwrap();
        let file = files.metadata(path.as_bytes(), true).unwrap();
        let above = files.metadata(directory.as_bytes(), true).unwrap();
        let map = cluster.load().map().unwrap();
        if [file.id, above.id]
            .iter()
            .all(|&id| map.home(id) != ServerId(0))
        {
            alive.insert(format!("in{}", &directory[1..]));
        }
    }
    assert!(!alive.is_empty());
    cluster.kill(0);
    let run = |arguments: &[&str]| cluster.command(arguments).assert();
    run(&["restart", "--server", "0"]).success();
    run(&["fsck", "--repair"]).code(1);
    run(&["fsck"]).success();
    let rescued = cluster.path("rescued");
    run(&["get", "-r", "/", rescued.to_str().unwrap()]);
    let rescued = files_below(&rescued);
    assert!(alive.is_subset(&rescued), "{alive:?} {rescued:?}");
}

#[test]
fn a_server_that_runs_is_restarted_only_by_force() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let restart = ["restart", "--server", "1"];
    cluster.command(&restart).assert().code(5);
    cluster.command(&restart).arg("--force").assert().success();
    cluster
        .command(&["restart", "--server", "2"])
        .assert()
        .code(3);
    assert_eq!(cluster.json(&["status"]).0, 0);
}
