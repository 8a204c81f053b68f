//! Mounts that read from each other's caches, and the commands about that.

use crate::common::{Cluster, free_port, futago, mount_process, wait_for};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
};

const SIZE: usize = 5_000_000;

fn data() -> Vec<u8> {
    (0..SIZE).map(|at| (at / 7 % 251) as u8).collect()
}

/// A cluster with mounts that share their caches, one that does not, and a file.
fn cluster() -> Option<(Cluster, Vec<PathBuf>)> {
    if !Path::new("/dev/fuse").exists() {
        println!("skipped: /dev/fuse is missing");
        return None;
    }
    let cluster = Cluster::up(&["--servers", "2", "--cooperative", "size=64MiB"]);
    put(&cluster);
    let options = ["rw", "rw", "cooperative=off"];
    let mounts = options.iter().enumerate().map(|(number, options)| {
        let point = cluster.path(&format!("mount{number}"));
        fs::create_dir(&point).unwrap();
        let mut mount = cluster.command(&["mount", "--options", options]);
        mount.arg(&point).assert().success();
        point
    });
    let mounts = mounts.collect();
    Some((cluster, mounts))
}

/// Puts the file into the cluster.
fn put(cluster: &Cluster) {
    let source = cluster.path("source");
    fs::write(&source, data()).unwrap();
    let mut put = cluster.command(&["put"]);
    put.arg(&source).arg("/file").assert().success();
}

/// The metrics of a process of this host; empty if it does not offer them.
fn metrics(address: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        let asked = stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
        let _ = asked.and_then(|()| stream.read_to_string(&mut text));
    }
    text
}

fn unmount(points: &[PathBuf]) {
    for point in points {
        futago().arg("umount").arg(point).assert().success();
    }
}

fn sum(clients: &[Value], key: &str) -> u64 {
    clients
        .iter()
        .map(|client| client[key].as_u64().unwrap())
        .sum()
}

#[test]
fn clients_are_warmed_with_one_copy_out_of_the_servers() {
    let Some((cluster, mounts)) = cluster() else {
        return;
    };
    let (code, warmed) = cluster.json(&["warm", "/file", "--clients", "all"]);
    assert_eq!(code, 0, "{warmed}");
    assert_eq!(
        (&warmed["clients"], &warmed["files"]),
        (&2.into(), &1.into())
    );
    assert_eq!(warmed["cached_bytes"], 2 * SIZE as u64);
    let (_, status) = cluster.json(&["status", "--clients"]);
    let clients = status["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 2, "the third one shares nothing: {status}");
    assert_eq!(sum(clients, "bytes_from_servers"), SIZE as u64);
    assert_eq!(sum(clients, "bytes_from_peers"), SIZE as u64);
    assert_eq!(sum(clients, "bytes_served"), SIZE as u64);
    for point in &mounts {
        assert!(fs::read(point.join("file")).unwrap() == data());
    }
    let (_, status) = cluster.json(&["status", "--clients"]);
    let clients = status["clients"].as_array().unwrap();
    assert_eq!(
        sum(clients, "bytes_from_servers"),
        SIZE as u64,
        "it was warm"
    );
    unmount(&mounts);
}

#[test]
fn a_mount_offers_metrics_of_its_cache() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    let cluster = Cluster::up(&["--servers", "1", "--cooperative", "on"]);
    put(&cluster);
    let point = cluster.path("mount");
    fs::create_dir(&point).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let mut mount = cluster.command(&["mount", "--metrics", &address]);
    mount.arg(&point).assert().success();
    assert!(fs::read(point.join("file")).unwrap() == data());
    let read_bytes = || {
        let text = metrics(&address);
        let name = "futago_client_read_bytes_total{source=\"servers\"} ";
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.map_or(0, |value| value.parse::<usize>().unwrap())
    };
    wait_for(|| read_bytes() >= SIZE);
    unmount(&[point]);
}

/// Two mounts read a file; the first one gets a signal while the other one has read a part of what
/// it gets from the first one. Over shared memory and over sockets.
fn read_while_the_holder_gets(signal: Signal) {
    for transport in ["unix", "tcp"] {
        let cluster = Cluster::up(&["--cooperative", "on", "--transport", transport]);
        put(&cluster);
        let mount = |name| {
            let point = cluster.path(name);
            fs::create_dir(&point).unwrap();
            let mut mount = cluster.command(&["mount"]);
            mount.arg(&point).assert().success();
            point
        };
        let holder = mount("holder");
        let (code, warmed) = cluster.json(&["warm", "/file"]);
        assert_eq!(code, 0, "{warmed}");
        let reader = mount("reader");
        let mut file = fs::File::open(reader.join("file")).unwrap();
        let mut found = vec![0; SIZE / 3];
        file.read_exact(&mut found).unwrap();
        let (_, status) = cluster.json(&["status", "--clients"]);
        assert!(sum(status["clients"].as_array().unwrap(), "bytes_served") > 0);
        let process = mount_process(&holder);
        kill_process(process, signal).unwrap();
        file.read_to_end(&mut found).unwrap();
        assert!(found == data(), "{signal:?} {transport}");
        // One that has ended is no process any more.
        let _ = kill_process(process, Signal::CONT);
        drop(file);
        unmount(&[reader, holder]);
    }
}

#[test]
fn a_reader_does_without_a_holder_that_is_paused() {
    if Path::new("/dev/fuse").exists() {
        read_while_the_holder_gets(Signal::STOP);
    }
}

#[test]
fn a_reader_does_without_a_holder_that_is_killed() {
    if Path::new("/dev/fuse").exists() {
        read_while_the_holder_gets(Signal::KILL);
    }
}

#[test]
fn files_are_pinned_and_unpinned_at_all_clients() {
    let Some((cluster, mounts)) = cluster() else {
        return;
    };
    for command in ["pin", "unpin"] {
        let (code, report) = cluster.json(&[command, "/file"]);
        assert_eq!((code, &report["clients"]), (0, &2.into()));
    }
    unmount(&mounts);
    wait_for(|| {
        let (_, status) = cluster.json(&["status", "--clients"]);
        status["clients"].as_array().unwrap().is_empty()
    });
    let warm = cluster.command(&["warm", "/file"]).assert().failure();
    let said = String::from_utf8_lossy(&warm.get_output().stderr).into_owned();
    assert!(said.contains("no client shares its cache"), "{said}");
}

#[test]
fn a_broadcast_counts_the_copies_that_leave_the_servers() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let measure = |choice| {
        let measured = cluster.json(&[
            "bench",
            "broadcast",
            "--clients",
            "3",
            "--size",
            "4MiB",
            "--cooperative",
            choice,
        ]);
        assert_eq!(measured.0, 0, "{}", measured.1);
        measured.1
    };
    let off = measure("off");
    assert_eq!(off["copies_out_of_servers"], 3.0);
    let on = measure("on");
    assert!(on["copies_out_of_servers"].as_f64() <= Some(3.0));
    assert_eq!(
        (&on["clients"], &on["cooperative"]),
        (&3.into(), &true.into())
    );
    let (_, listed) = cluster.json(&["ls", "/"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(0), "{listed}");
}
