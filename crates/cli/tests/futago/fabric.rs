//! Clusters whose connections go over a fabric.

use crate::common::{Cluster, mount_process, mounted, wait_for, write};
use futago_node::{
    Options,
    blocking::{FileSystem, OpenOptions},
};
use rustix::process::{Signal, kill_process};
use std::path::Path;

const TRANSPORTS: [&str; 2] = ["ofi:tcp", "ofi:shm"];

fn put_and_get(cluster: &Cluster) {
    let contents: Vec<u8> = (0..5_000_000_u32).map(|n| (n / 7) as u8).collect();
    let (from, to) = (cluster.path("in"), cluster.path("out"));
    write(&from, &contents);
    let run = |arguments: &[&str]| cluster.command(arguments).assert().success();
    run(&["put", from.to_str().unwrap(), "/file"]);
    run(&["get", "/file", to.to_str().unwrap()]);
    assert!(std::fs::read(&to).unwrap() == contents);
}

#[test]
fn files_are_written_and_read_over_each_provider() {
    for transport in TRANSPORTS {
        let cluster = Cluster::up(&["--servers", "2", "--transport", transport]);
        put_and_get(&cluster);
        let (_, status) = cluster.json(&["status"]);
        assert_eq!(
            format!("ofi:{}", status["fabric"].as_str().unwrap()),
            transport
        );
    }
}

#[test]
fn a_fabric_is_encrypted_as_tcp_is() {
    let cluster = Cluster::up(&["--transport", "ofi:tcp", "--secure"]);
    put_and_get(&cluster);
}

fn make_directories(files: &FileSystem, prefix: &str) {
    for number in 0..16 {
        let path = format!("/{prefix}{number}");
        files.create_directory(path.as_bytes(), 0o755).unwrap();
        let inside = format!("{path}/file");
        let new = OpenOptions {
            create: true,
            mode: 0o644,
            ..OpenOptions::EXISTING
        };
        let file = files.open(inside.as_bytes(), new).unwrap();
        file.write_at(0, (&b"data"[..]).into()).unwrap();
        file.close().unwrap();
    }
}

#[test]
fn a_client_notices_the_end_of_a_server_and_goes_on_with_the_next_one() {
    for transport in TRANSPORTS {
        let data = tempfile::tempdir().unwrap();
        let data = data.path().to_str().unwrap();
        let with_data = ["--servers", "2", "--data", data, "--transport", transport];
        let cluster = Cluster::up(&with_data);
        let files = FileSystem::connect(&cluster.load(), Options::default()).unwrap();
        make_directories(&files, "before");
        cluster.kill(1);
        let (code, _) = cluster.json(&["restart", "--server", "1"]);
        assert_eq!(code, 0);
        make_directories(&files, "after");
    }
}

/// The connections of a server, without those of the program that asks.
fn connections(cluster: &Cluster) -> u64 {
    let (_, status) = cluster.json(&["status"]);
    let counters = &status["servers"][0]["counters"];
    counters["connections"].as_u64().unwrap()
}

#[test]
fn a_server_notices_the_end_of_a_mount() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    for transport in TRANSPORTS {
        let cluster = Cluster::up(&["--transport", transport]);
        let alone = connections(&cluster);
        let point = cluster.path("mount");
        std::fs::create_dir(&point).unwrap();
        let point_name = point.to_str().unwrap();
        cluster.command(&["mount", point_name]).assert().success();
        assert!(mounted(&point));
        write(&point.join("file"), &vec![7; 3_000_000]);
        assert!(std::fs::read(point.join("file")).unwrap() == [7; 3_000_000]);
        assert!(connections(&cluster) > alone);
        kill_process(mount_process(&point), Signal::KILL).unwrap();
        wait_for(|| connections(&cluster) == alone);
        cluster.command(&["umount", point_name]).assert().success();
    }
}

#[test]
fn a_provider_that_is_missing_is_named_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = Cluster { directory };
    let refused = cluster
        .start(&["--transport", "ofi:carrier-pigeon"])
        .failure();
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(error.contains("provider carrier-pigeon"), "{error}");
    assert!(!cluster.file().exists());
}
