//! Files go in and come out, and a lost server costs its own files only.

use crate::common::{Cluster, write};
use serde_json::Value;
use std::{ffi::OsString, os::unix::ffi::OsStringExt};

#[test]
fn a_tree_goes_in_and_comes_out_as_it_was() {
    let cluster = Cluster::up(&["--servers", "3", "--chunk-size", "64KiB"]);
    let tree = cluster.path("tree");
    std::fs::create_dir_all(tree.join("below")).unwrap();
    let large: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    write(&tree.join("large"), &large);
    write(&tree.join("below/empty"), b"");
    let strange = OsString::from_vec(b"bad\xff\\name".to_vec());
    write(&tree.join(&strange), b"strange");
    let (code, copied) = cluster.json(&["put", "-r", tree.to_str().unwrap(), "/new"]);
    assert_eq!(
        (code, &copied["files"], &copied["bytes"]),
        (0, &Value::from(3), &Value::from(300_007))
    );
    let (_, listing) = cluster.json(&["ls", "/new"]);
    let names: Vec<&str> = listing
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bad\\xff\\\\name", "below", "large"]);
    let back = cluster.path("back");
    cluster
        .command(&["get", "-r", "/new", back.to_str().unwrap()])
        .assert()
        .success();
    assert_eq!(std::fs::read(back.join("large")).unwrap(), large);
    assert_eq!(std::fs::read(back.join(&strange)).unwrap(), b"strange");
    assert_eq!(std::fs::read(back.join("below/empty")).unwrap(), b"");
    cluster
        .command(&["cat", "/new/large"])
        .assert()
        .success()
        .stdout(large);
    cluster.command(&["rm", "/new"]).assert().code(3);
    assert_eq!(cluster.json(&["rm", "-r", "/new"]).1["removed"], 5);
    assert_eq!(cluster.json(&["ls"]).1, Value::Array(Vec::new()));
    assert_eq!(cluster.json(&["fsck"]).0, 0);
}

#[test]
fn status_tells_where_chunks_and_buckets_are() {
    let cluster = Cluster::up(&["--servers", "4", "--chunk-size", "4KiB"]);
    let file = cluster.path("file");
    write(&file, &[1; 10_000]);
    cluster
        .command(&["put", file.to_str().unwrap(), "/file"])
        .assert()
        .success();
    let (_, status) = cluster.json(&["status", "--path", "/file"]);
    assert_eq!(status["path"]["chunks"].as_array().unwrap().len(), 3);
    assert_eq!(status["path"]["servers"].as_array().unwrap().len(), 3);
    let (_, status) = cluster.json(&["status", "--path", "/"]);
    assert_eq!(status["path"]["buckets"].as_array().unwrap().len(), 1);
    assert_eq!(status["path"]["buckets"][0]["entries"], 1);
}

#[test]
fn what_is_not_there_is_named() {
    let cluster = Cluster::up(&[]);
    let output = cluster.command(&["cat", "/no/such"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("/no/such") && error.contains("ENOENT"),
        "{error}"
    );
}

#[test]
fn without_one_server_the_files_of_the_others_stay() {
    let cluster = Cluster::up(&["--servers", "4", "--give-up", "0.5"]);
    let local = cluster.path("local");
    write(&local, b"kept");
    let names: Vec<String> = (0..16).map(|n| format!("/{n}/file")).collect();
    for (number, name) in names.iter().enumerate() {
        let directory = cluster.path(&number.to_string());
        std::fs::create_dir(&directory).unwrap();
        cluster
            .command(&["put", "-r", directory.to_str().unwrap(), "/"])
            .assert()
            .success();
        cluster
            .command(&["put", local.to_str().unwrap(), name])
            .assert()
            .success();
    }
    // Server 0 holds the root directory, without which no path leads anywhere.
    cluster.kill(3);
    assert_eq!(cluster.json(&["status", "--wait", "0.5"]).0, 1);
    let codes: Vec<i32> = names
        .iter()
        .map(|name| {
            let output = cluster.command(&["cat", name]).output().unwrap();
            let code = output.status.code().unwrap();
            assert!(
                code == 4 || (code == 0 && output.stdout == b"kept"),
                "{name}: {output:?}"
            );
            code
        })
        .collect();
    assert!(codes.contains(&0) && codes.contains(&4), "{codes:?}");
    the_living_are_saved(&cluster, codes.iter().filter(|&&code| code == 0).count());
}

/// Lists, copies and removes what there is beside a server that is gone.
fn the_living_are_saved(cluster: &Cluster, alive: usize) {
    let (code, listing) = cluster.json(&["ls", "/"]);
    let rows = listing.as_array().unwrap();
    assert_eq!((code, rows.len()), (1, 16));
    assert!(rows.iter().all(|row| row["kind"] == "directory"));
    let known = rows.iter().filter(|row| row["mode"].is_string()).count();
    assert!(0 < known && known < 16, "{listing}");
    let saved = cluster.path("saved");
    let get = cluster.json(&["get", "-r", "/", saved.to_str().unwrap()]);
    assert_eq!((get.0, &get.1["files"]), (1, &Value::from(alive)));
    let (code, rows) = cluster.json(&["df"]);
    assert_eq!((code, rows.as_array().unwrap().len()), (1, 4));
    let fsck = cluster.command(&["fsck"]).assert().code(4);
    let error = String::from_utf8_lossy(&fsck.get_output().stderr).into_owned();
    assert!(error.contains("server 3"), "{error}");
    let paths: Vec<String> = (0..16).map(|number| format!("/{number}")).collect();
    let mut remove = vec!["rm", "-r"];
    remove.extend(paths.iter().map(String::as_str));
    let (code, removed) = cluster.json(&remove);
    assert!(
        code == 1 && removed["removed"].as_u64() > Some(alive as u64),
        "{removed}"
    );
}

#[test]
fn a_slash_at_the_end_of_a_path_demands_a_directory() {
    let cluster = Cluster::up(&[]);
    let file = cluster.path("file");
    write(&file, b"data");
    let file = file.to_str().unwrap();
    cluster.command(&["put", file, "/new/"]).assert().failure();
    cluster.command(&["put", file, "/f"]).assert().success();
    cluster.command(&["put", file, "/f/"]).assert().failure();
    cluster.command(&["rm", "/f/"]).assert().failure();
    cluster.command(&["rm", "-r", "/f/"]).assert().failure();
    cluster.command(&["rm", "/f"]).assert().success();
}
