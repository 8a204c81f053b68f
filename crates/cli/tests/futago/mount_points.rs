//! Directories that a mount may not cover.

use crate::common::{Cluster, futago};
use std::path::Path;

/// The message of a refused command.
fn refusal(command: &mut assert_cmd::Command) -> String {
    let output = command.assert().code(3).get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_mount_over_what_its_own_process_needs_is_refused() {
    let cluster = Cluster::up(&[]);
    let runtime = cluster.load().runtime_directory.unwrap();
    let below = runtime.join("below");
    std::fs::create_dir(&below).unwrap();
    let above = runtime.parent().unwrap();
    for point in [
        above,
        &runtime,
        &below,
        cluster.directory.path(),
        Path::new("/"),
    ] {
        for foreground in [&[][..], &["--foreground"]] {
            let mut mount = cluster.command(&["mount", "--allow-non-empty"]);
            let error = refusal(mount.args(foreground).arg(point));
            assert!(
                error.contains("would hide") || error.contains("runtime directory"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_cluster_that_cannot_be_mounted_is_not_started() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = directory.path().join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let file = directory.path().join("c.toml");
    for permission in [&[][..], &["--allow-non-empty"]] {
        let mut up = futago();
        up.env("XDG_RUNTIME_DIR", &runtime);
        up.arg("up").args(permission).arg("--mount").arg(&runtime);
        let error = refusal(up.arg("--cluster").arg(&file));
        assert!(error.contains("would hide"), "{error}");
        assert!(!file.exists());
        assert_eq!(std::fs::read_dir(&runtime).unwrap().count(), 0);
    }
}

#[test]
fn a_directory_that_is_not_empty_is_covered_only_if_that_is_asked_for() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    let cluster = Cluster::up(&[]);
    let point = cluster.path("mount");
    std::fs::create_dir(&point).unwrap();
    std::fs::write(point.join("hidden"), b"").unwrap();
    let error = refusal(cluster.command(&["mount"]).arg(&point));
    assert!(error.contains("--allow-non-empty"), "{error}");
    let mut mount = cluster.command(&["mount", "--allow-non-empty"]);
    mount.arg(&point).assert().success();
    assert!(!point.join("hidden").exists());
    futago().arg("umount").arg(&point).assert().success();
    assert!(point.join("hidden").exists());
}
