//! Directories whose names are all known.

use super::*;

fn list() -> Request {
    Request::ReadDirectory {
        directory: DIRECTORY,
        bucket: BucketStart(0),
        after: NameHash(0),
        entries_max: 9,
    }
}

fn listed(names: &[&str]) -> Outcome {
    let entry = |text: &&str| ListedEntry {
        name: name(text),
        entry: Entry {
            id: FILE,
            kind: Kind::File,
        },
        attributes: None,
    };
    Ok(Reply::Listing {
        entries: names.iter().map(entry).collect(),
        complete: true,
        level: 0,
        directory: None,
    })
}

/// Leases with a lease on a directory.
fn with_directory() -> Box<Leases> {
    let mut leases = leases(9);
    lease_directory(&mut leases);
    leases
}

fn lease_directory(leases: &mut Leases) {
    let directory = state(DIRECTORY, Kind::Directory, 1);
    leases.exchange(1, &ask(), &Ok(Reply::Files(vec![Ok(directory)])));
}

#[test]
fn a_listing_that_brings_the_lease_is_cached() {
    let mut leases = leases(9);
    let directory = Part::Home(state(DIRECTORY, Kind::Directory, 1));
    let mut reply = listed(&["a", "b"]);
    if let Ok(Reply::Listing {
        directory: part, ..
    }) = &mut reply
    {
        *part = Some(Box::new(directory));
    }
    let older = leases.send(1, &list());
    let younger = leases.send(2, &list());
    leases.exchange(3, &list(), &reply);
    assert_eq!(leases.known_listing(9).unwrap().len(), 2);
    assert_eq!(leases.known_name("c"), Some(false));
    leases.complete(1, &older, &listed(&["a"]));
    leases.complete(2, &younger, &listed(&["a", "b", "c"]));
    assert_eq!(
        leases.known_listing(9).unwrap().len(),
        2,
        "they may be older"
    );
}

#[test]
fn names_missing_in_a_listed_directory_do_not_exist() {
    let mut leases = with_directory();
    assert_eq!(leases.known_listing(9), None);
    leases.exchange(2, &list(), &listed(&["a", "b"]));
    assert_eq!(leases.known_name("c"), Some(false));
    assert_eq!(leases.known_listing(9).unwrap().len(), 2);
    assert_eq!(leases.known_listing(1).unwrap().len(), 1);
    let creating = leases.send(3, &create("c"));
    assert_eq!(leases.known_name("c"), None, "it is being made");
    assert_eq!(leases.known_name("d"), Some(false));
    assert_eq!(leases.known_listing(9), None);
    let root = state(DIRECTORY, Kind::Directory, 2);
    leases.complete(3, &creating, &found(Some(root)));
    assert_eq!(leases.known_listing(9).unwrap().len(), 3);
    let unlink = Request::Unlink {
        at: at("a"),
        file: None,
    };
    leases.exchange(4, &unlink, &Ok(Reply::File(root)));
    assert_eq!(leases.known_name("a"), Some(false));
    assert_eq!(leases.known_listing(9).unwrap().len(), 2);
    leases.recall(Lease {
        node: DIRECTORY,
        number: 9,
    });
    assert_eq!(leases.known_name("c"), None);
    assert_eq!(leases.known_listing(9), None);
}

#[test]
fn a_directory_is_not_known_as_a_whole_when_a_change_has_an_unknown_end() {
    let lost = || Err(Errno::EIO.into());
    let mut leases = with_directory();
    leases.exchange(2, &list(), &listed(&["a"]));
    leases.exchange(3, &create("b"), &lost());
    assert_eq!(leases.known_name("b"), None);
    assert_eq!(leases.known_name("c"), None);
    leases.exchange(4, &list(), &listed(&["a"]));
    let (one, other) = (leases.send(5, &create("b")), leases.send(6, &create("b")));
    leases.complete(5, &one, &found(None));
    leases.complete(6, &other, &Err(Errno::ENOENT.into()));
    assert_eq!(leases.known_name("c"), None, "who was first?");
}

#[test]
fn a_directory_that_may_be_gone_is_not_listed_from_memory() {
    let mut leases = with_directory();
    leases.exchange(2, &list(), &listed(&[]));
    assert_eq!(leases.known_listing(9), Some(vec![]));
    let change = Request::SetAttributes {
        id: DIRECTORY,
        change: AttributeChange::default(),
    };
    leases.exchange(3, &change, &Ok(Reply::Done));
    assert_eq!(leases.known_listing(9), None);
    assert_eq!(leases.known_name("c"), None);
}

#[test]
fn a_listing_overtaken_by_own_changes_or_a_recall_is_not_cached() {
    let mut leases = with_directory();
    let listing = leases.send(2, &list());
    leases.exchange(3, &create("b"), &found(None));
    leases.complete(2, &listing, &listed(&["a"]));
    assert_eq!(leases.known_name("c"), None);
    let (listing, creating) = (leases.send(4, &list()), leases.send(5, &create("c")));
    leases.complete(4, &listing, &listed(&["a", "b"]));
    leases.complete(5, &creating, &found(None));
    assert_eq!(leases.known_name("d"), None);
    let listing = leases.send(6, &list());
    leases.recall(Lease {
        node: DIRECTORY,
        number: 9,
    });
    leases.complete(6, &listing, &listed(&["a", "b", "c"]));
    assert_eq!(leases.known_name("d"), None);
}

#[test]
fn a_directory_that_the_client_has_made_is_known_to_be_empty() {
    let mut leases = leases(9);
    let make = Request::MakeDirectory {
        at: Spot {
            directory: FILE,
            ..at("d")
        },
        mode: 0,
        uid: 0,
        gid: 0,
    };
    let made = Ok(Reply::Found {
        entry: Entry {
            id: DIRECTORY,
            kind: Kind::Directory,
        },
        state: Some(state(DIRECTORY, Kind::Directory, 1)),
        created: true,
        directory: None,
    });
    let making = leases.send(1, &make);
    leases.exchange(2, &create("a"), &Err(Errno::EEXIST.into()));
    leases.complete(1, &making, &made);
    assert_eq!(leases.known_name("b"), None, "others were faster");
    leases.recall(Lease {
        node: DIRECTORY,
        number: 9,
    });
    leases.exchange(3, &make, &made);
    assert_eq!(leases.known_listing(9), Some(vec![]));
    assert_eq!(leases.known_name("b"), Some(false));
}

#[test]
fn names_for_which_there_is_no_room_are_not_taken_for_missing() {
    let mut leases = leases(9);
    leases.names_max = 2;
    lease_directory(&mut leases);
    leases.exchange(2, &list(), &listed(&["a", "b"]));
    assert_eq!(leases.known_name("c"), Some(false));
    leases.exchange(3, &create("c"), &found(None));
    let forgotten = ["a", "b"].map(|text| leases.known_name(text).is_none());
    assert_ne!(forgotten[0], forgotten[1], "one makes room");
}
