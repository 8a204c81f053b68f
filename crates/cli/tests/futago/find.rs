//! Parallel find: what GNU find finds, also without a server, and while directories grow.

use crate::common::{Cluster, closed, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::Read,
    os::unix::{ffi::OsStringExt, fs::symlink},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

/// A tree with all that tests look at.
fn make(tree: &Path) {
    for directory in ["a/b/c", "a/empty", "logs", ".hidden"] {
        fs::create_dir_all(tree.join(directory)).unwrap();
    }
    for (name, size) in [
        ("a/one.txt", 1),
        ("a/b/README", 512),
        ("a/b/c/readme.md", 513),
        ("a/b/c/x[1].c", 2048),
        ("logs/.old", 0),
        ("logs/gr\u{fc}n.txt", 4),
        (".hidden/large", 3 << 20),
    ] {
        write(&tree.join(name), &vec![7; size]);
    }
    symlink("nowhere", tree.join("a/link.txt")).unwrap();
    let strange = OsString::from_vec(b"logs/two\nlines\xff.txt".to_vec());
    write(&tree.join(strange), b"strange");
    for number in 0..300 {
        write(&tree.join(format!("logs/{number:03}.log")), b"log");
    }
    let days = |days: u64| {
        std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400 + 3600)
    };
    for (name, age) in [("a/one.txt", 1), ("a/b/README", 5), ("logs/007.log", 2)] {
        let file = fs::File::options()
            .write(true)
            .open(tree.join(name))
            .unwrap();
        file.set_modified(days(age)).unwrap();
    }
}

/// The paths that `find` has printed with NUL at the end of each.
fn paths(output: &[u8]) -> BTreeSet<Vec<u8>> {
    let all: Vec<Vec<u8>> = output
        .split_inclusive(|&byte| byte == 0)
        .map(|path| path.strip_suffix(b"\0").unwrap().to_vec())
        .collect();
    let set: BTreeSet<Vec<u8>> = all.iter().cloned().collect();
    assert_eq!(set.len(), all.len(), "a path is printed twice");
    set
}

#[test]
fn tests_mean_what_they_mean_for_gnu_find() {
    let cluster = Cluster::up(&["--servers", "4"]);
    let tree = cluster.path("tree");
    make(&tree);
    let put = ["put", "-r", tree.to_str().unwrap(), "/tree"];
    cluster.command(&put).assert().success();
    for line in [
        "",
        "-name *.txt",
        "-name *",
        "-name .*",
        "-name tree",
        "-name x\\[1\\].c",
        "-name [!0-9]*.[ch]",
        "-name [[:upper:]]*",
        "-name gr?n.txt",
        "-name gr[\u{e0}-\u{ff}]n.txt",
        "-name [!a]?n.txt",
        "-name *lines?.txt",
        "-iname readme*",
        "-size 1 -type f",
        "-size 1k -type f",
        "-size -1k -type f",
        "-size +1b -type f",
        "-size 513c -type f",
        "-size +1M -type f",
        "-size -2M -name *e* -type f",
        "-type f",
        "-type d",
        "-type l,d",
        "-type p",
        "-newer /tree/a/b/README -type f",
        "-newer /tree/logs/007.log -name *.log",
        "-mtime 0 -type f",
        "-mtime 1",
        "-mtime +1 -type f",
        "-mtime -2 -type f",
        "-user 0",
        "-user 4711",
        "-maxdepth 0",
        "-maxdepth 1",
        "-mindepth 2 -maxdepth 3",
        "-mindepth 9",
        "-maxdepth 2 -type f -name [0-9]*",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = gnu(&cluster.directory.path().join("tree"), &words);
        let ours = [&["find", "/tree"], &words[..], &["-print0"]].concat();
        let output = cluster.command(&ours).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        let found = paths(&output.stdout);
        let differs: Vec<_> = found.symmetric_difference(&expected).take(5).collect();
        assert!(differs.is_empty(), "{line}: {differs:?}");
        let counted = [&["find", "/tree"], &words[..], &["-count"]].concat();
        let output = cluster.command(&counted).output().unwrap();
        let count = format!("{}\n", expected.len());
        assert_eq!(String::from_utf8_lossy(&output.stdout), count, "{line}");
    }
}

/// The paths that GNU find finds in the tree, as those of the cluster. Sizes of directories differ.
fn gnu(tree: &Path, words: &[&str]) -> BTreeSet<Vec<u8>> {
    let prefix = tree.parent().unwrap().to_str().unwrap();
    let local = |word: &&str| match word.strip_prefix('/') {
        Some(path) => format!("{prefix}/{path}"),
        None => (*word).to_owned(),
    };
    let mut command = Command::new("find");
    command
        .env("LC_ALL", "C.UTF-8")
        .arg(tree)
        .args(words.iter().map(local));
    let output = command.arg("-print0").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let cut = |path: &Vec<u8>| path[prefix.len()..].to_vec();
    paths(&output.stdout).iter().map(cut).collect()
}

