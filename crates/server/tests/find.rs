//! Searches of a server: what it tests itself, what it leaves to others, and how much it does.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, ROOT, create, name, spot};
use futago_base::{
    BucketStart, FileId, Kind, NameHash,
    record::Entry,
    search::{Case, Comparison, Kinds, Test, Tests},
};
use futago_server::{Config, Output};
use futago_wire::{
    Failure, Reply, Request,
    search::{Detail, FoundEntry, Scan, ScanEnd, Scanned, Subdirectory, Verdict},
};

const ROOT_SCAN: Scan = Scan {
    directory: ROOT,
    bucket: BucketStart(0),
    after: NameHash(0),
    matches: true,
    subdirectories: true,
};

fn find(scans: Vec<Scan>, tests: Vec<Test>, detail: Detail, entries_max: u32) -> Request {
    Request::Find {
        scans,
        tests: Tests(tests),
        detail,
        entries_max,
    }
}

fn ask(cluster: &mut Cluster, server: u16, request: Request) -> Vec<Scanned> {
    match cluster.ask(server, request) {
        Ok(Reply::Scanned(scanned)) => scanned,
        other => panic!("no search: {other:?}"),
    }
}

fn glob(glob: &'static [u8]) -> Test {
    let (glob, case) = (Bytes::from_static(glob), Case::Matters);
    Test::Name { glob, case }
}

fn size(bytes: Comparison) -> Test {
    Test::Size {
        unit_bytes: 1,
        units: bytes,
    }
}

fn found(text: &str, id: FileId, kind: Kind) -> FoundEntry {
    FoundEntry {
        name: name(text),
        entry: Entry { id, kind },
        attributes: None,
    }
}

fn whole(scanned: Scanned) -> Vec<Scanned> {
    let end = ScanEnd::Bucket { level: 0 };
    vec![Scanned { end, ..scanned }]
}

/// A server with two files, of which one has 7 bytes, and a directory.
fn three() -> (Cluster, [FileId; 3]) {
    let mut cluster = Cluster::one();
    let empty = cluster.create(0, spot(ROOT, "a.c")).attributes.id;
    let (made, _) = cluster.ask_with(0, create(spot(ROOT, "b.h")), b"7 bytes");
    let Ok(Reply::Found { entry: full, .. }) = made else {
        panic!("{made:?}");
    };
    let make = Request::MakeDirectory {
        at: spot(ROOT, "c.d"),
        mode: 0o755,
        uid: 1,
        gid: 2,
    };
    let Ok(Reply::Found { entry: below, .. }) = cluster.run(0, make) else {
        panic!("no directory");
    };
    (cluster, [empty, full.id, below.id])
}

#[test]
fn names_and_kinds_are_tested_and_subdirectories_are_listed() {
    let (mut cluster, [empty, _, below]) = three();
    let nothing = Scanned::nothing(ScanEnd::NotBegun);
    let subdirectories = vec![Subdirectory {
        name: name("c.d"),
        id: below,
    }];
    let request = find(vec![ROOT_SCAN], vec![glob(b"*.[ac]")], Detail::Name, 100);
    let expected = Scanned {
        matches: 1,
        found: vec![found("a.c", empty, Kind::File)],
        subdirectories: subdirectories.clone(),
        ..nothing.clone()
    };
    assert_eq!(ask(&mut cluster, 0, request), whole(expected));
    let directories = Test::Kind(Kinds::default().with(Kind::Directory));
    let scan = Scan {
        subdirectories: false,
        ..ROOT_SCAN
    };
    let request = find(vec![scan], vec![directories], Detail::Count, 100);
    let expected = Scanned {
        matches: 1,
        ..nothing.clone()
    };
    assert_eq!(ask(&mut cluster, 0, request), whole(expected));
    let scan = Scan {
        matches: false,
        ..ROOT_SCAN
    };
    let request = find(vec![scan], vec![], Detail::Name, 100);
    let expected = Scanned {
        subdirectories,
        ..nothing
    };
    assert_eq!(ask(&mut cluster, 0, request), whole(expected));
}

#[test]
fn attributes_of_own_files_are_tested() {
    let (mut cluster, [_, full, _]) = three();
    let scan = Scan {
        subdirectories: false,
        ..ROOT_SCAN
    };
    let tests = vec![size(Comparison::More(6))];
    let request = find(vec![scan], tests.clone(), Detail::Name, 100);
    let expected = Scanned {
        matches: 1,
        found: vec![found("b.h", full, Kind::File)],
        ..Scanned::nothing(ScanEnd::NotBegun)
    };
    assert_eq!(ask(&mut cluster, 0, request), whole(expected));
    let request = find(vec![scan], tests, Detail::Attributes, 100);
    let with_attributes = ask(&mut cluster, 0, request).remove(0).found.remove(0);
    let attributes = cluster.attributes(0, full).attributes;
    assert_eq!(with_attributes.attributes.as_deref(), Some(&attributes));
}

