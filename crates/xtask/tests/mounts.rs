//! The checker of several mounts, checked itself on plain directories.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn check(first: &Path, second: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["suite", "mounts", "--seeds", "1", "--rounds", "300"])
        .args([first, second])
        .output()
        .expect("xtask runs")
}

/// Two paths of one directory are what two mounts must be.
#[test]
fn one_directory_twice_passes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = check(directory.path(), directory.path());
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("1 passed, 0 failed, 0 skipped\n"));
}

/// Two directories that have nothing to do with each other.
#[test]
fn strangers_are_found_out() {
    let (first, second) = (tempfile::tempdir(), tempfile::tempdir());
    let (first, second) = (first.expect("a directory"), second.expect("a directory"));
    let output = check(first.path(), second.path());
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("is not there at once"));
}

/// The same, but each has the directory in which the operations happen.
#[test]
fn a_file_that_the_other_mount_does_not_see_is_found_out() {
    let (first, second) = (tempfile::tempdir(), tempfile::tempdir());
    let (first, second) = (first.expect("a directory"), second.expect("a directory"));
    fs::create_dir(second.path().join("mounts-1")).expect("a directory");
    let output = check(first.path(), second.path());
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("no order of the operations"));
}