#[test]
fn output_is_bytes_objects_or_a_number() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let tree = cluster.path("tree");
    fs::create_dir(&tree).unwrap();
    let strange = OsString::from_vec(b"two\nlines\xff".to_vec());
    write(&tree.join(strange), b"strange");
    let put = ["put", "-r", tree.to_str().unwrap(), "/tree"];
    cluster.command(&put).assert().success();
    let find = ["find", "tree/", "-type", "f"];
    let output = cluster.command(&find).output().unwrap();
    assert_eq!(output.stdout, b"/tree/two\nlines\xff\n");
    let (code, found) = cluster.json(&find);
    assert_eq!(code, 0);
    assert_eq!(found["path"], "/tree/two\\x0alines\\xff");
    assert_eq!(
        (&found["kind"], &found["size"]),
        (&"file".into(), &7.into())
    );
    let (_, counted) = cluster.json(&["find", "-count"]);
    assert_eq!(counted, serde_json::json!({ "count": 3 }));
    let mut closed_output = Command::new(env!("CARGO_BIN_EXE_futago"));
    closed_output
        .args(["find", "/"])
        .env("FUTAGO_CLUSTER", cluster.file());
    let status = closed_output.stdout(closed()).status().unwrap();
    assert_eq!(status.code(), Some(141));
}

/// Files whose paths together are longer than a pipe takes.
fn make_long_names(tree: &Path) {
    let directory = tree.join("d".repeat(200));
    fs::create_dir_all(&directory).unwrap();
    for number in 0..400 {
        write(&directory.join(format!("{number:0>200}")), b"");
    }
}

#[test]
fn a_signal_ends_a_search_after_a_whole_line() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let tree = cluster.path("tree");
    make_long_names(&tree);
    let put = ["put", "-r", tree.to_str().unwrap(), "/tree"];
    cluster.command(&put).assert().success();
    for (signal, end) in [(Signal::INT, b'\n'), (Signal::TERM, b'\0')] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_futago"));
        command.args(["find", "/tree"]);
        command.args((end == b'\0').then_some("-print0"));
        command.env("FUTAGO_CLUSTER", cluster.file());
        let mut search = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = vec![0; 1];
        let out = search.stdout.as_mut().unwrap();
        // The rest does not fit into the pipe, so the search cannot end by itself.
        out.read_exact(&mut printed).unwrap();
        kill_process(Pid::from_child(&search), signal).unwrap();
        assert_eq!(search.wait().unwrap().code(), Some(130));
        out_of(search).read_to_end(&mut printed).unwrap();
        let lines: Vec<&[u8]> = printed.split_inclusive(|&byte| byte == end).collect();
        assert!(lines.len() < 402, "{}", lines.len());
        assert!(lines.iter().all(|line| is_whole(line, end)), "{lines:?}");
    }
}

fn out_of(search: Child) -> ChildStdout {
    search.stdout.unwrap()
}

/// Whether a path is that of the tree, its directory or one of the files.
fn is_whole(line: &[u8], end: u8) -> bool {
    let lengths = ["/tree".len(), "/tree/".len() + 200, "/tree//".len() + 400];
    line.last() == Some(&end) && lengths.contains(&(line.len() - 1))
}

#[test]
fn wrong_arguments_and_paths_are_named() {
    let cluster = Cluster::up(&[]);
    for wrong in [
        &["-size", "1T"][..],
        &["-mtime", "x"],
        &["-type", "x"],
        &["-count", "-print0"],
        &["-exec"],
    ] {
        let words = [&["find", "/"], wrong].concat();
        cluster.command(&words).assert().code(2);
    }
    for words in [
        &["find", "/no/such"][..],
        &["find", "/", "-newer", "/no/such"],
    ] {
        let output = cluster.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("/no/such") && error.contains("ENOENT"),
            "{error}"
        );
    }
}

#[test]
fn without_one_server_the_rest_is_found_and_the_loss_is_reported() {
    let cluster = Cluster::up(&["--servers", "4", "--give-up", "0.5"]);
    let tree = cluster.path("tree");
    for number in 0..32 {
        let directory = tree.join(format!("{number}"));
        fs::create_dir_all(&directory).unwrap();
        write(&directory.join("file"), b"data");
    }
    let put = ["put", "-r", tree.to_str().unwrap(), "/tree"];
    cluster.command(&put).assert().success();
    let home = status_of(&cluster, "/tree");
    // Neither the root's server nor that of the tree, so that the search can begin.
    let victim = (1..4).find(|server| *server != home).unwrap();
    cluster.kill(victim);
    for words in [&["-name", "file"][..], &["-name", "file", "-size", "1"]] {
        let words = [&["find", "/tree"], words].concat();
        let output = cluster.command(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("a server does not answer"), "{error}");
        let found = output.stdout.iter().filter(|&&byte| byte == b'\n').count();
        assert!(0 < found && found < 32, "{found}");
    }
}

/// The server of the only bucket of a directory.
fn status_of(cluster: &Cluster, path: &str) -> usize {
    let (_, status) = cluster.json(&["status", "--path", path]);
    let buckets: &Value = &status["path"]["buckets"];
    buckets[0]["server"].as_u64().unwrap() as usize
}
