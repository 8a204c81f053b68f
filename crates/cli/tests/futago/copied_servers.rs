//! Servers that move between hosts with disks of their own.
//!
//! All hosts are this one. A mount namespace gives each its own directory at the path of `--data`.

use crate::common::{Cluster, TemporaryDisk, free_port, wait_for, write};
use crate::data::{check, connect};
use crate::moves::{grown, of, restart_all, shares, while_files_are_made};
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// The disks of hosts, and a cluster that began on the first.
struct Hosts {
    scratch: tempfile::TempDir,
    arguments: Vec<String>,
}

/// It runs its arguments here, with the directory of a host at the path of `--data`.
const LAUNCHER: &str = r#"
[ ! -e "$0-$1-gone" ] || { echo gone >&2; exit 1; }
[ ! -e "$0-$1-busy" ] || [ "$3" != serve ] || { echo busy >&2; exit 1; }
disk=$(dirname "$0")/$1; place=$(dirname "$0")/place; shift
mkdir -p "$disk"
exec unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$disk" "$place" "$@"
"#;

impl Hosts {
    /// None without the right to make namespaces.
    fn new(shards: &str) -> Option<Self> {
        let unshared = Command::new("unshare").args(["-m", "true"]).status();
        if !unshared.is_ok_and(|status| status.success()) {
            println!("skipped: no right to make namespaces");
            return None;
        }
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
        write(&scratch.path().join("hosts"), b"127.0.0.1\n");
        write(&scratch.path().join("launcher"), LAUNCHER.as_bytes());
        let arguments = [
            "--launcher",
            &format!("sh {} {{host}}", path("launcher")),
            "--hosts",
            &path("hosts"),
            "--port",
            &free_port(),
            "--shards",
            shards,
            "--data",
            &path("place"),
        ];
        let arguments = arguments.map(str::to_owned).to_vec();
        Some(Self { scratch, arguments })
    }

    fn up(&self) -> Cluster {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        Cluster::up(&arguments)
    }

    /// Something on the disk of a host.
    fn on(&self, host: u8, name: &str) -> PathBuf {
        let disk = self.scratch.path().join(format!("127.0.0.{host}"));
        disk.join(name)
    }

    /// How many hosts have the directory of a server.
    fn count(&self, server: u64) -> usize {
        let has = |host: &u8| self.on(*host, &format!("server-{server}")).is_dir();
        (1..=3).filter(has).count()
    }

    /// That each server is on one host, and nothing else is left.
    fn assert_tidy(&self, servers: u64) {
        for server in 0..servers {
            assert_eq!(self.count(server), 1, "server {server}");
            for ending in ["moved", "copied"] {
                let is_left = |host: &u8| {
                    self.on(*host, &format!("server-{server}.{ending}"))
                        .exists()
                };
                assert_eq!((1..=3).find(is_left), None, "server {server}.{ending}");
            }
        }
    }
}

#[test]
fn servers_move_to_hosts_with_disks_of_their_own() {
    let Some(hosts) = Hosts::new("4") else { return };
    let cluster = hosts.up();
    let port = free_port();
    let grow = ["--hosts", "127.0.0.2", "--port", &port];
    while_files_are_made(&cluster, || {
        for _ in 0..3 {
            grown(&cluster, &grow);
            assert_eq!(shares(&cluster), of(&[(0, 2), (1, 2)]));
            hosts.assert_tidy(4);
            assert!(hosts.on(2, "server-3").is_dir());
            let (code, report) = cluster.json(&["shrink", "--server", "3"]);
            assert_eq!(code, 0, "{report}");
            hosts.assert_tidy(4);
            assert!(hosts.on(1, "server-3").is_dir());
        }
        grown(&cluster, &grow);
        // Its process can be gone; its host cannot.
        cluster.kill(3);
        let (code, report) = cluster.json(&["shrink", "--server", "3"]);
        assert_eq!(code, 0, "{report}");
        hosts.assert_tidy(4);
        grown(&cluster, &grow);
    });
    let gone = hosts.scratch.path().join("launcher-127.0.0.2-gone");
    write(&gone, b"");
    let before = cluster.load();
    let error = refused(&cluster, &["shrink", "--server", "3"]);
    assert!(error.contains("does not answer"), "{error}");
    assert_eq!(cluster.load().servers, before.servers);
    std::fs::remove_file(gone).unwrap();
}

#[test]
fn the_next_life_of_a_cluster_finds_its_servers_wherever_they_are() {
    let Some(hosts) = Hosts::new("4") else { return };
    let cluster = hosts.up();
    let port = free_port();
    while_files_are_made(&cluster, || {
        grown(&cluster, &["--hosts", "127.0.0.2", "--port", &port]);
    });
    cluster.command(&["down"]).assert().success();
    let arguments: Vec<&str> = hosts.arguments.iter().map(String::as_str).collect();
    cluster.start(&arguments).success();
    check(&connect(&cluster), 10);
    hosts.assert_tidy(4);
    assert!(hosts.on(1, "server-3").is_dir());
}

