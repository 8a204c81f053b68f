//! Leases: recalls, and the requests that wait for them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../cluster/mod.rs"]
mod cluster;
mod exclusive;
mod fences;
mod parts;
mod peers;

use cluster::{CHUNK_BYTES, Cluster, ROOT, create, spot};
use futago_base::{
    Duration, Errno, FileId, Key, Payload, RequestId, ServerId, SessionId, Time, Timestamp, View,
    record::Sort,
};
use futago_server::{Config, Input, Output};
use futago_wire::{
    AttributeChange, Failure, FileState, Lease, LeaseRecall, Outcome, Part, Peer, PeerAnswer,
    PeerChange, Push, Reply, Request,
};

const HOLDER: SessionId = SessionId(1);
const OTHER: SessionId = SessionId(2);
const PEER: ServerId = ServerId(1);

struct Room {
    cluster: Cluster,
}

impl Room {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let cluster = Cluster::new(1, config);
        Self { cluster }
    }

    /// Sends a request of a client that accepts leases. Returns its number and the outputs.
    fn request(&mut self, session: SessionId, request: Request) -> (u64, Vec<Output>) {
        let sequence = self.cluster.next_id().sequence;
        (sequence, self.input(session, sequence, request))
    }

    fn input(&mut self, session: SessionId, sequence: u64, request: Request) -> Vec<Output> {
        self.input_at(0, session, sequence, request)
    }

    fn input_at(
        &mut self,
        server: u16,
        session: SessionId,
        sequence: u64,
        request: Request,
    ) -> Vec<Output> {
        let input = Input::Request {
            id: RequestId { session, sequence },
            acknowledged: 0,
            request,
            payload: Payload::empty(),
            leases: true,
            introduces: true,
        };
        self.cluster.input(server, input)
    }

    fn ask(&mut self, session: SessionId, request: Request) -> (u64, Outcome) {
        let (number, outputs) = self.request(session, request);
        (number, answer(&outputs).expect("an answer"))
    }

    /// Makes a file, and grants the holder leases on the file and its directory.
    fn leased_file(&mut self) -> (FileId, Lease, Lease) {
        let (_, made) = self.ask(OTHER, create(spot(ROOT, "a")));
        let Ok(Reply::Found { entry, .. }) = made else {
            panic!("not made: {made:?}");
        };
        let outputs = self.give_back(OTHER, &[entry.id, ROOT]);
        assert_eq!(answer(&outputs), Some(Ok(Reply::Done)));
        let (number, found) = self.ask(HOLDER, Request::Lookup(spot(ROOT, "a")));
        let Ok(Reply::Found {
            state: Some(file),
            directory: Some(directory),
            ..
        }) = found
        else {
            panic!("not found: {found:?}");
        };
        assert!(file.leased && matches!(*directory, Part::Home(root) if root.leased));
        let lease = |node| Lease { node, number };
        (entry.id, lease(entry.id), lease(ROOT))
    }

    /// Whether the holder gets a lease on a file with a request for its attributes.
    fn is_leased_to_holder(&mut self, file: FileId) -> bool {
        self.is_leased_to(HOLDER, file)
    }

    fn is_leased_to(&mut self, session: SessionId, file: FileId) -> bool {
        let (_, seen) = self.ask(session, Request::GetAttributes(vec![file]));
        matches!(seen, Ok(Reply::Files(files)) if files[0].is_ok_and(|state| state.leased))
    }

    /// Reads a file. Returns the state of the file in the reply.
    fn read(&mut self, session: SessionId, id: FileId) -> Option<FileState> {
        match self.ask(session, read(id)).1 {
            Ok(Reply::Extent { state, .. }) => state.map(|state| *state),
            other => panic!("not read: {other:?}"),
        }
    }

    fn give_back(&mut self, session: SessionId, nodes: &[FileId]) -> Vec<Output> {
        let number = u64::MAX;
        let leases = nodes.iter().map(|&node| Lease { node, number }).collect();
        self.request(session, Request::GiveBack(leases)).1
    }

    fn pass(&mut self, span: Duration) -> Vec<Output> {
        self.cluster.now = self.cluster.now + span;
        self.cluster.input(0, Input::Tick)
    }
}

