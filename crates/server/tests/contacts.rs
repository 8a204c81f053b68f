//! Contact servers: what they cache of a home, and how their leases end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use std::collections::BTreeSet;

use cluster::{Cluster, ROOT, create, peers, spot};
use futago_base::{
    Duration, FileId, Key, Payload, RequestId, ServerId, SessionId, View, record::Sort,
};
use futago_server::{Config, Input, Output};
use futago_wire::{
    AttributeChange, ContactMessage, Failure, FileState, Lease, Outcome, Peer, Push, Question,
    Relayed, RelayedFact, Reply, Request,
};

const HOME: u16 = 0;
const CONTACT: u16 = 1;
const FIRST: SessionId = SessionId(1);
const SECOND: SessionId = SessionId(2);
const CHANGER: SessionId = SessionId(3);

/// A home with a file, and a contact server.
struct Room {
    cluster: Cluster,
    file: FileId,
}

impl Room {
    fn new() -> Self {
        let mut cluster = Cluster::new(2, Config::default());
        let file = cluster.create(HOME, spot(ROOT, "a")).attributes.id;
        Self { cluster, file }
    }

    fn request(&mut self, to: u16, session: SessionId, request: Request) -> Vec<Output> {
        let sequence = self.cluster.next_id().sequence;
        let input = Input::Request {
            id: RequestId { session, sequence },
            acknowledged: 0,
            request,
            payload: Payload::empty(),
            leases: true,
            introduces: true,
        };
        self.cluster.input(to, input)
    }

    /// Asks the contact server for the name of the file. Returns what is output for clients, once
    /// the servers have exchanged their messages.
    fn consult(&mut self, session: SessionId) -> Option<Relayed> {
        let outputs = self.request(CONTACT, session, consult("a"));
        relayed(&self.settle(outputs))
    }

    /// The state of the file that the contact server tells with its name.
    fn state(&mut self, session: SessionId) -> Option<FileState> {
        match self.consult(session)?.fact {
            RelayedFact::Entry { state, .. } => state,
            RelayedFact::State(state) => Some(state),
        }
    }

    /// Delivers messages between servers. Returns the outputs for clients.
    fn settle(&mut self, outputs: Vec<Output>) -> Vec<Output> {
        let mut for_clients = Vec::new();
        let mut queue: std::collections::VecDeque<Output> = outputs.into();
        while let Some(output) = queue.pop_front() {
            match output {
                Output::Peer { to, message } => {
                    queue.extend(self.cluster.input(to.0, Input::Peer(message)));
                }
                Output::PeerAnswer { to, answer } => {
                    queue.extend(self.cluster.input(to.0, Input::PeerAnswer(answer)));
                }
                output => for_clients.push(output),
            }
        }
        for_clients
    }

    /// Has the second client get a relayed lease.
    fn relayed_lease(&mut self) {
        assert_eq!(self.consult(FIRST), None);
        assert!(self.consult(SECOND).is_some());
    }

    fn change_mode(&mut self) -> Vec<Output> {
        let change = AttributeChange {
            mode: Some(0o600),
            ..AttributeChange::default()
        };
        let id = self.file;
        self.request(HOME, CHANGER, Request::SetAttributes { id, change })
    }

    /// Time passes at both servers, in steps. Messages between them arrive.
    fn pass(&mut self, span: Duration) -> Vec<Output> {
        let step = Duration::from_millis(500);
        let mut outputs = Vec::new();
        for _ in 0..span.0 / step.0 {
            self.cluster.now = self.cluster.now + step;
            for server in [HOME, CONTACT] {
                let of_tick = self.cluster.input(server, Input::Tick);
                outputs.extend(self.settle(of_tick));
            }
        }
        outputs
    }

    fn keep_alive(&mut self, session: SessionId) {
        for server in [HOME, CONTACT] {
            self.request(server, session, Request::KeepAlive);
        }
    }

    fn count(&self, server: u16, sort: Sort) -> usize {
        let (from, to) = Key::whole_sort(sort);
        self.cluster.stores[usize::from(server)]
            .range(from, to)
            .count()
    }
}

fn consult(name: &str) -> Request {
    Request::Consult(Question::Entry(spot(ROOT, name)))
}

fn replies(outputs: &[Output]) -> Vec<Outcome> {
    let reply = |output: &Output| match output {
        Output::Reply { outcome, .. } => Some(outcome.clone()),
        _ => None,
    };
    outputs.iter().filter_map(reply).collect()
}

