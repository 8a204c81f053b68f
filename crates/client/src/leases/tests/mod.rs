//! Replies, recalls and changes in orders that real servers rarely produce.

mod listings;
mod opens;

use super::{Before, Effects, Leases, PartId, PartLease, SETTLED_MAX};
use crate::Config;
use alloc::{boxed::Box, format, vec, vec::Vec};
use futago_base::{
    Attributes, BucketStart, Duration, Errno, FileId, Kind, Name, NameHash, ServerId, SessionId,
    Time, Timestamp, record::Entry,
};
use futago_wire::{
    AttributeChange, FileState, Lease, LeaseRecall, ListedEntry, NewContent, NewNode, Outcome,
    Part, Reply, Request, Spot,
};

const HOME: ServerId = ServerId(0);
const FILE: FileId = FileId(7);
const DIRECTORY: FileId = FileId(1);
const SESSION: SessionId = SessionId(3);
const NOW: Time = Time(1_000_000);

fn leases(leases_max: usize) -> Box<Leases> {
    let config = Config {
        lease_trust: Some(Duration(1000)),
        leases_max,
        ..Config::default()
    };
    Leases::new(&config).unwrap()
}

const fn home(node: FileId) -> PartId {
    PartId { node, server: HOME }
}

const fn at_home(lease: Lease) -> PartLease {
    PartLease {
        part: home(lease.node),
        number: lease.number,
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

/// A leased node with this change time.
fn state(id: FileId, kind: Kind, changed: u32) -> FileState {
    let time = Timestamp::default();
    let attributes = Attributes {
        id,
        kind,
        mode: 0,
        uid: 0,
        gid: 0,
        links: 1,
        size: 0,
        device: 0,
        accessed: time,
        modified: time,
        changed: Timestamp {
            seconds: 1,
            nanos: changed,
        },
        born: time,
        chunk_bytes: 4096,
        allocated_bytes: Some(0),
    };
    FileState {
        attributes,
        directory: None,
        leased: true,
        data_leased: true,
        exclusive: false,
    }
}

fn file(changed: u32) -> FileState {
    state(FILE, Kind::File, changed)
}

fn ask() -> Request {
    Request::GetAttributes(vec![FILE])
}

fn change() -> Request {
    Request::SetAttributes {
        id: FILE,
        change: AttributeChange::default(),
    }
}

fn write() -> Request {
    Request::Write {
        id: FILE,
        offset: 0,
        end: 1,
        covered_from: 0,
        kill_privileges: false,
        written: None,
        heard: None,
    }
}

fn at(text: &str) -> Spot {
    Spot {
        directory: DIRECTORY,
        bucket: BucketStart(0),
        name: name(text),
    }
}

fn found(directory: Option<FileState>) -> Outcome {
    Ok(Reply::Found {
        entry: Entry {
            id: FILE,
            kind: Kind::File,
        },
        state: None,
        created: false,
        directory: directory.map(Part::Home).map(Box::new),
    })
}

impl Leases {
    fn send(&mut self, number: u64, request: &Request) -> Effects {
        self.send_in(SESSION, number, request)
    }

    fn send_in(&mut self, session: SessionId, number: u64, request: &Request) -> Effects {
        let mut effects = Effects::of(request, HOME, |_| HOME);
        self.enter(session);
        self.begin(&mut effects);
        self.sent(number, &mut effects);
        effects
    }

    fn complete(&mut self, number: u64, effects: &Effects, outcome: &Outcome) {
        self.completed(number, effects, HOME, NOW, outcome.as_ref());
    }

    fn exchange(&mut self, number: u64, request: &Request, outcome: &Outcome) {
        let effects = self.send(number, request);
        self.complete(number, &effects, outcome);
    }

    /// A recall of a lease that only one request has got.
    fn recall(&mut self, lease: Lease) -> bool {
        let since = lease.number;
        self.recalled(HOME, LeaseRecall { lease, since })
    }

    fn known(&self) -> Option<u32> {
        let state = self.state(home(FILE), NOW)?;
        Some(state.attributes.changed.nanos)
    }

    fn known_name(&self, text: &str) -> Option<bool> {
        let entry = self.name(home(DIRECTORY), &name(text), NOW)?;
        Some(entry.is_some())
    }

    fn known_listing(&self, entries_max: usize) -> Option<Vec<(Name, Entry)>> {
        let listing = self.listing(home(DIRECTORY), NameHash(0), entries_max, NOW)?;
        Some(listing.entries)
    }
}

fn attributes_reply(changed: u32) -> Outcome {
    Ok(Reply::Files(vec![Ok(file(changed))]))
}

fn create(text: &str) -> Request {
    Request::Create {
        at: at(text),
        node: NewNode {
            content: NewContent::Fifo,
            mode: 0,
            uid: 0,
            gid: 0,
        },
        exclusive: true,
        open: false,
    }
}

fn create_open() -> Request {
    let Request::Create {
        at,
        node,
        exclusive,
        ..
    } = create("a")
    else {
        unreachable!("it creates");
    };
    Request::Create {
        at,
        node,
        exclusive,
        open: true,
    }
}

fn made(state: FileState) -> Outcome {
    Ok(Reply::Found {
        entry: Entry {
            id: FILE,
            kind: Kind::File,
        },
        state: Some(state),
        created: true,
        directory: None,
    })
}

#[test]
fn cached_state_is_valid_for_a_time_after_a_reply_of_the_server() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    assert_eq!(leases.known(), Some(1));
    let late = NOW + Duration(1000);
    assert_eq!(leases.state(home(FILE), late), None);
    let effects = leases.send(2, &Request::KeepAlive);
    leases.completed(2, &effects, HOME, NOW + Duration(500), Ok(&Reply::Done));
    assert!(leases.state(home(FILE), late).is_some());
    assert_eq!(leases.trust(HOME, late), Duration(500));
}

#[test]
fn a_reply_that_a_recall_has_overtaken_is_not_cached() {
    let mut leases = leases(9);
    let effects = leases.send(1, &ask());
    let recall = Lease {
        node: FILE,
        number: 1,
    };
    assert!(leases.recall(recall));
    leases.complete(1, &effects, &attributes_reply(1));
    assert_eq!(leases.known(), None);
    leases.exchange(2, &ask(), &attributes_reply(2));
    assert_eq!(leases.known(), Some(2));
    assert!(!leases.recall(recall), "it was given back before");
    assert_eq!(leases.known(), Some(2));
}

#[test]
fn an_own_change_under_way_hides_what_is_known() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let changing = leases.send(2, &change());
    assert_eq!(leases.known(), None);
    let effects = leases.send(3, &ask());
    leases.complete(2, &changing, &Ok(Reply::File(file(5))));
    assert_eq!(leases.known(), Some(5));
    leases.complete(3, &effects, &attributes_reply(1));
    assert_eq!(
        leases.known(),
        Some(5),
        "it was effects before the change was done"
    );
}

