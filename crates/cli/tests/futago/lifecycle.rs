//! Clusters come up, are distinguished, and go without a trace, also after crashes.

use crate::common::{Cluster, Stopped, futago};
use futago_node::{Cluster as Description, cores::OnOneCore};
use std::os::unix::fs::PermissionsExt;

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
fn server_processes_that_are_bound_are_dealt_out_to_the_cores() {
    let cluster = Cluster::up(&["--servers", "3", "--bind-to-core"]);
    let allowed = |process: &procfs::process::Process| {
        let cores = process.status().unwrap().cpus_allowed_list.unwrap();
        cores.into_iter().flat_map(|(first, last)| first..=last)
    };
    let here: Vec<u32> = allowed(&procfs::process::Process::myself().unwrap()).collect();
    for number in 0..3 {
        let server = procfs::process::Process::new(cluster.process_id(number)).unwrap();
        let bound: Vec<u32> = allowed(&server).collect();
        assert_eq!(bound, [here[number % here.len()]]);
    }
}

#[test]
fn shards_are_advised_when_processes_share_a_core() {
    let advice = |arguments: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let cluster = Cluster { directory };
        let _bound = OnOneCore::bind(0).unwrap();
        let output = cluster.start(arguments).success().get_output().clone();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(advice(&["--shards", "2"]), "");
    assert!(advice(&["--servers", "2"]).contains("one process with --shards 2"));
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

/// The runtime directory of a cluster file may be any directory of its user.
#[test]
fn down_leaves_files_that_are_not_of_the_cluster() {
    let cluster = Cluster::up(&[]);
    let runtime = runtime_directory(&cluster.load());
    let notes = runtime.join("notes");
    crate::common::write(&notes, b"precious");
    let output = cluster.command(&["down"]).output().unwrap();
    assert_eq!(std::fs::read(&notes).unwrap(), b"precious");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(&*runtime.to_string_lossy()), "{text}");
    assert!(!runtime.join("server-0.log").exists());
    std::fs::remove_file(&notes).unwrap();
    assert_eq!(cluster.json(&["down"]).0, 0);
    assert!(!runtime.exists());
}

#[test]
fn down_names_the_hosts_that_it_cannot_reach() {
    let cluster = Cluster::up(&[]);
    let mut description = cluster.load();
    description.servers[0].host = Some("elsewhere".to_owned());
    description.replace(&cluster.file()).unwrap();
    let output = cluster.command(&["down"]).assert().failure();
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(text.contains("elsewhere"), "{text}");
}

/// The file may be there already, from a server that restarts.
#[test]
fn a_cluster_file_from_standard_input_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = Cluster::up(&[]);
    let runtime = directory.path().join("run");
    std::fs::create_dir(&runtime).unwrap();
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&runtime, closed).unwrap();
    let file = runtime.join("cluster-7.toml");
    crate::common::write(&file, b"half of it");
    let reader = std::fs::File::open(&file).unwrap();
    let output = futago()
        .args(["serve", "--cluster", "-", "--process", "7"])
        .arg("--runtime-directory")
        .arg(&runtime)
        .write_stdin(std::fs::read(cluster.file()).unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("no process 7"), "{text}");
    assert_eq!(std::io::read_to_string(reader).unwrap(), "half of it");
}

#[test]
fn a_launcher_starts_and_ends_servers_on_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let hosts = directory.path().join("hosts");
    crate::common::write(&hosts, b"127.0.0.1\nlocalhost # the same\n");
    let hosts = hosts.display().to_string();
    // `env` runs its arguments here, whatever the host.
    let port = crate::common::free_port();
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

/// Takes the options that people give to srun and runs the command here; notes the host.
const FAKE_SRUN: &str = r#"#!/bin/sh
while :; do
    case $1 in
    -w) echo "$2" >>"$(dirname "$0")/hosts-used"; shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
    esac
done
exec "$@"
"#;