#[test]
fn files_of_other_homes_are_left_to_them() {
    // A directory that grows hands names to the other server, and their files stay.
    let mut cluster = Cluster::new(
        2,
        Config {
            split_entries: 4,
            ..Config::default()
        },
    );
    let ids: Vec<FileId> = (0..4)
        .map(|n| {
            cluster
                .create(0, spot(ROOT, &format!("f{n}")))
                .attributes
                .id
        })
        .collect();
    cluster.run(0, create(spot(ROOT, "one more"))).unwrap();
    let scan = Scan {
        bucket: BucketStart(1 << 62),
        ..ROOT_SCAN
    };
    let request = find(
        vec![scan],
        vec![size(Comparison::Less(1))],
        Detail::Name,
        100,
    );
    let scanned = ask(&mut cluster, 1, request).remove(0);
    assert_eq!(
        (scanned.matches, scanned.end),
        (0, ScanEnd::Bucket { level: 1 })
    );
    let elsewhere: Vec<FileId> = scanned.undecided.iter().map(|it| it.entry.id).collect();
    assert!(!elsewhere.is_empty() && elsewhere.iter().any(|id| ids.contains(id)));
    let test = |tests| Request::TestFiles {
        files: elsewhere.clone(),
        tests: Tests(tests),
        detail: Detail::Name,
    };
    let passed = Reply::Tested(vec![Verdict::Passes(None); elsewhere.len()]);
    let failed = Reply::Tested(vec![Verdict::Fails; elsewhere.len()]);
    assert_eq!(
        cluster.ask(0, test(vec![size(Comparison::Equal(0))])),
        Ok(passed)
    );
    assert_eq!(
        cluster.ask(0, test(vec![size(Comparison::More(0))])),
        Ok(failed)
    );
}

#[test]
fn removed_files_and_directories_of_several_servers_are_named() {
    let mut cluster = Cluster::new(
        2,
        Config {
            split_entries: 4,
            ..Config::default()
        },
    );
    for n in 0..8 {
        let id = cluster.next_id();
        let outputs = cluster.request(0, id, create(spot(ROOT, &format!("f{n}"))));
        cluster.settle(0, outputs);
    }
    let test = Request::TestFiles {
        files: vec![ROOT, FileId(99)],
        tests: Tests::default(),
        detail: Detail::Name,
    };
    let expected = Reply::Tested(vec![Verdict::Spread, Verdict::Gone]);
    assert_eq!(cluster.ask(0, test), Ok(expected));
}

#[test]
fn the_work_of_a_request_is_bounded_and_goes_on_later() {
    let (mut cluster, _) = three();
    let mut names = Vec::new();
    let mut scan = ROOT_SCAN;
    loop {
        let request = find(vec![scan, ROOT_SCAN], vec![], Detail::Name, 1);
        let [first, second] = <[Scanned; 2]>::try_from(ask(&mut cluster, 0, request)).unwrap();
        assert_eq!(second, Scanned::nothing(ScanEnd::NotBegun));
        assert!(first.found.len() <= 1);
        names.extend(first.found.iter().map(|found| found.name.to_string()));
        match first.end {
            ScanEnd::After { after, level: 0 } => scan.after = after,
            end => {
                assert_eq!(end, ScanEnd::Bucket { level: 0 });
                break;
            }
        }
    }
    names.sort();
    assert_eq!(names, ["a.c", "b.h", "c.d"]);
}

#[test]
fn a_wrong_bucket_fails_alone() {
    let (mut cluster, _) = three();
    let nowhere = Scan {
        directory: FileId(99),
        ..ROOT_SCAN
    };
    let request = find(vec![nowhere, ROOT_SCAN], vec![], Detail::Count, 100);
    let scanned = ask(&mut cluster, 0, request);
    assert_eq!(
        scanned[0],
        Scanned::nothing(ScanEnd::Failed(Failure::NoBucket))
    );
    assert_eq!(scanned[1].matches, 3);
}

fn list_here(after: NameHash, entries_max: u32) -> Request {
    Request::ListHere {
        directory: ROOT,
        after,
        entries_max,
    }
}

#[test]
fn a_server_lists_what_it_serves_of_a_directory() {
    let mut cluster = Cluster::new(
        2,
        Config {
            split_entries: 4,
            ..Config::default()
        },
    );
    for n in 0..4 {
        cluster.create(0, spot(ROOT, &format!("f{n}")));
    }
    let nothing = Reply::ListedHere {
        entries: vec![],
        complete: true,
    };
    let all = list_here(NameHash(0), 100);
    assert_eq!(cluster.ask(1, all.clone()), Ok(nothing));
    let id = cluster.next_id();
    let outputs = cluster.request(0, id, create(spot(ROOT, "one more")));
    // The first message brings entries without their header.
    let is_peer = |output: &Output| matches!(output, Output::Peer { .. });
    let sent: Vec<Output> = outputs.into_iter().filter(is_peer).collect();
    let (first, rest) = sent.split_first().unwrap();
    cluster.settle(0, vec![first.clone()]);
    assert_eq!(cluster.ask(1, all.clone()), Err(Failure::Busy));
    cluster.settle(0, rest.to_vec());
    let mut listed = 0;
    for server in 0..2 {
        let Ok(Reply::ListedHere {
            entries,
            complete: true,
        }) = cluster.ask(server, all.clone())
        else {
            panic!("not listed");
        };
        assert!(!entries.is_empty());
        listed += entries.len();
        let more = Reply::ListedHere {
            entries: entries[..1].to_vec(),
            complete: entries.len() == 1,
        };
        assert_eq!(cluster.ask(server, list_here(NameHash(0), 1)), Ok(more));
    }
    assert_eq!(listed, 5);
}