#[test]
fn of_changes_side_by_side_the_latest_counts() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let (one, other) = (leases.send(2, &change()), leases.send(3, &change()));
    leases.complete(3, &other, &Ok(Reply::File(file(6))));
    assert_eq!(leases.known(), None);
    leases.complete(2, &one, &Ok(Reply::File(file(5))));
    assert_eq!(leases.known(), Some(6));
    let (one, other) = (leases.send(4, &change()), leases.send(5, &change()));
    leases.complete(4, &one, &Ok(Reply::File(file(7))));
    leases.complete(5, &other, &Err(Errno::EIO.into()));
    assert_eq!(leases.known(), None, "who knows what has happened");
}

#[test]
fn names_are_cached_once_their_directory_is_leased() {
    let mut leases = leases(9);
    let root = state(DIRECTORY, Kind::Directory, 1);
    let older = leases.send(1, &Request::Lookup(at("c")));
    leases.exchange(2, &Request::Lookup(at("a")), &found(Some(root)));
    leases.complete(1, &older, &found(Some(root)));
    assert_eq!(leases.known_name("a"), Some(true));
    assert_eq!(
        leases.known_name("c"),
        None,
        "it may be older than the lease"
    );
    leases.exchange(3, &Request::Lookup(at("b")), &Err(Errno::ENOENT.into()));
    assert_eq!(leases.known_name("a"), Some(true));
    assert_eq!(leases.known_name("b"), Some(false));
    let unlink = Request::Unlink {
        at: at("a"),
        file: Some(FILE),
    };
    let removing = leases.send(4, &unlink);
    assert_eq!(leases.known_name("a"), None);
    let looking = leases.send(5, &Request::Lookup(at("a")));
    leases.complete(5, &looking, &found(None));
    assert_eq!(leases.known_name("a"), None, "it may be from before");
    leases.complete(
        4,
        &removing,
        &Ok(Reply::File(state(DIRECTORY, Kind::Directory, 2))),
    );
    assert_eq!(leases.known_name("a"), Some(false));
    leases.recall(Lease {
        node: DIRECTORY,
        number: 9,
    });
    assert_eq!(leases.known_name("b"), None);
}

#[test]
fn data_cached_before_chunks_changed_is_invalid_after_another_change() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let cached = leases.data_versions(home(FILE), NOW).unwrap();
    let changing = leases.send(2, &change());
    leases.data_changed(home(FILE), None);
    leases.complete(2, &changing, &Ok(Reply::File(file(2))));
    let now = leases.data_versions(home(FILE), NOW).unwrap();
    assert!(!now.cover(cached.now));
}

/// Two parallel writes. Returns whether earlier cached data stays valid when the caller knows of
/// `changes` changes.
fn stays_valid_after_two_writes(changes: usize) -> bool {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let versions = leases.data_versions(home(FILE), NOW).unwrap();
    let (first, second) = (leases.send(2, &write()), leases.send(3, &write()));
    leases.complete(3, &second, &Ok(Reply::File(file(3))));
    leases.complete(2, &first, &Ok(Reply::File(file(2))));
    let stays_valid = leases.extend_data_validity(home(FILE), Before { versions, changes });
    let now = leases.data_versions(home(FILE), NOW).unwrap();
    assert_eq!(now.cover(versions.now), stays_valid.is_some());
    stays_valid.is_some()
}