#[test]
fn srun_starts_a_cluster_that_can_be_mounted_measured_and_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("srun"), FAKE_SRUN).unwrap();
    std::fs::set_permissions(path("srun"), PermissionsExt::from_mode(0o755)).unwrap();
    crate::common::write(path("hosts").as_ref(), b"127.0.0.1\n127.0.0.2\n");
    let search = format!(
        "{}:{}",
        directory.path().display(),
        std::env::var("PATH").unwrap()
    );
    let port = crate::common::free_port();
    let file = path("c.toml");
    let run = |arguments: &[&str]| {
        let mut command = futago();
        command.env("PATH", &search).env("FUTAGO_CLUSTER", &file);
        command.args(arguments).assert().success();
    };
    let launcher = "srun --overlap -N1 -n1 -w {host} --";
    let hosts = path("hosts");
    run(&[
        "up",
        "--launcher",
        launcher,
        "--hosts",
        &hosts,
        "--port",
        &port,
        "--memory",
        "512MiB",
    ]);
    run(&["status"]);
    run(&["bench", "metadata", "--clients", "2", "--files", "20"]);
    if std::path::Path::new("/dev/fuse").exists() {
        let point = path("mount");
        std::fs::create_dir(&point).unwrap();
        run(&["mount", &point]);
        std::fs::write(format!("{point}/file"), b"through srun").unwrap();
        run(&["cat", "/file"]);
        run(&["umount", &point]);
    }
    run(&["down"]);
    let used = std::fs::read_to_string(path("hosts-used")).unwrap();
    assert!(used.contains("127.0.0.1") && used.contains("127.0.0.2"));
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn logs_of_started_processes_are_json_objects_line_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.toml");
    let run = |arguments: &[&str]| {
        let mut command = futago();
        command
            .env("FUTAGO_LOG", "debug")
            .env("FUTAGO_CLUSTER", &file);
        command
            .args(["--log-format", "json"])
            .args(arguments)
            .assert()
            .success();
    };
    run(&["up", "--servers", "2", "--memory", "256MiB"]);
    let logs = runtime_directory(&Description::load(&file).unwrap());
    let mut roles = Vec::from(["server-0", "server-1"]);
    let point = directory.path().join("mount");
    std::fs::create_dir(&point).unwrap();
    if std::path::Path::new("/dev/fuse").exists() {
        run(&["mount", point.to_str().unwrap()]);
        std::fs::write(point.join("file"), b"something to log").unwrap();
        roles.push("mount");
    }
    let mut seen = std::collections::BTreeSet::new();
    for log in std::fs::read_dir(&logs).unwrap() {
        let log = log.unwrap().path();
        if log.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        for line in std::fs::read_to_string(&log).unwrap().lines() {
            let object: serde_json::Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{error} in {line:?} of {}", log.display()));
            for key in ["timestamp", "level", "target", "role"] {
                assert!(object[key].is_string(), "{key} is missing in {line}");
            }
            seen.insert(object["role"].as_str().unwrap().to_owned());
        }
    }
    run(&["down"]);
    assert!(roles.iter().all(|role| seen.contains(*role)), "{seen:?}");
}

#[test]
fn wrong_arguments_and_missing_files_have_their_exit_codes() {
    futago().args(["up"]).assert().code(2);
    futago()
        .args(["status", "--cluster", "/nonexistent.toml"])
        .assert()
        .code(3);
    futago().args(["bench", "metadata"]).assert().code(2);
    for threads in ["0", "65", "many"] {
        let mount = ["mount", "--cluster", "c.toml", "--threads", threads, "/mnt"];
        let output = futago().args(mount).assert().code(2).get_output().clone();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("--threads"), "{error}");
    }
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

#[test]
fn all_processes_have_the_code_of_the_program_at_the_same_addresses() {
    // Where an ELF file tells what it is, and that its addresses are fixed.
    const TYPE: usize = 16;
    const EXECUTABLE: u16 = 2;
    let program = std::fs::read(env!("CARGO_BIN_EXE_futago")).unwrap();
    let file_type = [program[TYPE], program[TYPE + 1]];
    assert_eq!(u16::from_ne_bytes(file_type), EXECUTABLE);
}

#[test]
fn doctor_waits_for_no_mount_whose_process_hangs() {
    if !std::path::Path::new("/dev/fuse").exists() {
        return;
    }
    let cluster = Cluster::up(&[]);
    let point = cluster.path("mount");
    std::fs::create_dir(&point).unwrap();
    let mount = cluster.command(&["mount"]).arg(&point).assert();
    mount.success();
    let found = |timeout: &str| {
        let doctor = ["doctor", "--json", "--patience", timeout];
        let output = futago().args(doctor).output().unwrap();
        let checks: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut checks = checks.as_array().unwrap().iter();
        let mounts = checks.find(|check| check["name"] == "mounts").unwrap();
        mounts["found"].as_str().unwrap().to_owned()
    };
    let silent = format!("{} does not answer", point.display());
    let stopped = Stopped::mount(&point);
    let while_stopped = found("1");
    drop(stopped);
    assert!(while_stopped.contains(&silent), "{while_stopped}");
    let afterwards = found("60");
    assert!(!afterwards.contains(&silent), "{afterwards}");
}

#[test]
fn status_is_shown_anew_until_it_is_interrupted() {
    use std::io::BufRead;
    let cluster = Cluster::up(&["--servers", "2"]);
    let mut watch = std::process::Command::new(env!("CARGO_BIN_EXE_futago"));
    watch
        .args(["status", "--watch", "0.1"])
        .env("FUTAGO_CLUSTER", cluster.file());
    let mut watching = watch.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(watching.stdout.take().unwrap()).lines();
    let rows = lines
        .map(Result::unwrap)
        .filter(|line| line.trim_start().starts_with("1 "));
    let shown: Vec<String> = rows.take(2).collect();
    assert!(shown.iter().all(|row| row.contains(" up ")), "{shown:?}");
    let pid = rustix::process::Pid::from_child(&watching);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    watching.wait().unwrap();
}
