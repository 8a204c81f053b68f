//! Clusters come up, are told apart, and go without a trace, also after crashes.

use crate::common::{Cluster, futago};
use futago_node::Cluster as Description;

fn runtime_directory(description: &Description) -> std::path::PathBuf {
    description.runtime_directory.clone().unwrap()
}

#[test]
fn a_cluster_comes_up_tells_of_itself_and_goes() {
    for transport in ["unix", "tcp"] {
        let cluster = Cluster::up(&["--servers", "2", "--shards", "2", "--transport", transport]);
        let (code, status) = cluster.json(&["status"]);
        assert_eq!(code, 0);
        let servers = status["servers"].as_array().unwrap();
        assert_eq!(servers.len(), 4);
        assert!(servers.iter().all(|server| server["up"] == true));
        assert_eq!(servers[0]["process"], servers[1]["process"]);
        assert!(
            servers[0]["address"]
                .as_str()
                .unwrap()
                .starts_with(transport)
        );
        let runtime = runtime_directory(&cluster.load());
        assert!(runtime.is_dir());
        let (code, ended) = cluster.json(&["down"]);
        assert_eq!((code, ended["servers"].as_u64()), (0, Some(2)));
        assert!(!runtime.exists() && !cluster.file().exists());
    }
}

#[test]
fn a_cluster_file_in_use_is_refused() {
    let cluster = Cluster::up(&[]);
    cluster.start(&[]).code(5);
    assert_eq!(cluster.json(&["status"]).0, 0);
}

#[test]
fn down_cleans_up_after_servers_that_were_killed() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let runtime = runtime_directory(&cluster.load());
    cluster.kill(0);
    assert_eq!(cluster.json(&["down"]).1["servers"], 1);
    assert!(!runtime.exists() && !cluster.file().exists());
}

#[test]
fn a_new_cluster_takes_the_file_of_one_that_has_crashed() {
    let cluster = Cluster::up(&[]);
    let old = cluster.load();
    cluster.kill(0);
    cluster.start(&[]).success();
    assert!(!runtime_directory(&old).exists());
    assert_ne!(cluster.load().id, old.id);
}

#[test]
fn a_file_that_is_no_cluster_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious");
    crate::common::write(&path, b"precious");
    futago()
        .arg("up")
        .arg("--cluster")
        .arg(&path)
        .assert()
        .code(3);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_cluster_that_cannot_start_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.toml");
    let hosts = directory.path().join("hosts");
    crate::common::write(&hosts, b"nowhere\n");
    futago()
        .args(["up", "--launcher", "false {host}", "--hosts"])
        .arg(&hosts)
        .arg("--cluster")
        .arg(&path)
        .assert()
        .code(3);
    assert!(!path.exists());
}

#[test]
fn a_launcher_starts_and_ends_servers_on_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let hosts = directory.path().join("hosts");
    crate::common::write(&hosts, b"127.0.0.1\nlocalhost # the same\n");
    let hosts = hosts.display().to_string();
    // `env` runs its arguments here, whatever the host.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let port = port.to_string();
    let cluster = Cluster::up(&[
        "--launcher",
        "env HOST={host}",
        "--hosts",
        &hosts,
        "--port",
        &port,
        "--servers",
        "1",
    ]);
    let (code, status) = cluster.json(&["status"]);
    assert_eq!(
        (code, &status["servers"][0]["host"]),
        (0, &"127.0.0.1".into())
    );
    assert_eq!(cluster.json(&["down"]).0, 0);
}

#[test]
fn wrong_arguments_and_missing_files_have_their_exit_codes() {
    futago().args(["up"]).assert().code(2);
    futago()
        .args(["status", "--cluster", "/nonexistent.toml"])
        .assert()
        .code(3);
    futago().args(["bench", "metadata"]).assert().code(2);
    let error = futago()
        .args(["df", "--json", "--cluster", "/nonexistent.toml"])
        .output()
        .unwrap();
    let error: serde_json::Value = serde_json::from_slice(&error.stderr).unwrap();
    assert_eq!(error["exit_code"], 3);
    assert!(
        error["error"]
            .as_str()
            .unwrap()
            .contains("/nonexistent.toml")
    );
}

#[test]
fn doctor_and_completion_speak() {
    let output = futago().args(["doctor", "--json"]).output().unwrap();
    let checks: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        checks
            .as_array()
            .unwrap()
            .iter()
            .any(|check| check["name"] == "fusermount3")
    );
    for shell in ["bash", "zsh", "fish"] {
        futago().args(["completion", shell]).assert().success();
    }
}