#[test]
fn cached_data_stays_valid_after_changes_that_are_all_known() {
    assert!(stays_valid_after_two_writes(2));
    assert!(!stays_valid_after_two_writes(1));
    assert!(!stays_valid_after_two_writes(3));
}

#[test]
fn cached_data_is_invalid_after_a_write_without_a_state() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let versions = leases.data_versions(home(FILE), NOW).unwrap();
    leases.exchange(2, &write(), &Ok(Reply::Done));
    leases.exchange(3, &change(), &Ok(Reply::File(file(3))));
    let now = leases.data_versions(home(FILE), NOW).unwrap();
    assert!(!now.cover(versions.now));
    let changing = leases.send(4, &change());
    leases.exchange(5, &write(), &Ok(Reply::Done));
    leases.complete(4, &changing, &Ok(Reply::File(file(4))));
    leases.exchange(6, &change(), &Ok(Reply::File(file(6))));
    let last = leases.data_versions(home(FILE), NOW).unwrap();
    assert!(!last.cover(now.now));
}

#[test]
fn a_lease_without_room_is_returned() {
    let mut leases = leases(1);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let root = state(DIRECTORY, Kind::Directory, 1);
    leases.exchange(2, &Request::Lookup(at("a")), &found(Some(root)));
    assert_eq!(leases.known(), None);
    let dropped = Lease {
        node: FILE,
        number: 1,
    };
    assert_eq!(leases.take_dropped(), [at_home(dropped)]);
}

#[test]
fn nothing_outlives_the_session() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let old = leases.send(2, &ask());
    let expired = leases.send(3, &Request::KeepAlive);
    assert!(leases.session_ended(&expired));
    assert_eq!(leases.known(), None);
    leases.complete(2, &old, &attributes_reply(1));
    assert_eq!(leases.known(), None);
    leases.exchange(1, &ask(), &attributes_reply(2));
    assert_eq!(leases.known(), Some(2));
}

#[test]
fn a_session_that_has_begun_is_not_touched_by_the_end_of_the_one_before() {
    let mut leases = leases(9);
    leases.exchange(1, &ask(), &attributes_reply(1));
    let old = leases.send(2, &ask());
    let making = leases.send_in(SessionId(4), 1, &create_open());
    assert_eq!(leases.known(), None, "the lease is over");
    assert!(!leases.session_ended(&old), "that is known");
    leases.complete(1, &making, &made(file(1)));
    assert!(leases.is_open(FILE) && leases.known().is_some());
}

#[test]
fn a_request_belongs_to_the_session_in_which_it_is_sent() {
    let (mut leases, next) = (leases(9), SessionId(4));
    let mut changing = Effects::of(&change(), HOME, |_| HOME);
    leases.enter(SESSION);
    leases.begin(&mut changing);
    let asking = leases.send_in(next, 1, &ask());
    leases.sent(2, &mut changing);
    leases.complete(1, &asking, &attributes_reply(1));
    assert!(leases.is_changing(home(FILE)) && leases.known().is_none());
    leases.complete(2, &changing, &Ok(Reply::File(file(2))));
    assert!(!leases.is_changing(home(FILE)) && leases.under_way.is_empty());
}

#[test]
fn changes_are_taken_back() {
    let mut leases = leases(2);
    leases.record_changes();
    leases.exchange(1, &ask(), &attributes_reply(1));
    leases.take_changes();
    let before = format!("{leases:?}");
    let root = state(DIRECTORY, Kind::Directory, 1);
    leases.exchange(2, &Request::Lookup(at("a")), &found(Some(root)));
    leases.exchange(3, &Request::Lookup(at("b")), &Err(Errno::ENOENT.into()));
    leases.exchange(4, &change(), &Ok(Reply::File(file(5))));
    assert_ne!(format!("{leases:?}"), before);
    assert_eq!(leases.known(), Some(5));
    let changes = leases.take_changes();
    leases.take_back(changes);
    assert_eq!(format!("{leases:?}"), before);
}

#[test]
fn settled_subjects_are_cleaned_up_rarely_and_once_no_older_request_is_pending() {
    let mut leases = leases(9);
    let old = leases.send(1, &ask());
    let create = |leases: &mut Leases, number: u64| {
        let request = Request::Unlink {
            at: at(&format!("{number}")),
            file: None,
        };
        leases.exchange(number, &request, &Ok(Reply::Done));
    };
    for number in 2..4000 {
        create(&mut leases, number);
    }
    let (left, settled) = (leases.counters.settled_left, leases.settled.len());
    assert!(settled >= 3998 && left > SETTLED_MAX && left < settled - 1000);
    leases.complete(1, &old, &attributes_reply(1));
    for number in 4000..9000 {
        create(&mut leases, number);
    }
    assert!(leases.settled.len() <= SETTLED_MAX);
}
