//! Holders that return no lease although they are heard of.

use super::*;

/// Asks for a change of a file that is leased to another client, and lets two leases pass: one
/// until the holder is fenced, and one more in which it may rely on what it has. Both clients send
/// a request now and then. Returns whether the file is changed, the room and the file.
fn change_beside(
    holder: fn(FileId) -> Request,
    other: fn(FileId) -> Request,
) -> (bool, Room, FileId) {
    let config = Config::default();
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.request(OTHER, chmod(file));
    let mut outputs = Vec::new();
    for _ in 0..18 {
        outputs.extend(room.request(HOLDER, holder(file)).1);
        outputs.extend(room.request(OTHER, other(file)).1);
        outputs.extend(room.pass(Duration(config.lease.0 / 8)));
    }
    (is_changed(&outputs), room, file)
}

const fn alive(_: FileId) -> Request {
    Request::KeepAlive
}

fn still_writing(file: FileId) -> Request {
    Request::StillWriting(vec![file])
}

#[test]
fn a_live_holder_that_returns_no_lease_is_fenced() {
    let (is_changed, ..) = change_beside(alive, alive);
    assert!(is_changed);
}

#[test]
fn a_holder_that_still_writes_back_is_not_fenced() {
    let (is_changed_before, mut room, file) = change_beside(still_writing, alive);
    assert!(!is_changed_before, "the change waits");
    assert!(is_changed(&room.give_back(HOLDER, &[file])));
}

#[test]
fn a_client_without_a_lease_spares_no_holder() {
    let (is_changed, ..) = change_beside(alive, still_writing);
    assert!(is_changed);
}