fn relayed(outputs: &[Output]) -> Option<Relayed> {
    match replies(outputs).as_slice() {
        [Ok(Reply::Relayed(relayed))] => relayed.as_deref().copied(),
        other => panic!("expected one reply, not {other:?}"),
    }
}

/// The leases that a server recalls from a client.
fn recalled(outputs: &[Output], from: SessionId) -> Vec<Lease> {
    let leases = |output: &Output| match output {
        Output::Push {
            session,
            push: Push::Recall(recalls),
        } if *session == from => Some(recalls.iter().map(|it| it.lease).collect::<Vec<_>>()),
        _ => None,
    };
    outputs.iter().filter_map(leases).flatten().collect()
}

#[test]
fn the_second_client_that_asks_gets_a_relayed_lease() {
    let mut room = Room::new();
    assert_eq!(room.consult(FIRST), None);
    assert_eq!(room.consult(FIRST), None, "the same client again");
    assert_eq!(room.count(CONTACT, Sort::Relay), 0);
    let Some(Relayed { fact, lasts }) = room.consult(SECOND) else {
        panic!("no fact");
    };
    let RelayedFact::Entry { entry, state } = fact else {
        panic!("no entry: {fact:?}");
    };
    assert_eq!(entry.unwrap().id, room.file);
    assert_eq!(state.unwrap().attributes.id, room.file);
    assert!(lasts.0 > 0 && lasts <= Duration::from_secs(15));
    let outputs = room.request(CONTACT, FIRST, consult("a"));
    assert_eq!(outputs.len(), 1, "from the cache: {outputs:?}");
    assert!(relayed(&outputs).is_some());
}

#[test]
fn questions_that_come_while_the_home_is_asked_wait_for_one_reply() {
    let mut room = Room::new();
    assert_eq!(room.consult(FIRST), None);
    let asked = room.request(CONTACT, SECOND, consult("a"));
    assert!(matches!(
        peers(&asked)[..],
        [(
            ServerId(HOME),
            Peer::Contact {
                message: ContactMessage::Ask(_),
                ..
            }
        )]
    ));
    assert_eq!(room.request(CONTACT, CHANGER, consult("a")), []);
    let outputs = room.settle(asked);
    assert_eq!(replies(&outputs).len(), 2, "{outputs:?}");
}

#[test]
fn a_home_waits_until_the_clients_of_a_contact_server_have_returned_their_leases() {
    let mut room = Room::new();
    room.relayed_lease();
    let begun = room.change_mode();
    let outputs = room.settle(begun);
    assert_eq!(replies(&outputs), [], "nothing has changed yet");
    let leases = recalled(&outputs, SECOND);
    assert_eq!(leases.len(), 1);
    assert_eq!(room.state(FIRST), None, "the state is not relayed any more");
    let returned = room.request(CONTACT, SECOND, Request::GiveBack(leases));
    let outputs = room.settle(returned);
    assert_eq!(replies(&outputs).len(), 2, "to both clients: {outputs:?}");
    assert_eq!(room.state(FIRST), None);
}

#[test]
fn a_contact_server_without_clients_at_a_node_returns_its_lease_at_once() {
    let mut room = Room::new();
    room.relayed_lease();
    room.request(CONTACT, SECOND, Request::EndSession);
    let begun = room.change_mode();
    assert_eq!(replies(&room.settle(begun)).len(), 1);
}

#[test]
fn a_client_that_does_not_return_a_relayed_lease_is_fenced_by_its_contact_server() {
    let mut room = Room::new();
    room.relayed_lease();
    let begun = room.change_mode();
    room.settle(begun);
    for _ in 0..3 {
        room.keep_alive(SECOND);
        room.keep_alive(CHANGER);
        assert_eq!(replies(&room.pass(Duration::from_secs(5))), []);
    }
    room.keep_alive(CHANGER);
    assert_eq!(replies(&room.pass(Duration::from_secs(6))), []);
    let refused = room.request(CONTACT, SECOND, Request::KeepAlive);
    assert_eq!(replies(&refused), [Err(Failure::SessionExpired)]);
    // The client may rely on its leases until a lease after it was last heard.
    room.keep_alive(CHANGER);
    assert_eq!(replies(&room.pass(Duration::from_secs(8))), []);
    room.keep_alive(CHANGER);
    let outputs = room.pass(Duration::from_secs(2));
    assert_eq!(replies(&outputs).len(), 1, "{outputs:?}");
    assert_eq!(
        room.count(HOME, Sort::Unfenced),
        0,
        "the contact server lives"
    );
}