const fn read(id: FileId) -> Request {
    Request::Read {
        id,
        offset: 0,
        length: 1,
    }
}

fn answer(outputs: &[Output]) -> Option<Outcome> {
    let mut answers = outputs.iter().filter_map(|output| match output {
        Output::Reply { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    answers.next()
}

fn recall(lease: Lease) -> Output {
    recall_since(lease.number, lease)
}

/// A recall of a lease that an earlier request, too, has got.
fn recall_since(since: u64, lease: Lease) -> Output {
    Output::Push {
        session: HOLDER,
        push: Push::Recall(vec![LeaseRecall { lease, since }]),
    }
}

fn chmod(id: FileId) -> Request {
    let mode = Some(0o600);
    let change = AttributeChange {
        mode,
        ..AttributeChange::default()
    };
    Request::SetAttributes { id, change }
}

fn mode(outcome: &Outcome) -> Option<u16> {
    match outcome {
        Ok(Reply::File(FileState { attributes, .. })) => Some(attributes.mode),
        _ => None,
    }
}

/// Whether the change of mode is done.
fn is_changed(outputs: &[Output]) -> bool {
    outputs.iter().any(
        |output| matches!(output, Output::Reply { outcome, .. } if mode(outcome) == Some(0o600)),
    )
}

#[test]
fn a_change_waits_until_the_lease_is_returned() {
    let mut room = Room::new();
    let (file, lease, _) = room.leased_file();
    let (_, outputs) = room.request(OTHER, chmod(file));
    assert_eq!(outputs, [recall(lease)]);
    let (_, seen) = room.ask(HOLDER, Request::GetAttributes(vec![file]));
    let Ok(Reply::Files(files)) = seen else {
        panic!("not seen: {seen:?}");
    };
    let seen = files[0].expect("the file is there");
    assert_eq!((seen.attributes.mode, seen.leased), (0o644, false));
    let outputs = room.give_back(HOLDER, &[file]);
    let [
        Output::Reply { outcome: given, .. },
        Output::Reply { outcome, .. },
    ] = &outputs[..]
    else {
        panic!("not two answers: {outputs:?}");
    };
    assert_eq!(given, &Ok(Reply::Done));
    assert_eq!(mode(outcome), Some(0o600));
}

#[test]
fn a_client_does_not_wait_for_its_own_lease_on_what_it_names() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let (_, changed) = room.ask(HOLDER, chmod(file));
    assert_eq!(mode(&changed), Some(0o600));
}

#[test]
fn an_unlink_waits_for_the_file_that_it_does_not_name() {
    let mut room = Room::new();
    let (file, lease, _) = room.leased_file();
    let unlink = |file| Request::Unlink {
        at: spot(ROOT, "a"),
        file,
    };
    let (_, outputs) = room.request(HOLDER, unlink(None));
    assert_eq!(outputs, [recall(lease)]);
    let outputs = room.give_back(HOLDER, &[file]);
    assert_eq!(outputs.len(), 2);
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let (_, removed) = room.ask(HOLDER, unlink(Some(file)));
    assert!(
        matches!(removed, Ok(Reply::File(root)) if root.leased),
        "{removed:?}"
    );
}

#[test]
fn a_silent_holder_costs_others_one_lease() {
    let config = Config::default();
    let mut room = Room::new();
    let (_, _, root) = room.leased_file();
    let (_, outputs) = room.request(OTHER, create(spot(ROOT, "b")));
    assert_eq!(outputs, [recall(root)]);
    let again = room.pass(config.resend);
    assert_eq!(again, [recall(root)]);
    // The other client shows that it is alive.
    room.pass(Duration(config.lease.0 / 2));
    assert!(answer(&room.request(OTHER, Request::KeepAlive).1).is_some());
    let outputs = room.pass(Duration(config.lease.0 / 2));
    assert!(matches!(
        answer(&outputs),
        Some(Ok(Reply::Found { created: true, .. }))
    ));
    let (_, late) = room.ask(HOLDER, Request::GetAttributes(vec![ROOT]));
    assert_eq!(late, Err(Failure::SessionExpired));
}

#[test]
fn a_node_that_others_have_changed_is_not_leased_for_a_while() {
    let config = Config::default();
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.request(OTHER, chmod(file));
    room.give_back(HOLDER, &[file]);
    assert!(!room.is_leased_to_holder(file));
    room.pass(Duration(config.lease_pause.0 + config.tick.0));
    assert!(room.is_leased_to_holder(file));
}

/// Otherwise readers would wait, and all clients would lose the cached attributes.
#[test]
fn a_read_recalls_no_lease() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.cluster.now = room.cluster.now + Duration::from_secs(1);
    let seen = room.read(OTHER, file).expect("the first time").attributes;
    assert_eq!(seen.accessed, seen.born);
}

#[test]
fn the_only_holder_sees_the_access_time_that_it_sets() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.cluster.now = room.cluster.now + Duration::from_secs(1);
    let accessed = |seen: FileState| seen.attributes.accessed;
    let first = room.read(HOLDER, file).map(accessed);
    assert_eq!(first, Some(Timestamp::from(room.cluster.now)));
    assert_eq!(room.read(HOLDER, file).map(accessed), None);
}

