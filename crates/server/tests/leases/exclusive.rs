//! Exclusive leases: a client may have changed the file without a message.

use super::*;
use bytes::Bytes;
use futago_base::record::Door;

impl Room {
    /// Takes an exclusive lease for the holder on a file that it has leased. Returns whether it is
    /// granted.
    fn take_exclusive(&mut self, file: FileId) -> (bool, Lease) {
        let (number, taken) = self.ask(HOLDER, Request::TakeExclusive(file));
        let Ok(Reply::File(state)) = taken else {
            panic!("not seen: {taken:?}");
        };
        let node = file;
        (state.exclusive, Lease { node, number })
    }
}

#[test]
fn an_exclusive_lease_is_recalled_before_a_reply_discloses_the_file() {
    let asked = |id| {
        [
            Request::Lookup(spot(ROOT, "a")),
            Request::GetAttributes(vec![id]),
            Request::GetAttributesAhead { id, ahead: vec![] },
            Request::Open(id),
            Request::Close(id),
            Request::TakeExclusive(id),
            read(id),
            chmod(id),
        ]
    };
    for at in 0..asked(ROOT).len() {
        let mut room = Room::new();
        let (file, first, _) = room.leased_file();
        let (is_exclusive, lease) = room.take_exclusive(file);
        assert!(is_exclusive);
        let request = asked(file)[at].clone();
        let (_, outputs) = room.request(OTHER, request.clone());
        assert_eq!(outputs, [recall_since(first.number, lease)], "{request:?}");
        let outputs = room.give_back(HOLDER, &[file]);
        assert_eq!(outputs.len(), 2, "{request:?}: both have answers");
        let (is_exclusive, _) = room.take_exclusive(file);
        assert!(!is_exclusive, "{request:?}: nobody gets one for a while");
    }
}

#[test]
fn the_holder_of_an_exclusive_lease_sees_the_files_that_it_names() {
    let mut room = Room::new();
    let (file, first, _) = room.leased_file();
    let (_, lease) = room.take_exclusive(file);
    for request in [
        read(file),
        Request::GetAttributes(vec![file]),
        Request::Open(file),
        chmod(file),
        Request::Close(file),
    ] {
        let (_, seen) = room.ask(HOLDER, request.clone());
        assert!(seen.is_ok(), "{request:?}: {seen:?}");
    }
    // The holder cannot know that the reply would disclose the file, so it has not sent its dirty
    // data before.
    let (_, outputs) = room.request(HOLDER, Request::Lookup(spot(ROOT, "a")));
    let number = lease.number + 5;
    assert_eq!(
        outputs,
        [recall_since(first.number, Lease { number, ..lease })]
    );
}

#[test]
fn an_exclusive_lease_is_not_granted_while_others_use_the_file() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    assert!(room.is_leased_to_holder(file));
    room.ask(OTHER, Request::Open(file)).1.expect("it is open");
    assert!(!room.take_exclusive(file).0, "another has a lease");
    room.give_back(OTHER, &[file]);
    assert!(!room.take_exclusive(file).0, "another has it open");
    room.ask(OTHER, Request::Close(file))
        .1
        .expect("it is closed");
    room.give_back(OTHER, &[file]);
    assert!(room.take_exclusive(file).0);
}

#[test]
fn a_listing_omits_attributes_that_may_be_stale() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let list = || Request::ReadDirectory {
        directory: ROOT,
        bucket: futago_base::BucketStart(0),
        after: futago_base::NameHash(0),
        entries_max: 10,
    };
    let attributes = |(_, listed): (u64, Outcome)| match listed {
        Ok(Reply::Listing { entries, .. }) => entries[0].attributes.map(|it| it.id),
        other => panic!("not listed: {other:?}"),
    };
    assert_eq!(attributes(room.ask(OTHER, list())), Some(file));
    room.take_exclusive(file);
    assert_eq!(attributes(room.ask(OTHER, list())), None);
}

