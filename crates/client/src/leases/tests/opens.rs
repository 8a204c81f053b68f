//! Files that are open here and not registered at their homes.

use super::*;

#[test]
fn opens_under_a_lease_need_no_registration() {
    let mut leases = leases(9);
    assert!(leases.open(home(FILE), NOW).is_none());
    leases.exchange(1, &ask(), &attributes_reply(1));
    assert!(leases.open(home(FILE), NOW).is_some());
    assert!(leases.open(home(FILE), NOW).is_some());
    assert!(leases.close(FILE) && leases.is_open(FILE));
    leases.recall(Lease {
        node: FILE,
        number: 1,
    });
    assert!(leases.is_open(FILE), "the home must be notified");
    assert!(leases.open(home(FILE), NOW).is_none());
    assert!(leases.close(FILE) && !leases.is_open(FILE));
    assert!(!leases.close(FILE), "the home knows of the rest");
}

#[test]
fn opens_of_a_file_without_a_name_are_registered() {
    let mut leases = leases(9);
    let mut nameless = file(1);
    nameless.attributes.links = 0;
    leases.exchange(1, &ask(), &Ok(Reply::Files(vec![Ok(nameless)])));
    assert!(leases.open(home(FILE), NOW).is_none());
}

#[test]
fn a_new_file_is_open_unregistered_only_with_a_lease() {
    let mut with_lease = leases(9);
    with_lease.exchange(1, &create_open(), &made(file(1)));
    assert!(with_lease.close(FILE) && !with_lease.is_open(FILE));
    let mut without = leases(9);
    let unleased = FileState {
        leased: false,
        ..file(1)
    };
    without.exchange(1, &create_open(), &made(unleased));
    assert!(!without.is_open(FILE));
}

#[test]
fn a_lease_recalled_before_its_reply_is_returned_after_it() {
    let lease = Lease {
        node: FILE,
        number: 1,
    };
    let mut leases = leases(9);
    let making = leases.send(1, &create_open());
    assert!(!leases.recall(lease));
    leases.complete(1, &making, &made(file(1)));
    assert_eq!(leases.take_early(1), [at_home(lease)]);
    assert_eq!(leases.known(), None);
    assert!(leases.is_open(FILE), "its home is to hear of it before");
    assert_eq!(leases.take_early(1), []);
    assert!(leases.recall(lease), "its home does not know of it");
}

#[test]
fn a_lease_in_a_later_reply_too_is_returned_after_the_first_reply() {
    let mut leases = leases(9);
    let (making, asking) = (leases.send(1, &create_open()), leases.send(2, &ask()));
    leases.complete(2, &asking, &attributes_reply(1));
    let lease = Lease {
        node: FILE,
        number: 2,
    };
    let since = 1;
    assert!(!leases.recalled(HOME, LeaseRecall { lease, since }));
    assert_eq!(leases.take_early(2), []);
    leases.complete(1, &making, &made(file(1)));
    assert_eq!(leases.take_early(1), [at_home(lease)]);
    assert!(leases.is_open(FILE), "its home is to hear of it before");
}

#[test]
fn the_lease_of_a_file_in_the_making_is_not_dropped() {
    let mut leases = leases(1);
    let (making, asking) = (leases.send(1, &create_open()), leases.send(2, &ask()));
    leases.complete(2, &asking, &attributes_reply(1));
    let other = state(DIRECTORY, Kind::Directory, 1);
    let ask_other = Request::GetAttributes(vec![DIRECTORY]);
    leases.exchange(3, &ask_other, &Ok(Reply::Files(vec![Ok(other)])));
    assert_eq!(leases.take_dropped(), []);
    leases.complete(1, &making, &made(file(1)));
    assert!(leases.is_open(FILE));
    let early = leases.take_early(1);
    let dropped = leases.take_dropped();
    let given: Vec<(FileId, u64)> = early
        .iter()
        .chain(&dropped)
        .map(|lease| (lease.part.node, lease.number))
        .collect();
    assert_eq!(given, [(FILE, 1), (FILE, 2)]);
}
