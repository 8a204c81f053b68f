//! Files that are open without their homes' knowing.

use super::*;

#[test]
fn a_home_need_not_hear_of_what_is_opened_under_a_lease() {
    let mut leases = leases(9);
    assert!(leases.open(FILE, HOME, NOW).is_none());
    leases.exchange(1, &ask(), &told(1));
    assert!(leases.open(FILE, HOME, NOW).is_some());
    assert!(leases.open(FILE, HOME, NOW).is_some());
    assert!(leases.close(FILE) && leases.is_open(FILE));
    leases.recall(Lease {
        node: FILE,
        number: 1,
    });
    assert!(leases.is_open(FILE), "the home is to be told");
    assert!(leases.open(FILE, HOME, NOW).is_none());
    assert!(leases.close(FILE) && !leases.is_open(FILE));
    assert!(!leases.close(FILE), "the home knows of the rest");
}

#[test]
fn a_home_hears_of_who_opens_a_file_without_a_name() {
    let mut leases = leases(9);
    let mut nameless = file(1);
    nameless.attributes.links = 0;
    leases.exchange(1, &ask(), &Ok(Reply::Files(vec![Ok(nameless)])));
    assert!(leases.open(FILE, HOME, NOW).is_none());
}

#[test]
fn a_home_does_not_know_of_who_makes_a_file_under_a_lease_that_it_is_open() {
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
fn a_lease_that_is_called_back_before_its_answer_is_given_back_after_it() {
    let lease = Lease {
        node: FILE,
        number: 1,
    };
    let mut leases = leases(9);
    let making = leases.send(1, &create_open());
    assert!(!leases.recall(lease));
    leases.answer(1, &making, &made(file(1)));
    assert_eq!(leases.take_early(1), [lease]);
    assert_eq!(leases.known(), None);
    assert!(leases.is_open(FILE), "its home is to hear of it before");
    assert_eq!(leases.take_early(1), []);
    assert!(leases.recall(lease), "its home has not heard of it");
}

#[test]
fn a_lease_that_a_later_answer_brought_too_is_given_back_after_the_first_one() {
    let mut leases = leases(9);
    let (making, asking) = (leases.send(1, &create_open()), leases.send(2, &ask()));
    leases.answer(2, &asking, &told(1));
    let lease = Lease {
        node: FILE,
        number: 2,
    };
    let since = 1;
    assert!(!leases.recalled(LeaseRecall { lease, since }));
    assert_eq!(leases.take_early(2), []);
    leases.answer(1, &making, &made(file(1)));
    assert_eq!(leases.take_early(1), [lease]);
    assert!(leases.is_open(FILE), "its home is to hear of it before");
}

#[test]
fn what_may_be_a_file_in_the_making_is_not_dropped() {
    let mut leases = leases(1);
    let (making, asking) = (leases.send(1, &create_open()), leases.send(2, &ask()));
    leases.answer(2, &asking, &told(1));
    let other = state(DIRECTORY, Kind::Directory, 1);
    let ask_other = Request::GetAttributes(vec![DIRECTORY]);
    leases.exchange(3, &ask_other, &Ok(Reply::Files(vec![Ok(other)])));
    assert_eq!(leases.take_dropped(), []);
    leases.answer(1, &making, &made(file(1)));
    assert!(leases.is_open(FILE));
    let early = leases.take_early(1);
    let dropped = leases.take_dropped();
    let given: Vec<(FileId, u64)> = early
        .iter()
        .chain(&dropped)
        .map(|lease| (lease.node, lease.number))
        .collect();
    assert_eq!(given, [(FILE, 1), (FILE, 2)]);
}
