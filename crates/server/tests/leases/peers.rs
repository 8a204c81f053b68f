//! Messages of other servers about files that clients have leased.

use super::*;
use futago_base::Incarnation;

impl Room {
    /// Makes a file that the holder caches; returns its lease.
    fn cached_by_holder(&mut self, name: &str) -> Lease {
        let (number, made) = self.ask(HOLDER, create(spot(ROOT, name)));
        let Ok(Reply::Found { entry, .. }) = made else {
            panic!("not made: {made:?}");
        };
        let node = entry.id;
        Lease { node, number }
    }

    /// Another server reports that a name of a file is removed.
    fn drop_link(&mut self, number: u64, file: FileId) -> Vec<Output> {
        self.drop_link_by(number, file, None)
    }

    /// The same, because of a request that named the file.
    fn drop_link_by(&mut self, number: u64, file: FileId, by: Option<RequestId>) -> Vec<Output> {
        self.deliver(0, number, PeerChange::DropLink { file, by })
    }

    /// A message of the other server's incarnation `life` arrives.
    fn deliver(&mut self, life: u64, number: u64, change: PeerChange) -> Vec<Output> {
        let message = Peer::Deliver {
            sender: PEER,
            from: Incarnation(life),
            to: None,
            number,
            change,
        };
        self.cluster.input(0, Input::Peer(message))
    }
}

fn delivered(number: u64) -> Output {
    delivered_of(0, number)
}

/// The confirmation of a message of the other server's incarnation `life`.
fn delivered_of(life: u64, number: u64) -> Output {
    let receiver = ServerId(0);
    let answer = PeerAnswer::Delivered {
        receiver,
        by: Incarnation(0),
        from: Incarnation(life),
        number,
    };
    Output::PeerAnswer { to: PEER, answer }
}

#[test]
fn a_waiting_message_of_an_earlier_life_holds_up_no_later_life() {
    let mut room = Room::new();
    let lease = room.cached_by_holder("a");
    assert_eq!(room.drop_link(1, lease.node), [recall(lease)]);
    let other = room.cached_by_holder("b");
    room.deliver(
        8,
        2,
        PeerChange::DropLink {
            file: other.node,
            by: None,
        },
    );
    // The first message of the new life is missing. Its second one is not parked behind a message
    // of the earlier life.
    let waiting = room.cluster.stores[0].records();
    let waiting = waiting.filter(|(key, _)| matches!(key, Key::AwaitsRecall(..)));
    assert_eq!(waiting.count(), 1);
}

#[test]
fn a_message_that_waits_for_a_lease_takes_effect_although_its_sender_has_restarted() {
    let mut room = Room::new();
    let lease = room.cached_by_holder("a");
    assert_eq!(room.drop_link(1, lease.node), [recall(lease)]);
    let unknown = PeerChange::RemoveChunks(FileId(99));
    for life in [8, 4] {
        let outputs = room.deliver(life, 1, unknown.clone());
        assert_eq!(outputs, [delivered_of(life, 1)]);
    }
    room.give_back(HOLDER, &[lease.node]);
    let gone = room
        .cluster
        .ask(0, Request::GetAttributes(vec![lease.node]));
    assert!(matches!(gone, Ok(Reply::Files(files)) if files[0].is_err()));
    let outputs = room.deliver(4, 2, unknown);
    assert_eq!(outputs, [delivered_of(4, 2)]);
}

#[test]
fn messages_of_a_server_stay_in_order_while_one_waits_for_a_lease() {
    let mut room = Room::new();
    let [first, second, third] = ["a", "b", "c"].map(|name| room.cached_by_holder(name));
    assert_eq!(room.drop_link(1, first.node), [recall(first)]);
    // Leases on the nodes of later messages are recalled meanwhile, once.
    assert_eq!(room.drop_link(3, third.node), [recall(third)]);
    assert_eq!(room.drop_link(2, second.node), [recall(second)]);
    assert_eq!(room.drop_link(2, second.node), []);
    assert_eq!(
        answer(&room.give_back(HOLDER, &[second.node])),
        Some(Ok(Reply::Done))
    );
    let outputs = room.give_back(HOLDER, &[first.node]);
    assert_eq!(outputs[1..], [delivered(1), delivered(2)]);
    let outputs = room.give_back(HOLDER, &[third.node]);
    assert_eq!(outputs[1..], [delivered(3)]);
    // A message that has taken effect is confirmed again, and a message that is too early is
    // dropped.
    assert_eq!(room.drop_link(2, second.node), [delivered(3)]);
    assert_eq!(room.drop_link(5, second.node), [delivered(3)]);
}

#[test]
fn a_client_that_removes_a_name_elsewhere_is_not_asked_for_its_own_lease() {
    let mut room = Room::new();
    let [old, new] = ["a", "b"].map(|name| room.cached_by_holder(name));
    let by = |lease: Lease, more: u64| {
        Some(RequestId {
            session: HOLDER,
            sequence: lease.number + more,
        })
    };
    assert_eq!(room.drop_link_by(1, old.node, by(old, 1)), [delivered(1)]);
    // The lease is newer than the request: the client may rely on attributes from after it.
    assert_eq!(room.drop_link_by(2, new.node, by(new, 0)), [recall(new)]);
}