#[test]
fn reading_ahead_grants_leases_and_omits_attributes_that_may_be_stale() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let ask = |ahead| Request::GetAttributesAhead { id: ROOT, ahead };
    let leased = |(_, replied): (u64, Outcome)| match replied {
        Ok(Reply::Files(files)) => {
            let states = files.into_iter().map(|state| state.expect("a state"));
            let leased = states.filter(|state| state.leased);
            leased.map(|state| state.attributes.id).collect::<Vec<_>>()
        }
        other => panic!("no attributes: {other:?}"),
    };
    let missing = FileId(file.0 + 1);
    assert_eq!(
        leased(room.ask(OTHER, ask(vec![file, missing]))),
        [ROOT, file]
    );
    room.give_back(OTHER, &[file]);
    assert!(room.take_exclusive(file).0);
    assert_eq!(leased(room.ask(OTHER, ask(vec![file]))), [ROOT]);
    let many = room.ask(OTHER, ask(vec![file; 4096])).1;
    assert_eq!(many, Err(Errno::EINVAL.into()));
}

/// A write that reaches the home later has the time of the write.
#[test]
fn a_cached_write_has_its_own_time_but_never_a_future_one() {
    let mut room = Room::new();
    let (id, ..) = room.leased_file();
    let modified = |room: &mut Room, written| {
        let write = Request::Write {
            id,
            offset: 0,
            end: 1,
            covered_from: 0,
            kill_privileges: false,
            written: Some(written),
            heard: None,
        };
        match room.ask(HOLDER, write).1 {
            Ok(Reply::Extent {
                state: Some(state), ..
            }) => state.attributes.modified,
            other => panic!("not written: {other:?}"),
        }
    };
    let (before, after) = (Timestamp::default(), Timestamp::from(Time(u64::MAX / 2)));
    assert_eq!(modified(&mut room, before), before);
    let modified = modified(&mut room, after);
    assert_eq!(modified, Timestamp::from(room.cluster.now));
}

/// Readers of chunks at other servers notice that their caches may be stale, holes included.
#[test]
fn every_exclusive_lease_advances_the_truncations_of_the_file() {
    let end = u64::from(CHUNK_BYTES) + 1;
    let written = |id: FileId| Request::Write {
        id,
        offset: 0,
        end,
        covered_from: 0,
        kill_privileges: false,
        written: None,
        heard: None,
    };
    let grown = |id: FileId| Request::SetAttributes {
        id,
        change: AttributeChange {
            size: Some(end),
            ..AttributeChange::default()
        },
    };
    let latest = |room: &mut Room, id| match room.ask(HOLDER, read(id)).1 {
        Ok(Reply::Extent { truncations, .. }) => truncations.latest,
        other => panic!("not read: {other:?}"),
    };
    for request in [&written as &dyn Fn(FileId) -> Request, &grown] {
        let mut room = Room::new();
        let (id, ..) = room.leased_file();
        room.ask(HOLDER, request(id)).1.expect("it has two chunks");
        let (_, announced) = room.ask(HOLDER, Request::AnnounceChanges(id));
        assert_eq!(announced, Ok(Reply::Done));
        let before = latest(&mut room, id);
        assert!(room.take_exclusive(id).0);
        assert!(latest(&mut room, id) > before, "{:?}", request(id));
    }
}

#[test]
fn an_exclusive_lease_that_becomes_an_ordinary_one_lets_readers_go_on() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    // A request that has waited gets leases if its client has any.
    assert!(room.is_leased_to(OTHER, ROOT));
    room.take_exclusive(file);
    let (_, outputs) = room.request(OTHER, Request::Lookup(spot(ROOT, "a")));
    assert_eq!(outputs.len(), 1, "the recall");
    let door = Door {
        host: 1,
        address: Bytes::from_static(b"tcp:host:1"),
    };
    let end = Request::EndExclusive { id: file, door };
    let (_, outputs) = room.request(HOLDER, end);
    let found = outputs.iter().filter_map(|output| match output {
        Output::Reply {
            outcome: Ok(Reply::Found { state, .. }),
            ..
        } => *state,
        _ => None,
    });
    let found: Vec<FileState> = found.collect();
    assert!(matches!(found[..], [state] if state.leased && state.data_leased));
    let (_, outputs) = room.request(OTHER, chmod(file));
    assert_eq!(outputs.len(), 1, "a change recalls the ordinary lease");
    let outputs = room.give_back(HOLDER, &[file]);
    assert_eq!(outputs.len(), 2, "both have answers");
}