/// Otherwise a client that opened the file during the pause, and only reads, would never cache it.
#[test]
fn a_reader_gets_a_lease_once_the_pause_is_over() {
    let config = Config::default();
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.request(OTHER, chmod(file));
    room.give_back(HOLDER, &[file]);
    let leased = |seen: FileState| seen.leased;
    room.read(HOLDER, file);
    assert_eq!(room.read(HOLDER, file).map(leased), None);
    room.pass(Duration(config.lease_pause.0 + config.tick.0));
    assert_eq!(room.read(HOLDER, file).map(leased), Some(true));
    assert_eq!(room.read(HOLDER, file).map(leased), None);
}

/// The first reply may have been lost.
#[test]
fn a_repeated_read_reports_its_lease_again() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let (sequence, _) = room.ask(OTHER, read(file));
    let again = room.input(OTHER, sequence, read(file));
    let Some(Ok(Reply::Extent { state, .. })) = answer(&again) else {
        panic!("not read: {again:?}");
    };
    assert!(state.is_some_and(|state| state.leased));
}

/// The pause begins after the recall, so that the waiting requests run first however long it took.
#[test]
fn the_pause_begins_when_the_last_lease_is_returned() {
    let config = Config::default();
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.request(OTHER, chmod(file));
    room.pass(Duration(2 * config.lease_pause.0));
    room.give_back(HOLDER, &[file]);
    room.pass(config.tick);
    assert!(!room.is_leased_to_holder(file));
    room.pass(config.lease_pause);
    assert!(room.is_leased_to_holder(file));
}

#[test]
fn the_lease_on_a_file_of_one_chunk_covers_its_data() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let covers = |room: &mut Room| match room.ask(HOLDER, Request::GetAttributes(vec![file])).1 {
        Ok(Reply::Files(files)) => files[0].expect("it is there").data_leased,
        other => panic!("not seen: {other:?}"),
    };
    assert!(covers(&mut room));
    let write = Request::Write {
        id: file,
        offset: 0,
        end: u64::from(CHUNK_BYTES) + 1,
        covered_from: 0,
        kill_privileges: false,
        written: None,
        heard: None,
    };
    room.ask(HOLDER, write).1.expect("it is written");
    assert!(!covers(&mut room), "others may write its second chunk");
    let (_, announced) = room.ask(HOLDER, Request::AnnounceChanges(file));
    assert_eq!(announced, Ok(Reply::Done));
    assert!(covers(&mut room));
}

