//! Trees go in and out with many clients.

use crate::common::{Cluster, futago, write};
use rustix::fs::{CWD, Mode};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Command, Stdio},
};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Fails unless two trees are the same to rsync.
fn assert_same(one: &Path, other: &Path) {
    let with_slash = |path: &Path| format!("{}/", text(path));
    let rsync = Command::new("rsync")
        .args(["-aHXn", "--delete", "--checksum", "--itemize-changes"])
        .args([with_slash(one), with_slash(other)])
        .output();
    let Ok(rsync) = rsync else {
        let diff = Command::new("diff").arg("-r").args([one, other]).status();
        assert!(diff.unwrap().success());
        return;
    };
    assert!(rsync.status.success());
    assert_eq!(String::from_utf8_lossy(&rsync.stdout), "");
}

#[test]
fn a_real_tree_comes_back_and_is_not_copied_twice() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let (tree, back) = (Path::new("/usr/share/zoneinfo"), cluster.path("new/back"));
    let staged = ["stage", "in", text(tree), "/deep/tree", "--clients", "3"];
    let (code, report) = cluster.json(&staged);
    assert_eq!((code, &report["complete"]), (0, &true.into()), "{report}");
    let (code, report) = cluster.json(&["stage", "out", "/deep/tree", text(&back)]);
    assert_eq!((code, &report["complete"]), (0, &true.into()), "{report}");
    assert_same(tree, &back);
    let (code, report) = cluster.json(&staged);
    assert_eq!((code, &report["files"]), (0, &0.into()), "{report}");
    let (code, report) = cluster.json(&["stage", "out", "/deep/tree", text(&back), "--checksum"]);
    assert_eq!((code, &report["bytes"]), (0, &0.into()), "{report}");
}

#[test]
fn clients_of_several_hosts_share_a_large_file() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let (file, back) = (cluster.path("file"), cluster.path("back"));
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 249) as u8).collect();
    write(&file, &data);
    // The launcher runs its command on this host.
    let hosts = [
        "--hosts",
        "one,two",
        "--launcher",
        "env HOST={host}",
        "--part-size",
        "100KB",
    ];
    let (code, report) =
        cluster.json(&[&["stage", "in", text(&file), "/file"], &hosts[..]].concat());
    assert_eq!((code, &report["bytes"]), (0, &3_000_000.into()), "{report}");
    let (code, report) =
        cluster.json(&[&["stage", "out", "/file", text(&back)], &hosts[..]].concat());
    assert_eq!((code, &report["files"]), (0, &1.into()), "{report}");
    assert!(fs::read(&back).unwrap() == data);
    let times = [&file, &back].map(|path| fs::metadata(path).unwrap().mtime_nsec());
    assert_eq!(times[0], times[1]);
}

#[test]
fn clients_that_end_are_named() {
    let cluster = Cluster::up(&[]);
    let file = cluster.path("file");
    write(&file, b"data");
    let arguments = [
        "stage",
        "in",
        text(&file),
        "/file",
        "--hosts",
        "gone",
        "--launcher",
        "true {host}",
    ];
    let failed = cluster.command(&arguments).assert();
    let output = failed.get_output();
    assert!(matches!(output.status.code(), Some(3 | 4)), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("gone"), "{error}");
    cluster.command(&["cat", "/file"]).assert().code(3);
}

#[test]
fn a_copy_without_one_of_its_servers_ends_with_its_reason() {
    let cluster = Cluster::up(&["--servers", "4", "--give-up", "1"]);
    let (tree, back) = (cluster.path("tree"), cluster.path("back"));
    crate::common::spread(&tree);
    assert_eq!(cluster.json(&["stage", "in", text(&tree), "/tree"]).0, 0);
    cluster.kill(3);
    let failed = cluster
        .command(&["stage", "out", "/tree", text(&back)])
        .assert()
        .code(4);
    let error = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(error.contains("a server does not answer"), "{error}");
    let (code, report) = cluster.json(&["stage", "in", text(&tree), "/tree"]);
    assert_eq!((code, &report["complete"]), (4, &false.into()), "{report}");
    assert!(report["failures"][0]["error"].is_string(), "{report}");
    let rescue = ["stage", "out", "/tree", text(&back), "--keep-going"];
    let (code, report) = cluster.json(&rescue);
    assert_eq!((code, &report["complete"]), (1, &false.into()), "{report}");
    assert!(report["unchanged"].as_u64().unwrap() + report["files"].as_u64().unwrap() > 0);
}

#[test]
fn an_interrupted_copy_says_so_and_is_continued() {
    let cluster = Cluster::up(&[]);
    let (tree, back) = (cluster.path("tree"), cluster.path("back"));
    fs::create_dir(&tree).unwrap();
    for number in 0..4 {
        write(
            &tree.join(format!("large-{number}")),
            &vec![number; 8 << 20],
        );
    }
    // The clients of the copy wait, because their host does not answer.
    let mut copy = Command::new(futago().get_program())
        .args(["stage", "in", text(&tree), "/tree", "--hosts", "slow"])
        .args(["--launcher", "sh -c 'exec sleep 100' {host}"])
        .env("FUTAGO_CLUSTER", cluster.file())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&copy);
    crate::common::wait_for(|| has_child(pid));
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(copy.wait().unwrap().code(), Some(130));
    assert_eq!(cluster.json(&["stage", "in", text(&tree), "/tree"]).0, 0);
    assert_eq!(cluster.json(&["stage", "out", "/tree", text(&back)]).0, 0);
    assert_same(&tree, &back);
}

/// Whether a process has started another.
fn has_child(pid: rustix::process::Pid) -> bool {
    let mut processes = procfs::process::all_processes().unwrap().flatten();
    processes.any(|process| {
        process
            .stat()
            .is_ok_and(|stat| stat.ppid == pid.as_raw_nonzero().get() && stat.comm == "sleep")
    })
}

#[test]
fn what_cannot_be_copied_is_named_and_the_rest_is_there() {
    let cluster = Cluster::up(&[]);
    let (tree, out) = (cluster.path("tree"), cluster.path("out"));
    fs::create_dir(&tree).unwrap();
    write(&tree.join("file"), b"data");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, tree.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(cluster.json(&["stage", "in", text(&tree), "/tree"]).0, 0);
    fs::create_dir_all(out.join("file")).unwrap();
    let (code, report) = cluster.json(&["stage", "out", "/tree", text(&out)]);
    assert_eq!((code, &report["specials"]), (1, &1.into()), "{report}");
    let failure = report["failures"][0]["path"].as_str().unwrap();
    assert!(failure.ends_with("out/file"), "{report}");
    assert!(out.join("file").is_dir());
}
