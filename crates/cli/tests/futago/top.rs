//! `top` shows the present work of servers, and waiting requests.

use crate::common::Cluster;
use futago_base::record::{LockKind, LockRange, LockSpace};
use futago_client::Cancel;
use futago_node::{
    Futago, Options,
    blocking::{FileSystem, OpenOptions},
};
use futago_wire::LockChange;
use serde_json::Value;

const TOP: [&str; 4] = ["top", "--once", "--interval", "0.05"];

#[test]
fn rates_of_every_server_and_operation_are_shown() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let (code, rates) = cluster.json(&TOP);
    let servers = rates["servers"].as_array().unwrap();
    assert_eq!((code, servers.len()), (0, 2));
    // It sees its own questions.
    assert!(
        servers
            .iter()
            .all(|server| server["requests_per_s"].as_f64() > Some(0.0))
    );
    assert_eq!(rates["operations"][0]["operation"], "get_status");
    let text = cluster
        .command(&TOP)
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("requests/s") && text.contains("get_status"),
        "{text}"
    );
    cluster.kill(1);
    let (code, rates) = cluster.json(&TOP);
    assert_eq!(
        (code, &rates["servers"][1]),
        (0, &serde_json::json!({"server": 1}))
    );
}

fn whole_file(owner: u64) -> LockChange {
    LockChange {
        space: LockSpace::Whole,
        kind: Some(LockKind::Exclusive),
        owner,
        range: LockRange {
            start: 0,
            end: u64::MAX,
        },
        pid: 0,
    }
}

#[test]
fn who_waits_for_a_lock_is_seen_until_it_is_free() {
    let cluster = Cluster::up(&[]);
    let files = FileSystem::connect(&cluster.load(), Options::default()).unwrap();
    let options = OpenOptions {
        create: true,
        mode: 0o600,
        ..OpenOptions::default()
    };
    let file = files.open(b"/file", options).unwrap();
    let id = file.metadata().unwrap().id;
    let lock = |futago: &Futago, owner: u64| {
        let taken = futago.run_blocking(async |client| {
            client
                .set_lock(id, whole_file(owner), Some(&Cancel::default()))
                .await
        });
        taken.unwrap().unwrap();
    };
    lock(files.futago(), 1);
    let waits = || -> Value { cluster.json(&TOP).1["waiting"].clone() };
    assert_eq!(waits(), serde_json::json!([]));
    std::thread::scope(|scope| {
        let second = scope.spawn(|| lock(files.futago(), 2));
        while waits()
            .get(0)
            .is_none_or(|waits| waits["operation"] != "set_lock")
        {}
        let free = LockChange {
            kind: None,
            ..whole_file(1)
        };
        let freed = files.run(async |client| client.set_lock(id, free, None).await);
        freed.unwrap();
        second.join().unwrap();
    });
    assert_eq!(waits(), serde_json::json!([]));
}