/// An old copy of a lease return must not end a lease that was granted later.
#[test]
fn a_late_return_ends_no_newer_lease() {
    let mut room = Room::new();
    let (file, lease, _) = room.leased_file();
    assert!(room.is_leased_to_holder(file));
    let (_, given) = room.ask(HOLDER, Request::GiveBack(vec![lease]));
    assert_eq!(given, Ok(Reply::Done));
    let (_, outputs) = room.request(OTHER, chmod(file));
    let number = lease.number + 1;
    assert_eq!(
        outputs,
        [recall_since(lease.number, Lease { number, ..lease })]
    );
}

/// Requests that wait for one recall run in one decision: the later ones see the effects of the
/// earlier ones.
#[test]
fn requests_that_waited_together_see_each_other_s_changes() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let id = file;
    let write = |offset| Request::Write {
        id,
        offset,
        end: 3,
        covered_from: offset,
        kill_privileges: false,
        written: None,
        heard: None,
    };
    let input = |sequence, request, payload| Input::Request {
        id: RequestId {
            session: OTHER,
            sequence,
        },
        acknowledged: 0,
        request,
        payload,
        leases: false,
        introduces: true,
    };
    let data = |text: &'static [u8]| Payload::from(bytes::Bytes::from_static(text));
    room.cluster.input(0, input(1001, write(0), data(b"abc")));
    room.cluster.input(0, input(1002, write(1), data(b"d")));
    room.give_back(HOLDER, &[file]);
    let read = Request::Read {
        id,
        offset: 0,
        length: 3,
    };
    let outputs = room.cluster.input(0, input(1003, read, Payload::empty()));
    let read = outputs.iter().find_map(|output| match output {
        Output::Reply { payload, .. } => Some(payload.bytes()),
        _ => None,
    });
    assert_eq!(read.as_deref(), Some(&b"adc"[..]));
}

#[test]
fn waiting_requests_cost_other_requests_nothing() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    let read = |room: &Room, number: u64| {
        let input = Input::Request {
            id: RequestId {
                session: OTHER,
                sequence: 1000 + number,
            },
            acknowledged: 0,
            request: Request::GetAttributes(vec![ROOT]),
            payload: Payload::empty(),
            leases: true,
            introduces: true,
        };
        let cluster = &room.cluster;
        cluster.servers[0]
            .handle(&cluster.stores[0], input, cluster.now)
            .work
    };
    let alone = read(&room, 0);
    for number in 0..20 {
        assert_eq!(
            answer(&room.request(SessionId(50 + number), chmod(file)).1),
            None
        );
    }
    assert_eq!(read(&room, 1).records_scanned, alone.records_scanned);
}

#[test]
fn a_session_that_leaves_leaves_nothing() {
    let mut room = Room::new();
    let (file, ..) = room.leased_file();
    room.request(OTHER, chmod(file));
    room.request(HOLDER, Request::EndSession);
    let store = &room.cluster.stores[0];
    for sort in [Sort::Lease, Sort::AwaitsRecall] {
        let (from, to) = Key::whole_sort(sort);
        assert_eq!(store.range(from, to).count(), 0, "{sort:?}");
    }
    let (_, gone) = room.ask(OTHER, Request::Lookup(spot(ROOT, "none")));
    assert_eq!(gone, Err(Errno::ENOENT.into()));
}

#[test]
fn a_client_has_a_limited_number_of_leases() {
    let mut room = Room::with(Config {
        leases_max: 1,
        ..Config::default()
    });
    let make = |room: &mut Room, name| match room.ask(HOLDER, create(spot(ROOT, name))).1 {
        Ok(Reply::Found {
            state: Some(file),
            directory: Some(root),
            ..
        }) => (file, matches!(*root, Part::Home(root) if root.leased)),
        other => panic!("not made: {other:?}"),
    };
    let (first, root) = make(&mut room, "a");
    assert_eq!((first.leased, root), (true, false));
    let (second, _) = make(&mut room, "b");
    assert!(!second.leased);
    room.give_back(HOLDER, &[first.attributes.id]);
    assert!(room.is_leased_to_holder(second.attributes.id));
}

