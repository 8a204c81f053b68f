//! The examples do on a real server what they say.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod one_server;

use futago_node::{
    Options,
    blocking::{FileSystem, OpenOptions},
    server::Servers,
};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

const NEW: OpenOptions = OpenOptions {
    create: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// A server, its cluster file, and a client.
fn start() -> (Servers, TempDir, FileSystem) {
    let directory = tempfile::tempdir().unwrap();
    let config = one_server::config(directory.path());
    let servers = Servers::start(&config).unwrap();
    config.cluster.create(&cluster_file(&directory)).unwrap();
    let files = FileSystem::connect(&config.cluster, Options::default()).unwrap();
    (servers, directory, files)
}

fn cluster_file(directory: &TempDir) -> PathBuf {
    directory.path().join("c.toml")
}

/// The output of an example.
fn output(example: &str, cluster: &Path, words: &[&str]) -> String {
    let tests = env::current_exe().unwrap();
    let target = tests.parent().unwrap().parent().unwrap();
    let mut command = Command::new(target.join("examples").join(example));
    let output = command.arg(cluster).args(words).output();
    let output = output.expect("cargo test without --test builds the examples");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn results_are_written_and_read_back() {
    let (_servers, directory, _files) = start();
    let printed = output("results", &cluster_file(&directory), &[]);
    assert_eq!(printed, "999 998001\n");
}

#[test]
fn files_are_tagged_once() {
    let (_servers, directory, files) = start();
    files.create_directory(b"/d", 0o755).unwrap();
    files.create_directory(b"/d/none", 0o755).unwrap();
    files.open(b"/d/one", NEW).unwrap();
    let tag = |tag| output("tag_files", &cluster_file(&directory), &["/d", tag]);
    assert_eq!(tag("checked"), "one\n");
    files.open(b"/d/two", NEW).unwrap();
    assert_eq!(tag("late"), "two\n");
    assert_eq!(
        files.xattr(b"/d/one", true, b"user.tag").unwrap(),
        "checked"
    );
}

#[test]
fn files_are_copied_in_blocks() {
    const BYTES: u32 = (40 << 20) + 77;
    let (_servers, directory, files) = start();
    let data: Vec<u8> = (0..BYTES).map(|n| (n / 5 % 251) as u8).collect();
    let source = files.open(b"/source", NEW).unwrap();
    source.write_from(&data, 0).unwrap();
    let words = ["/source", "/copy"];
    assert_eq!(output("copy_file", &cluster_file(&directory), &words), "");
    let copy = files.open(b"/copy", OpenOptions::default()).unwrap();
    assert!(copy.read_at(0, BYTES + 1).unwrap() == data);
}

#[test]
fn large_files_are_found() {
    let (_servers, directory, files) = start();
    for (name, bytes) in [("/small", 16 << 20), ("/large", (16 << 20) + 1)] {
        let file = files.open(name.as_bytes(), NEW).unwrap();
        file.set_size(bytes).unwrap();
        file.close().unwrap();
    }
    let printed = output("large_files", &cluster_file(&directory), &["/"]);
    assert_eq!(printed, "/large\n");
}
