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
    leases.recalled(Lease {
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
    assert!(!leases.recalled(lease));
    leases.answer(1, &making, &made(file(1)));
    assert_eq!(leases.take_early(1), [lease]);
    assert_eq!(leases.known(), None);
    assert!(leases.is_open(FILE), "its home is to hear of it before");
    assert_eq!(leases.take_early(1), []);
    assert!(leases.recalled(lease), "its home has not heard of it");
}

#[test]
fn a_home_hears_of_a_new_file_whose_lease_was_given_back_for_a_later_request() {
    let mut leases = leases(9);
    let (making, asking) = (leases.send(1, &create_open()), leases.send(2, &ask()));
    let later = Lease {
        node: FILE,
        number: 2,
    };
    assert!(leases.recalled(later));
    leases.answer(2, &asking, &told(1));
    leases.answer(1, &making, &made(file(1)));
    let given = Lease {
        node: FILE,
        number: 1,
    };
    assert_eq!(leases.take_early(1), [given], "the home is told before");
    assert!(leases.is_open(FILE));
}
