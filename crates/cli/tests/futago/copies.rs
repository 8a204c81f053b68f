//! Trees go in and come out with all that a file system knows of them.

use crate::common::{Cluster, futago, write};
use rustix::fs::{CWD, Mode, XattrFlags};
use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
};

/// Path, mode, size, links, owner, time and target of each file of a tree.
fn described(tree: &Path) -> Vec<String> {
    let format = "%P %M %s %n %U %G %T@ %l\n";
    let found = Command::new("find")
        .arg(tree)
        .args(["-printf", format])
        .output();
    let text = String::from_utf8(found.unwrap().stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A tree with one of everything.
fn plant(tree: &Path) {
    fs::create_dir_all(tree.join("directory/deeper")).unwrap();
    write(&tree.join("directory/file"), b"content");
    fs::hard_link(tree.join("directory/file"), tree.join("second name")).unwrap();
    symlink("directory/file", tree.join("link")).unwrap();
    symlink("nowhere", tree.join("dangling")).unwrap();
    symlink("..", tree.join("directory/loop")).unwrap();
    let sparse = File::create(tree.join("sparse")).unwrap();
    sparse.set_len(64 << 20).unwrap();
    sparse.write_all_at(b"island", 40 << 20).unwrap();
    let script = tree.join("directory/script");
    write(&script, b"#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4751)).unwrap();
    rustix::fs::lsetxattr(&script, "user.colour", b"red", XattrFlags::empty()).unwrap();
    let directory = tree.join("directory/deeper");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).unwrap();
    let touched = Command::new("find")
        .arg(tree)
        .args([
            "-depth",
            "-exec",
            "touch",
            "-h",
            "-d",
            "2001-02-03 04:05:06.789",
            "{}",
            "+",
        ])
        .status();
    assert!(touched.unwrap().success());
}

#[test]
fn a_tree_keeps_links_holes_times_modes_and_extended_attributes() {
    let cluster = Cluster::up(&["--servers", "2", "--chunk-size", "64KiB"]);
    let (tree, back) = (cluster.path("tree"), cluster.path("back"));
    plant(&tree);
    let (code, copied) = cluster.json(&["put", "-r", text(&tree), "/copy"]);
    assert_eq!((code, &copied["symlinks"]), (0, &3.into()), "{copied}");
    assert!(
        copied["bytes"].as_u64().unwrap() < 1 << 20,
        "holes are none: {copied}"
    );
    let (code, copied) = cluster.json(&["get", "-r", "/copy", text(&back)]);
    assert_eq!((code, &copied["files"]), (0, &4.into()), "{copied}");

    assert_eq!(described(&back), described(&tree));
    let names = ["directory/file", "second name"].map(|name| back.join(name));
    let nodes = names.map(|name| fs::metadata(name).unwrap().ino());
    assert_eq!(nodes[0], nodes[1]);
    assert!(fs::read(back.join("sparse")).unwrap() == fs::read(tree.join("sparse")).unwrap());
    assert!(fs::metadata(back.join("sparse")).unwrap().blocks() < 4096);
    let mut colour = [0; 16];
    let script = back.join("directory/script");
    let length = rustix::fs::lgetxattr(script, "user.colour", &mut colour[..]).unwrap();
    assert_eq!(&colour[..length], b"red");
    assert_eq!(cluster.json(&["fsck"]).0, 0);

    // Once more over what is there: nothing is added, and nothing is left over.
    for _ in 0..2 {
        let put = cluster.json(&["put", "-r", text(&tree), "/"]);
        assert_eq!(put.0, 0);
        assert_eq!(cluster.json(&["get", "-r", "/tree", text(&back)]).0, 0);
    }
    assert_eq!(described(&back.join("tree")), described(&tree));
}

#[test]
fn special_files_are_copied_with_trees_alone() {
    let cluster = Cluster::up(&[]);
    let (tree, back) = (cluster.path("tree"), cluster.path("back"));
    fs::create_dir(&tree).unwrap();
    write(&tree.join("file"), b"content");
    let (mode, pipe) = (Mode::from_raw_mode(0o600), tree.join("pipe"));
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let refused = cluster
        .command(&["put", text(&pipe), "/pipe"])
        .assert()
        .code(3);
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(error.contains("tree/pipe"), "{error}");
    assert_eq!(cluster.json(&["put", "-r", text(&tree), "/copy"]).0, 0);
    assert_eq!(cluster.json(&["get", "-r", "/copy", text(&back)]).0, 0);
    assert_eq!(described(&back), described(&tree));
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let cluster = Cluster::up(&[]);
    let file = cluster.path("file");
    write(&file, b"content");
    for arguments in [
        ["put", text(&file), "/missing/"],
        ["put", text(&file), "/missing/name"],
        ["get", "/file", text(&cluster.path("missing/"))],
    ] {
        cluster
            .command(&["put", text(&file), "/file"])
            .assert()
            .success();
        let arguments = arguments.map(|word| word.to_owned());
        let refused = cluster
            .command(&arguments.each_ref().map(String::as_str))
            .assert()
            .code(3);
        let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(error.contains("missing"), "{error}");
    }
    assert!(!cluster.path("missing").exists());
}

#[test]
fn devices_are_written_to_and_links_stay() {
    let cluster = Cluster::up(&[]);
    let (file, link) = (cluster.path("file"), cluster.path("link"));
    write(&file, b"content");
    symlink("file", &link).unwrap();
    cluster
        .command(&["put", text(&link), "/file"])
        .assert()
        .success();
    write(&file, b"before");
    cluster
        .command(&["get", "/file", text(&link)])
        .assert()
        .success();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"content");
    cluster
        .command(&["get", "/file", "/dev/null"])
        .assert()
        .success();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// The old file stays until the new one is complete.
#[test]
fn a_copy_that_is_ended_leaves_what_was_there() {
    let cluster = Cluster::up(&[]);
    let old = cluster.path("old");
    write(&old, b"old");
    cluster
        .command(&["put", text(&old), "/file"])
        .assert()
        .success();
    let mut put = Command::new(futago().get_program());
    put.args(["put", "-", "/file"])
        .env("FUTAGO_CLUSTER", cluster.file());
    let mut put = put.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = put.stdin.take().unwrap();
    // More than is read at once: the copy has begun when it is taken.
    std::io::Write::write_all(&mut input, &vec![7; 3 << 20]).unwrap();
    let pid = rustix::process::Pid::from_child(&put);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    std::io::Write::write_all(&mut input, &vec![7; 3 << 20]).unwrap_or_default();
    drop(input);
    assert_eq!(put.wait().unwrap().code(), Some(130));
    cluster.command(&["cat", "/file"]).assert().stdout("old");
    let (_, listing) = cluster.json(&["ls"]);
    assert_eq!(listing.as_array().unwrap().len(), 1, "{listing}");
}

#[test]
fn the_root_is_emptied_and_stays() {
    let cluster = Cluster::up(&[]);
    let tree = cluster.path("tree");
    plant(&tree);
    assert_eq!(cluster.json(&["put", "-r", text(&tree), "/"]).0, 0);
    cluster.command(&["rm", "/"]).assert().code(3);
    let removed = cluster.command(&["rm", "-r", "/"]).assert().success();
    let error = String::from_utf8_lossy(&removed.get_output().stderr).into_owned();
    assert!(error.contains("stays"), "{error}");
    assert_eq!(cluster.json(&["ls"]).1, serde_json::json!([]));
}

#[test]
fn listings_look_like_those_of_ls() {
    let cluster = Cluster::up(&[]);
    let tree = cluster.path("tree");
    plant(&tree);
    write(&tree.join(".hidden"), b"");
    assert_eq!(cluster.json(&["put", "-r", text(&tree), "/"]).0, 0);
    let list = |arguments: &[&str]| {
        let listed = cluster
            .command(arguments)
            .env("TZ", "UTC")
            .assert()
            .success();
        String::from_utf8(listed.get_output().stdout.clone()).unwrap()
    };
    let names = "dangling\ndirectory\nlink\nsecond name\nsparse\n";
    assert_eq!(list(&["ls", "/tree"]), names);
    assert_eq!(list(&["ls", "-a", "/tree"]), format!(".hidden\n{names}"));
    let long = list(&["ls", "-lhn", "/tree"]);
    let lines: Vec<Vec<&str>> = long
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0][0], "lrwxrwxrwx");
    assert_eq!(
        lines[0][5..],
        ["Feb", "3", "2001", "dangling", "->", "nowhere"],
        "{long}"
    );
    assert_eq!(lines[1][0], "drwxr-xr-x");
    assert_eq!(lines[4][4], "64.0M", "{long}");
    let directory = list(&["ls", "-ld", "/tree"]);
    assert!(directory.starts_with("drwxr-xr-x ") && directory.ends_with("/tree\n"));
}
