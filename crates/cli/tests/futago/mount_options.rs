//! Options that every file system has, on real mounts.

use crate::common::{Cluster, futago};
use std::{
    fs,
    io::{Error, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A cluster, and a directory to mount it on; `None`, with a word about why, if options of root
/// cannot be tried.
fn cluster() -> Option<(Cluster, PathBuf)> {
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        println!("skipped: /dev/fuse is missing, or this is not root");
        return None;
    }
    let cluster = Cluster::up(&[]);
    let point = cluster.path("mount");
    fs::create_dir(&point).unwrap();
    Some((cluster, point))
}

fn mount(cluster: &Cluster, point: &Path, options: &str) -> assert_cmd::assert::Assert {
    let mut mount = cluster.command(&["mount", "--options", options]);
    mount.arg(point).assert()
}

fn unmount(point: &Path) {
    futago().arg("umount").arg(point).assert().success();
}

/// Source and options in the kernel's table.
fn table(point: &Path) -> (String, Vec<String>) {
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (Path::new(fields[1]) == point).then_some(fields)
    });
    let line = line.unwrap();
    let words = line[3].split(',').map(String::from).collect();
    (line[0].to_owned(), words)
}

fn has(point: &Path, word: &str) -> bool {
    table(point).1.iter().any(|option| option == word)
}

/// A program that says nothing.
fn make_program(path: &Path) {
    fs::write(path, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(path: &Path) -> Result<(), Error> {
    let status = Command::new(path).stdin(Stdio::null()).status()?;
    status
        .success()
        .then_some(())
        .ok_or(ErrorKind::Other.into())
}

#[test]
fn the_kernel_ignores_devices_and_set_ids_unless_root_asks_for_them() {
    let Some((cluster, point)) = cluster() else {
        return;
    };
    mount(&cluster, &point, "rw").success();
    assert!(has(&point, "nodev") && has(&point, "nosuid") && !has(&point, "noexec"));
    let device = point.join("null");
    let number = rustix::fs::makedev(1, 3);
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    let kind = rustix::fs::FileType::CharacterDevice;
    rustix::fs::mknodat(rustix::fs::CWD, &device, kind, mode, number).unwrap();
    let refused = fs::read(&device).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    unmount(&point);
    mount(&cluster, &point, "dev,suid,fsname=scratch").success();
    assert!(!has(&point, "nodev") && !has(&point, "nosuid"));
    assert_eq!(table(&point).0, "scratch");
    assert_eq!(fs::read(&device).unwrap(), b"");
    unmount(&point);
}

#[test]
fn a_remount_changes_what_the_kernel_allows_and_nothing_else() {
    let Some((cluster, point)) = cluster() else {
        return;
    };
    mount(&cluster, &point, "noexec,fsname=scratch").success();
    let program = point.join("program");
    make_program(&program);
    let refused = run(&program).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    mount(&cluster, &point, "remount,exec,fsname=scratch").success();
    run(&program).unwrap();
    let held = fs::File::options().append(true).open(&program).unwrap();
    let busy = mount(&cluster, &point, "remount,ro").failure();
    let error = String::from_utf8(busy.get_output().stderr.clone()).unwrap();
    assert!(error.contains("busy"), "{error}");
    drop(held);
    mount(&cluster, &point, "remount,ro").success();
    let refused = fs::write(point.join("new"), b"").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnlyFilesystem);
    assert!(has(&point, "nodev") && has(&point, "nosuid") && has(&point, "ro"));
    assert_eq!(table(&point).0, "scratch");
    mount(&cluster, &point, "remount,rw").success();
    fs::write(point.join("new"), b"").unwrap();
    unmount(&point);
}

#[test]
fn a_remount_needs_a_mount() {
    let Some((cluster, point)) = cluster() else {
        return;
    };
    let refused = mount(&cluster, &point, "remount,ro").failure();
    let error = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(
        error.contains("no Futago file system is mounted"),
        "{error}"
    );
}