fn refused(cluster: &Cluster, arguments: &[&str]) -> String {
    let failed = cluster.command(arguments).assert().failure();
    String::from_utf8(failed.get_output().stderr.clone()).unwrap()
}

#[test]
fn servers_that_cannot_be_copied_stay_where_they_were() {
    let Some(hosts) = Hosts::new("2") else { return };
    let cluster = hosts.up();
    let port = free_port();
    let grow = ["grow", "--hosts", "127.0.0.2", "--port", &port];
    std::fs::create_dir(hosts.on(2, "")).unwrap();
    let stays = || {
        assert_eq!(shares(&cluster), of(&[(0, 2)]));
        assert!(hosts.on(1, "server-1").is_dir());
        hosts.assert_tidy(2);
    };
    while_files_are_made(&cluster, || {
        // The disk is full.
        let disk = TemporaryDisk::mount(&hosts.on(2, ""), "4k").unwrap();
        let error = refused(&cluster, &grow);
        assert!(error.contains("No space left"), "{error}");
        assert!(error.contains("stays where it was"), "{error}");
        stays();
        // The only server of a process comes back, too, which has ended meanwhile.
        drop(disk);
        cluster.command(&grow).assert().success();
        let disk = TemporaryDisk::mount(&hosts.on(1, ""), "4k").unwrap();
        let error = refused(&cluster, &["shrink", "--server", "1"]);
        assert!(error.contains("stays where it was"), "{error}");
        assert_eq!(shares(&cluster), of(&[(0, 1), (1, 1)]));
        drop(disk);
        cluster
            .command(&["shrink", "--server", "1"])
            .assert()
            .success();
        // No process can be started there.
        let busy = hosts.scratch.path().join("launcher-127.0.0.2-busy");
        write(&busy, b"");
        let error = refused(&cluster, &grow);
        assert!(
            error.contains("back where it was") && error.contains("busy"),
            "{error}"
        );
        stays();
    });
}

/// When the command is killed: as soon as there is this on the disk of a host.
const MOMENTS: [(u8, &str); 5] = [
    (2, ".receiving"),
    (2, ".copied"),
    (1, ".moved"),
    (2, ""),
    (2, "/lock"),
];

fn growing(cluster: &Cluster, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_futago"));
    command
        .arg("grow")
        .args(arguments)
        .stderr(Stdio::null())
        .stdout(Stdio::null());
    command
        .env("FUTAGO_CLUSTER", cluster.file())
        .spawn()
        .unwrap()
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

#[test]
fn a_copy_that_was_interrupted_is_finished_and_loses_nothing() {
    let Some(hosts) = Hosts::new("3") else { return };
    let cluster = hosts.up();
    let port = free_port();
    let grow = ["--hosts", "127.0.0.2", "--port", &port];
    while_files_are_made(&cluster, || {
        for (host, ending) in MOMENTS {
            let mut command = growing(&cluster, &grow);
            let place = hosts.on(host, &format!("server-2{ending}"));
            wait_for(|| place.exists() || has_ended(&mut command));
            command.kill().unwrap();
            let status = command.wait().unwrap();
            let copying = cluster.load().copying;
            println!("server-2{ending} is on host {host}: {status}, {copying:?}");
            assert!(hosts.count(2) <= 1, "{ending}");
            finish(&cluster, &hosts);
            cluster
                .command(&["shrink", "--server", "2"])
                .assert()
                .success();
            assert_eq!(shares(&cluster).len(), 1, "{ending}");
            assert!(hosts.on(1, "server-2").is_dir());
        }
    });
    hosts.assert_tidy(3);
}

#[test]
fn a_process_that_is_killed_while_its_server_is_copied_loses_nothing() {
    let Some(hosts) = Hosts::new("3") else { return };
    let cluster = hosts.up();
    let port = free_port();
    let grow = ["--hosts", "127.0.0.2", "--port", &port];
    while_files_are_made(&cluster, || {
        for (host, ending) in MOMENTS {
            let old = cluster.process_id(0);
            let mut command = growing(&cluster, &grow);
            let place = hosts.on(host, &format!("server-2{ending}"));
            wait_for(|| place.exists() || has_ended(&mut command));
            crate::moves::kill(old);
            command.wait().unwrap();
            finish(&cluster, &hosts);
            cluster
                .command(&["shrink", "--server", "2"])
                .assert()
                .success();
        }
    });
    hosts.assert_tidy(3);
}

/// Has a move go on that was interrupted anywhere, until all servers are served.
fn finish(cluster: &Cluster, hosts: &Hosts) {
    wait_for(|| {
        // The copy is finished before a process is missed.
        let finished = cluster
            .command(&["grow", "--servers", "0"])
            .output()
            .unwrap();
        assert!(hosts.count(2) <= 1);
        restart_all(cluster);
        finished.status.success()
    });
    if cluster.load().servers_of_process(1).is_empty() {
        grown(cluster, &["--hosts", "127.0.0.2"]);
    }
    assert_eq!(shares(cluster).len(), 2);
}