#[test]
fn a_new_file_that_is_open_is_registered_only_without_a_lease() {
    let mut room = Room::with(Config {
        leases_max: 1,
        ..Config::default()
    });
    for (name, is_leased) in [("a", true), ("b", false)] {
        let Request::Create {
            at,
            node,
            exclusive,
            ..
        } = create(spot(ROOT, name))
        else {
            unreachable!("it creates");
        };
        let request = Request::Create {
            at,
            node,
            exclusive,
            open: true,
        };
        let Ok(Reply::Found {
            state: Some(made), ..
        }) = room.ask(HOLDER, request).1
        else {
            panic!("not made");
        };
        let opens = room.cluster.stores[0].get(&Key::Opens(made.attributes.id));
        assert_eq!((made.leased, opens.is_none()), (is_leased, is_leased));
    }
}

#[test]
fn leases_of_others_are_recalled_ahead_and_nobody_waits() {
    let mut room = Room::new();
    let (file, lease, _) = room.leased_file();
    assert!(room.is_leased_to(OTHER, file));
    let missing = FileId(file.0 + 1);
    let ahead = Request::RecallAhead(vec![file, missing]);
    let (_, outputs) = room.request(OTHER, ahead);
    assert_eq!(
        outputs[0],
        recall(lease),
        "not the lease of the client itself"
    );
    assert_eq!(answer(&outputs), Some(Ok(Reply::Done)));
    assert_eq!(
        room.pass(Config::default().resend),
        [],
        "it is not repeated"
    );
    assert!(room.is_leased_to_holder(file), "new leases are granted");
    let many = room.ask(OTHER, Request::RecallAhead(vec![file; 4097])).1;
    assert_eq!(many, Err(Errno::EINVAL.into()));
}

#[test]
fn the_client_that_changes_a_node_has_a_lease_until_another_changes_it() {
    let mut room = Room::new();
    let (file, lease, _) = room.leased_file();
    assert!(room.is_leased_to(OTHER, file));
    let (first, outputs) = room.request(OTHER, chmod(file));
    assert_eq!(outputs, [recall(lease)], "the lease of the changer stays");
    let outputs = room.give_back(HOLDER, &[file]);
    assert!(
        outputs.iter().any(|output| matches!(output,
            Output::Reply { request, outcome: Ok(Reply::File(state)), .. }
            if request.sequence == first && state.leased)),
        "{outputs:?}"
    );
    assert!(
        !room.is_leased_to_holder(file),
        "no other lease for a while"
    );
    let (_, changed) = room.ask(OTHER, chmod(file));
    assert_eq!(mode(&changed), Some(0o600), "it waits for nobody");

    let (_, outputs) = room.request(HOLDER, chmod(file));
    let [Output::Push { session: OTHER, .. }] = &outputs[..] else {
        panic!("not recalled: {outputs:?}");
    };
    let outputs = room.give_back(OTHER, &[file]);
    assert_eq!(outputs.len(), 2, "the return and the change: {outputs:?}");
    assert!(!room.is_leased_to(OTHER, file));
}

#[test]
fn a_client_that_holds_on_to_a_lease_of_its_own_change_is_not_fenced() {
    let config = Config::default();
    let mut room = Room::new();
    let (file, lease, _) = room.leased_file();
    assert!(room.is_leased_to(OTHER, file));
    room.request(OTHER, chmod(file));
    assert_eq!(room.pass(config.resend), [recall(lease)]);
    for _ in 0..18 {
        for session in [HOLDER, OTHER] {
            room.request(session, Request::KeepAlive);
        }
        room.pass(Duration(config.lease.0 / 8));
    }
    assert!(!room.is_leased_to_holder(file), "given up, or too early");
    let (_, changed) = room.ask(OTHER, chmod(file));
    assert_eq!(mode(&changed), Some(0o600));
}
