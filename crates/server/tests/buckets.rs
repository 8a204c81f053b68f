//! Directories that grow beyond one bucket.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, ROOT, create, name, peers, spot};
use futago_base::{BucketStart, FileId, NameHash, ServerId};
use futago_server::Config;
use futago_wire::{Failure, Peer, PeerChange, Reply, Request, Spot};

fn config() -> Config {
    Config {
        split_entries: 4,
        ..Config::default()
    }
}

const UPPER: BucketStart = BucketStart(1 << 62);

/// Fills the only bucket of the root up to the limit and returns the names.
fn fill(cluster: &mut Cluster) -> Vec<String> {
    let names: Vec<String> = (0..4).map(|n| format!("f{n}")).collect();
    for text in &names {
        cluster.create(0, spot(ROOT, text));
    }
    names
}

#[test]
fn a_bucket_that_is_too_large_transfers_its_upper_half() {
    let mut cluster = Cluster::new(2, config());
    fill(&mut cluster);
    let id = cluster.next_id();
    let outputs = cluster.request(0, id, create(spot(ROOT, "one more")));
    let sent = peers(&outputs);
    let Peer::Deliver {
        change:
            PeerChange::Transfer {
                bucket,
                header: Some(header),
                ..
            },
        ..
    } = &sent.last().unwrap().1
    else {
        panic!("the last message brings no header: {sent:?}");
    };
    assert_eq!((*bucket, header.level), (UPPER, 1));
    assert!(sent.iter().all(|(to, _)| *to == ServerId(1)));
    assert_eq!(
        outputs.len(),
        sent.len() + 1,
        "the client is answered at once"
    );
}

#[test]
fn a_request_for_the_wrong_bucket_is_redirected_and_an_early_one_is_refused() {
    let mut cluster = Cluster::new(2, config());
    let mut names = fill(&mut cluster);
    let id = cluster.next_id();
    let outputs = cluster.request(0, id, create(spot(ROOT, "one more")));
    names.push("one more".into());
    let moved = names
        .iter()
        .find(|text| name(text).hash().0 >= UPPER.0)
        .unwrap();
    let old = spot(ROOT, moved);
    let new = Spot {
        bucket: UPPER,
        ..old.clone()
    };
    let seen = Failure::Moved {
        bucket: BucketStart(0),
        level: 1,
    };
    assert_eq!(cluster.ask(0, Request::Lookup(old)), Err(seen));
    assert_eq!(
        cluster.ask(1, Request::Lookup(new.clone())),
        Err(Failure::NoBucket)
    );
    cluster.settle(0, outputs);
    assert!(matches!(
        cluster.ask(1, Request::Lookup(new)),
        Ok(Reply::Found { .. })
    ));
}

/// Lists the root through all of its buckets and returns the names in order.
fn list(cluster: &mut Cluster, entries_max: u32) -> Vec<String> {
    let mut names = Vec::new();
    let (mut bucket, mut after) = (BucketStart(0), NameHash(0));
    loop {
        let server = u16::from(bucket == UPPER);
        let request = Request::ReadDirectory {
            directory: ROOT,
            bucket,
            after,
            entries_max,
        };
        let Ok(Reply::Listing {
            entries,
            complete,
            level,
            ..
        }) = cluster.ask(server, request)
        else {
            panic!("no listing");
        };
        after = entries.last().map_or(after, |last| last.name.hash());
        names.extend(entries.iter().map(|e| e.name.to_string()));
        if complete {
            match bucket.end(level) {
                Some(next) => (bucket, after) = (next, NameHash(next.0 - 1)),
                None => return names,
            }
        }
    }
}

#[test]
fn a_listing_shows_every_name_once_in_the_order_of_hashes() {
    let mut cluster = Cluster::new(2, config());
    let mut expected = fill(&mut cluster);
    expected.push("one more".into());
    cluster.run(0, create(spot(ROOT, "one more"))).unwrap();
    expected.sort_by_key(|text| name(text).hash());
    for entries_max in [1, 2, 100] {
        assert_eq!(list(&mut cluster, entries_max), expected);
    }
}

#[test]
fn a_directory_that_is_not_there_has_no_bucket() {
    let mut cluster = Cluster::one();
    let nowhere = spot(FileId(99), "x");
    assert_eq!(
        cluster.ask(0, Request::Lookup(nowhere.clone())),
        Err(Failure::NoBucket)
    );
    assert_eq!(cluster.ask(0, create(nowhere)), Err(Failure::NoBucket));
}