#[test]
fn a_silent_contact_server_delays_a_change_for_a_lease() {
    let mut room = Room::new();
    room.relayed_lease();
    let begun = room.change_mode();
    assert_eq!(replies(&begun), []);
    let mut outputs = Vec::new();
    for _ in 0..42 {
        room.request(HOME, CHANGER, Request::KeepAlive);
        room.cluster.now = room.cluster.now + Duration::from_millis(500);
        outputs.extend(room.cluster.input(HOME, Input::Tick));
    }
    assert_eq!(replies(&outputs).len(), 1);
}

#[test]
fn a_lease_that_was_recalled_before_its_reply_is_not_relayed() {
    let mut room = Room::new();
    assert_eq!(room.consult(FIRST), None);
    let asked = room.request(CONTACT, SECOND, consult("a"));
    let (_, ask) = peers(&asked).remove(0);
    let granted = room.cluster.input(HOME, Input::Peer(ask));
    let [Output::PeerAnswer { answer, .. }] = &granted[..] else {
        panic!("no answer: {granted:?}");
    };
    let begun = room.change_mode();
    let (_, recall) = peers(&begun).remove(0);
    let outputs = room.cluster.input(CONTACT, Input::Peer(recall));
    assert_eq!(relayed(&outputs), None, "{outputs:?}");
    assert_eq!(room.cluster.input(CONTACT, Input::PeerAnswer(*answer)), []);
    assert_eq!(room.count(CONTACT, Sort::Relay), 0);
    assert_eq!(room.consult(FIRST), None);
}

#[test]
fn a_home_that_does_not_reply_delays_a_client_for_a_moment_only() {
    let mut room = Room::new();
    assert_eq!(room.consult(FIRST), None);
    room.request(CONTACT, SECOND, consult("a"));
    room.cluster.now = room.cluster.now + Duration::from_millis(500);
    let outputs = room.cluster.input(CONTACT, Input::Tick);
    assert_eq!(relayed(&outputs), None);
}

#[test]
fn leases_of_a_silent_home_are_relayed_no_longer_than_they_are_valid() {
    let mut room = Room::new();
    room.relayed_lease();
    room.cluster.now = room.cluster.now + Duration::from_millis(14_900);
    assert!(room.consult(SECOND).unwrap().lasts < Duration::from_millis(101));
    room.cluster.now = room.cluster.now + Duration::from_millis(200);
    let outputs = room.request(CONTACT, SECOND, consult("a"));
    assert_eq!(relayed(&outputs), None);
}

#[test]
fn a_contact_server_keeps_its_leases_alive_while_they_are_used() {
    let mut room = Room::new();
    room.relayed_lease();
    for _ in 0..10 {
        room.pass(Duration::from_secs(5));
        room.keep_alive(SECOND);
        assert!(room.consult(SECOND).is_some());
    }
    room.request(CONTACT, SECOND, Request::EndSession);
    room.pass(Duration::from_secs(40));
    assert_eq!(room.count(CONTACT, Sort::Relay), 0, "returned unused");
}

#[test]
fn files_that_are_opened_once_leave_no_trace() {
    let mut room = Room::new();
    for number in 0..5000 {
        let name = format!("file{number}");
        room.request(HOME, CHANGER, create(spot(ROOT, &name)));
        let outputs = room.request(CONTACT, SessionId(10 + number % 16), consult(&name));
        assert_eq!(relayed(&outputs), None);
    }
    for sort in [Sort::Link, Sort::Relay, Sort::Lease] {
        assert_eq!(room.count(CONTACT, sort), 0);
    }
    let store = &room.cluster.stores[usize::from(CONTACT)];
    let hints = store.range(Key::Hint(0), Key::Hint(u16::MAX)).count();
    assert!(hints <= 1024);
}

#[test]
fn a_home_that_restarts_ends_the_leases_of_contact_servers() {
    let mut room = Room::new();
    room.relayed_lease();
    room.cluster.restart(HOME, 9);
    let outputs = room.pass(Duration::from_secs(6));
    let nodes: BTreeSet<FileId> = recalled(&outputs, SECOND)
        .iter()
        .map(|it| it.node)
        .collect();
    assert_eq!(nodes, BTreeSet::from([ROOT, room.file]));
    let outputs = room.request(CONTACT, SECOND, consult("a"));
    assert_eq!(relayed(&outputs), None);
}
