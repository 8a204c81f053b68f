//! The handling of messages by a server, whatever its core decides.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::{
    Batch, ChunkId, ClusterMap, Duration, FileId, Incarnation, Key, Moment, Payload, RequestId,
    ServerId, SessionId, Space, Store, Time, Value, View,
    data::Extents,
    map::Policy,
    record::{TransactionState, Truncation},
};
use futago_driver::{AdmissionConfig, Core, Receiver, ServerDriver};
use futago_server::{Config, Decision, Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{
    Body, Failure, Frame, Header, MessageKind, Outcome, Peer, PeerAnswer, PeerChange, Push, Reply,
    Request, header::features,
};

const ID: ServerId = ServerId(0);
const OTHER: ServerId = ServerId(1);
const SESSION: SessionId = SessionId(9);
const EPOCH: u32 = 3;
const NOW: Moment = Moment {
    steady: Time(1000),
    stamp: Time(5000),
};

/// A core that decides what the test tells it.
struct Scripted {
    server: Server,
    decision: Decision,
    seen: Vec<(Input, Moment)>,
}

impl<S> Core<S> for Scripted {
    fn server(&self) -> &Server {
        &self.server
    }

    fn handle(&mut self, _: &S, input: Input, decided: Moment, _: Moment) -> Decision {
        self.seen.push((input, decided));
        self.decision.clone()
    }
}

type Driver = ServerDriver<Scripted, MemoryStore>;

/// A server that takes two requests at a time, one of which may wait for other clients.
fn driver(decision: Decision) -> Driver {
    driver_of(MemoryStore::new(1 << 20), decision)
}

fn driver_of<S: Store>(store: S, decision: Decision) -> ServerDriver<Scripted, S> {
    let map = ClusterMap::new(EPOCH, Policy::Modular, 64, 2).unwrap();
    let core = Scripted {
        server: Server::new(ID, map, Config::default()),
        decision,
        seen: Vec::new(),
    };
    let admission = AdmissionConfig {
        session_max: 2,
        ..AdmissionConfig::default()
    };
    ServerDriver::new(core, store, admission, NOW)
}

fn receive(driver: &mut Driver, frame: Frame) -> Vec<Output> {
    driver.receive(frame, NOW);
    let Ok(outputs) = driver.release();
    outputs
}

fn handle(driver: &mut Driver, input: Input) -> Vec<Output> {
    driver.handle(input, NOW);
    let Ok(outputs) = driver.release();
    outputs
}

fn request(sequence: u64, clock: Time) -> Frame {
    Frame {
        header: Header {
            session: SESSION,
            sequence,
            acknowledged: sequence - 1,
            clock,
            features: features::INTRODUCES,
            ..Header::new(MessageKind::Request)
        },
        body: Body::Request(Request::GetStatus),
        payload: Payload::empty(),
    }
}

fn reply(sequence: u64, outcome: Outcome) -> Output {
    Output::Reply {
        request: RequestId {
            session: SESSION,
            sequence,
        },
        outcome,
        payload: Payload::empty(),
    }
}

fn busy(sequence: u64) -> Output {
    reply(sequence, Err(Failure::Busy))
}

/// A batch after which a server serves the session or not.
fn session_in(state: futago_base::record::SessionState) -> Batch {
    let session = futago_base::record::Session {
        seen: Time(0),
        acknowledged: 0,
        leases: 0,
        state,
        contact: None,
    };
    Batch {
        records: [(Key::Session(SESSION), Some(session.into()))].into(),
        ..Batch::default()
    }
}

/// A decision that puts a record.
fn putting() -> Decision {
    Decision {
        batch: Batch {
            records: [(KEY, Some(Value::Number(1)))].into(),
            ..Batch::default()
        },
        ..Decision::default()
    }
}

const KEY: Key = Key::Lease(FileId::ROOT, SESSION);

#[test]
fn a_request_reaches_the_core_as_it_was_sent() {
    let mut driver = driver(Decision::default());
    assert_eq!(receive(&mut driver, request(4, Time(0))), []);
    let input = Input::Request {
        id: RequestId {
            session: SESSION,
            sequence: 4,
        },
        acknowledged: 3,
        request: Request::GetStatus,
        payload: Payload::empty(),
        leases: false,
        introduces: true,
    };
    assert_eq!(driver.core_mut().seen.pop(), Some((input, NOW)));
}

#[test]
fn no_two_decisions_have_the_same_time_and_none_is_before_its_cause() {
    let mut driver = driver(Decision::default());
    let later = NOW.stamp + Duration(500);
    handle(&mut driver, Input::Tick);
    handle(&mut driver, Input::Tick);
    driver.receive(request(1, later), NOW);
    let times = driver.core_mut().seen.iter().map(|(_, at)| *at);
    let at = |steady, stamp| Moment {
        steady: Time(steady),
        stamp: Time(stamp),
    };
    let expected = [NOW, at(1001, 5001), at(1002, 5501)];
    assert_eq!(times.collect::<Vec<_>>(), expected);
}

#[test]
fn a_request_beyond_the_limit_is_refused_without_a_decision() {
    let mut driver = driver(Decision::default());
    for sequence in [1, 2] {
        assert_eq!(receive(&mut driver, request(sequence, Time(0))), []);
    }
    assert_eq!(receive(&mut driver, request(3, Time(0))), [busy(3)]);
    assert_eq!(driver.core_mut().seen.len(), 2);
    let answer = reply(1, Ok(Reply::Done));
    driver.core_mut().decision.outputs = vec![answer.clone()];
    assert_eq!(handle(&mut driver, Input::Tick), [answer]);
    driver.core_mut().decision.outputs = Vec::new();
    assert_eq!(receive(&mut driver, request(3, Time(0))), []);
}

#[test]
fn nothing_is_left_of_a_request_that_may_not_wait() {
    let mut driver = driver(Decision {
        waits_for_clients: true,
        ..Decision::default()
    });
    assert_eq!(receive(&mut driver, request(1, Time(0))), []);
    driver.core_mut().decision.batch = putting().batch;
    assert_eq!(receive(&mut driver, request(2, Time(0))), [busy(2)]);
    assert_eq!(driver.store().get(&KEY), None);
    assert!(driver.admission().under_way() == 1);
}

#[test]
fn requests_of_a_session_that_is_given_up_take_no_places() {
    let fenced = futago_base::record::SessionState::Fenced {
        since: Time(0),
        notified: Time(0),
    };
    let lives = [
        (futago_base::record::SessionState::Living, 1),
        (futago_base::record::SessionState::Expired, 0),
        (fenced, 0),
    ];
    for (state, left) in lives {
        let mut driver = driver(Decision::default());
        assert_eq!(receive(&mut driver, request(1, Time(0))), []);
        driver.core_mut().decision.batch = session_in(state);
        handle(&mut driver, Input::Tick);
        assert_eq!(driver.admission().under_way(), left, "{state:?}");
    }
}

#[test]
fn a_decision_is_stored() {
    let mut driver = driver(putting());
    handle(&mut driver, Input::Tick);
    assert_eq!(driver.store().get(&KEY), Some(&Value::Number(1)));
}

#[test]
fn messages_for_clients_are_no_inputs() {
    let mut driver = driver(Decision::default());
    for body in [Body::Push(Push::Credits(1)), Body::Outcome(Ok(Reply::Done))] {
        let frame = Frame {
            body,
            ..request(1, Time(0))
        };
        assert_eq!(receive(&mut driver, frame), []);
    }
    assert!(driver.core_mut().seen.is_empty());
}

const fn header(kind: MessageKind, server: ServerId, session: SessionId, sequence: u64) -> Header {
    Header {
        server,
        session,
        sequence,
        clock: NOW.stamp,
        map_epoch: EPOCH,
        ..Header::new(kind)
    }
}

#[test]
fn outputs_become_messages_with_sender_clock_and_map() {
    let mut driver = driver(Decision::default());
    let client = Receiver::Session(SESSION);
    let nobody = SessionId(0);
    let (sender, session) = (ID, SESSION);
    let fence = Peer::Fence { sender, session };
    let fenced = PeerAnswer::Fenced {
        receiver: ID,
        session,
    };
    let push = Push::Credits(5);
    let cases = [
        (
            reply(7, Ok(Reply::Done)),
            client,
            header(MessageKind::Outcome, ID, SESSION, 7),
            Body::Outcome(Ok(Reply::Done)),
        ),
        (
            Output::Push {
                session,
                push: push.clone(),
            },
            client,
            header(MessageKind::Push, ID, SESSION, 0),
            Body::Push(push),
        ),
        (
            Output::Peer {
                to: OTHER,
                message: fence.clone(),
            },
            Receiver::Server(OTHER),
            header(MessageKind::Peer, OTHER, nobody, 0),
            Body::Peer(fence),
        ),
        (
            Output::PeerAnswer {
                to: OTHER,
                answer: fenced,
            },
            Receiver::Server(OTHER),
            header(MessageKind::PeerAnswer, OTHER, nobody, 0),
            Body::PeerAnswer(fenced),
        ),
    ];
    for (output, receiver, header, body) in cases {
        let frame = Frame {
            header,
            body,
            payload: Payload::empty(),
        };
        assert_eq!(driver.frame(output, NOW.stamp), (receiver, frame));
    }
}

#[test]
fn an_undone_input_leaves_nothing_behind() {
    let mut driver = driver(Decision::default());
    let mut undo = driver.begin_undo();
    driver.receive(request(1, NOW.stamp + Duration(9)), NOW);
    driver.end_undo(&mut undo);
    driver.undo(undo);
    assert_eq!(driver.admission().under_way(), 0);
    driver.core_mut().seen.clear();
    handle(&mut driver, Input::Tick);
    assert_eq!(driver.core_mut().seen, [(Input::Tick, NOW)]);
    // An event that breaks off has not ended its recording.
    let undo = driver.begin_undo();
    driver.receive(request(2, Time(0)), NOW);
    driver.undo(undo);
    assert_eq!(driver.admission().under_way(), 0);
}

/// A store whose batches are durable when the test says so.
struct Disk {
    memory: MemoryStore,
    position: u64,
    durable: u64,
    confirms_durable: bool,
}

impl View for Disk {
    fn get(&self, key: &Key) -> Option<&Value> {
        self.memory.get(key)
    }

    fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)> {
        self.memory.range(from, to)
    }

    fn data(&self, chunk: ChunkId) -> Option<&Extents> {
        self.memory.data(chunk)
    }

    fn space(&self) -> Space {
        self.memory.space()
    }
}

