//! Output that cannot be written ends a program quietly, and errors of the start reach the caller.

use crate::common::{Cluster, closed, full};
use std::process::{Command, Output, Stdio};

/// The exit code of a program whose reader has gone, as shells count SIGPIPE.
const READER_GONE: i32 = 141;

/// Runs the program with these standard output and standard error.
fn run(arguments: &[&str], output: Stdio, errors: Stdio) -> Output {
    Command::new(env!("CARGO_BIN_EXE_futago"))
        .args(arguments)
        .env_remove("FUTAGO_CLUSTER")
        .stdout(output)
        .stderr(errors)
        .output()
        .unwrap()
}

#[test]
fn programs_end_quietly_when_their_reader_has_gone() {
    let phold = ["des", "phold", "--lps", "8", "--end", "2"];
    let json = [&phold[..], &["--json"]].concat();
    let checked = [&phold[..], &["--check"]].concat();
    let compared = [&phold[..], &["--compare", "--rounds", "1"]].concat();
    let others: [&[&str]; 4] = [
        &["des", "matrix", "--seeds", "1", "--scale", "0.2"],
        &["doctor", "--json"],
        &["doctor", "--ask", "/"],
        &["completion", "bash"],
    ];
    for arguments in [&phold[..], &json, &checked, &compared]
        .into_iter()
        .chain(others)
    {
        let ended = run(arguments, closed(), Stdio::piped());
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            ended.status.code(),
            Some(READER_GONE),
            "{arguments:?}: {errors}"
        );
        assert_eq!(errors, "", "{arguments:?}");
    }
}

#[test]
fn a_file_is_no_longer_read_when_its_reader_has_gone() {
    let cluster = Cluster::up(&[]);
    let local = cluster.path("local");
    crate::common::write(&local, &[7; 100_000]);
    let put = cluster.command(&["put"]).arg(&local).arg("/").assert();
    put.success();
    let file = cluster.file();
    let file = file.to_str().unwrap();
    for command in [&["cat", "/local"][..], &["ls", "/"]] {
        let arguments = [command, &["--cluster", file]].concat();
        let ended = run(&arguments, closed(), Stdio::piped());
        assert_eq!(ended.status.code(), Some(READER_GONE), "{command:?}");
    }
}

#[test]
fn a_cluster_whose_caller_has_gone_is_up() {
    let cluster = Cluster {
        directory: tempfile::tempdir().unwrap(),
    };
    let file = cluster.file();
    let up = [
        "up",
        "--memory",
        "256MiB",
        "--cluster",
        file.to_str().unwrap(),
    ];
    let ended = run(&up, closed(), closed());
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(cluster.json(&["status"]).0, 0);
}

#[test]
fn errors_that_cannot_be_written_keep_their_exit_codes() {
    for errors in [full as fn() -> Stdio, closed] {
        for format in ["text", "json"] {
            let missing = [
                "--log-format",
                format,
                "df",
                "--cluster",
                "/nonexistent.toml",
            ];
            assert_eq!(run(&missing, errors(), errors()).status.code(), Some(3));
        }
        let refused = ["des", "matrix", "--seeds", "0"];
        assert_eq!(run(&refused, errors(), errors()).status.code(), Some(3));
    }
}

/// Runs the program with a full disk in the place of the runtime directory's, in a mount namespace
/// of its own.
fn run_with_full_disk(arguments: &[&str]) -> Option<Output> {
    let disk = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=4096,mode=0700 tmpfs \"$1\" || exit 77\n\
        head -c 4096 /dev/zero >\"$1/filling\"\n\
        export XDG_RUNTIME_DIR=\"$1\"; shift; exec \"$@\"";
    let ended = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(disk.path())
        .arg(env!("CARGO_BIN_EXE_futago"))
        .args(arguments)
        .output()
        .ok()?;
    let forbidden = matches!(ended.status.code(), Some(1 | 77));
    (!forbidden).then_some(ended)
}

#[test]
fn a_server_that_cannot_write_its_log_tells_its_caller_why_it_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.toml");
    let file = file.to_str().unwrap();
    let up = ["up", "--memory", "256MiB", "--cluster", file];
    let Some(ended) = run_with_full_disk(&up) else {
        return println!("skipped: this host forbids mount namespaces");
    };
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    assert!(errors.contains("No space left on device"), "{errors}");
}

#[test]
fn a_server_that_logs_much_before_it_is_ready_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let noisy = directory.path().join("noisy");
    let script = "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' '\\n' >&2\nexec \"$@\"\n";
    crate::common::write(&noisy, script.as_bytes());
    let hosts = directory.path().join("hosts");
    crate::common::write(&hosts, b"127.0.0.1\n");
    let launcher = format!("env HOST={{host}} sh {}", noisy.display());
    let port = crate::common::free_port();
    Cluster::up(&[
        "--launcher",
        &launcher,
        "--hosts",
        hosts.to_str().unwrap(),
        "--port",
        &port,
    ]);
}