impl Store for Disk {
    type Error = core::convert::Infallible;

    fn commit(&mut self, batch: Batch, decided: Moment) {
        self.position += u64::from(!batch.is_empty());
        self.memory.commit(batch, decided);
    }

    fn persist(&mut self) -> Result<(), Self::Error> {
        self.memory.persist()
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn durable(&self) -> u64 {
        self.durable
    }

    fn confirms_durable(&self) -> bool {
        self.confirms_durable
    }
}

/// A server on a disk on which everything is durable so far, and the next decision changes it.
fn on_disk(confirms_durable: bool) -> ServerDriver<Scripted, Disk> {
    let disk = Disk {
        memory: MemoryStore::new(1 << 20),
        position: 0,
        durable: 0,
        confirms_durable,
    };
    let mut driver = driver_of(disk, putting());
    synchronize(&mut driver);
    driver
}

fn synchronize(driver: &mut ServerDriver<Scripted, Disk>) {
    let disk = driver.store_mut();
    disk.durable = disk.position;
}

/// The outputs of a decision that changes something.
fn decide(driver: &mut ServerDriver<Scripted, Disk>, outputs: &[Output]) -> Vec<Output> {
    driver.core_mut().decision.outputs = outputs.to_vec();
    driver.handle(Input::Tick, NOW);
    release(driver)
}

fn release(driver: &mut ServerDriver<Scripted, Disk>) -> Vec<Output> {
    let Ok(outputs) = driver.release();
    outputs
}

fn fence() -> Output {
    let (sender, session) = (ID, SESSION);
    Output::Peer {
        to: OTHER,
        message: Peer::Fence { sender, session },
    }
}

fn cut() -> Output {
    let change = PeerChange::Cut {
        file: FileId(7),
        chunk_bytes: 4096,
        truncation: Truncation {
            sequence: 1,
            size: 0,
        },
    };
    Output::Peer {
        to: OTHER,
        message: Peer::Deliver {
            sender: ID,
            from: Incarnation(1),
            to: None,
            number: 1,
            change,
        },
    }
}

fn fenced() -> Output {
    let (receiver, session) = (ID, SESSION);
    Output::PeerAnswer {
        to: OTHER,
        answer: PeerAnswer::Fenced { receiver, session },
    }
}

#[test]
fn what_others_act_upon_leaves_when_it_is_durable() {
    let decided = Reply::Decided(TransactionState::Committed);
    let replies = [Reply::Prepared(None), decided, Reply::Synchronized];
    let replies = replies.map(|answer| reply(2, Ok(answer)));
    for output in [fence(), fenced()].into_iter().chain(replies) {
        let mut driver = on_disk(false);
        let other = reply(1, Ok(Reply::Done));
        let outputs = [output.clone(), other.clone()];
        assert_eq!(decide(&mut driver, &outputs), [other], "{output:?}");
        assert!(driver.awaits_durability());
        assert_eq!(release(&mut driver), []);
        synchronize(&mut driver);
        assert_eq!(release(&mut driver), [output]);
        assert!(!driver.awaits_durability());
    }
}

#[test]
fn what_changes_nothing_need_not_wait() {
    let mut driver = on_disk(false);
    driver.core_mut().decision.batch = Batch::default();
    assert_eq!(decide(&mut driver, &[fence()]), [fence()]);
}

#[test]
fn messages_to_servers_stay_in_order() {
    let mut driver = on_disk(false);
    assert_eq!(decide(&mut driver, &[fence()]), []);
    synchronize(&mut driver);
    // The second one depends on a later batch.
    assert_eq!(decide(&mut driver, &[fenced()]), [fence()]);
    synchronize(&mut driver);
    assert_eq!(release(&mut driver), [fenced()]);
}

/// Clients would show other servers the number of a truncation that is lost.
#[test]
fn no_reply_shows_a_truncation_that_may_be_lost() {
    let mut driver = on_disk(false);
    let replies = [1, 2].map(|sequence| reply(sequence, Ok(Reply::Done)));
    assert_eq!(decide(&mut driver, &[cut(), replies[0].clone()]), []);
    assert_eq!(decide(&mut driver, &replies[1..]), []);
    synchronize(&mut driver);
    let [first, second] = replies;
    assert_eq!(release(&mut driver), [cut(), first, second]);
}

#[test]
fn everything_waits_where_only_what_is_durable_is_confirmed() {
    let mut driver = on_disk(true);
    let outputs = [reply(1, Ok(Reply::Done)), fence()];
    assert_eq!(decide(&mut driver, &outputs), []);
    synchronize(&mut driver);
    assert_eq!(release(&mut driver), outputs);
}
