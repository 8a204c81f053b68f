//! The effects of a session's calls, one by one.

use futago_base::{Duration, Errno, FileId, Moment, Payload, ServerId, SessionId, Time};
use futago_driver::{CallOutput, Calls, CallsConfig};
use futago_wire::{
    Body, Failure, Frame, Header, MessageKind, Outcome, Reply, Request, header::features,
};

const SERVER: ServerId = ServerId(3);
const SESSION: SessionId = SessionId(77);

fn calls(config: CallsConfig) -> Calls {
    Calls::new(SESSION, 5, config)
}

/// A config in which all times differ and are easy to add up.
fn config() -> CallsConfig {
    CallsConfig {
        window: 2,
        queue_max: 2,
        resend_min: Duration(100),
        resend_max: Duration(300),
        busy_min: Duration(10),
        busy_max: Duration(15),
        busy_give_up: Duration(500),
        connect_min: Duration(7),
        connect_max: Duration(20),
        give_up: Duration(1000),
        ..CallsConfig::default()
    }
}

fn request(number: u64) -> Request {
    Request::Open(FileId(number))
}

fn start(calls: &mut Calls, now: u64) -> u64 {
    let sequence = calls.next_sequence();
    calls.start(
        sequence,
        SERVER,
        request(sequence),
        Payload::empty(),
        Time(now),
    );
    sequence
}

fn answer(calls: &mut Calls, sequence: u64, outcome: Outcome, now: u64) {
    let header = Header {
        session: SESSION,
        sequence,
        ..Header::new(MessageKind::Outcome)
    };
    calls.received(SERVER, &header, outcome, Payload::empty(), Time(now));
}

fn outputs(calls: &mut Calls) -> Vec<CallOutput> {
    core::iter::from_fn(|| calls.next_output()).collect()
}

/// On a crowded link the reply to a large read may take longer than the first timeout.
#[test]
fn a_request_is_not_sent_again_while_bytes_pass() {
    let mut calls = calls(config());
    let first = start(&mut calls, 0);
    calls.connected(SERVER, Time(0));
    assert!(outputs(&mut calls).contains(&send(first, 0)));
    for now in [100, 200, 1900] {
        calls.progressed(SERVER, Time(now));
        calls.tick(Time(now));
        assert_eq!(outputs(&mut calls), [], "{now}");
    }
    calls.tick(Time(1999));
    assert_eq!(outputs(&mut calls), []);
    calls.tick(Time(2000));
    assert_eq!(
        outputs(&mut calls),
        [send(first, 0)],
        "nothing passes any more"
    );
}

/// A request to a server that has not answered yet.
fn send(sequence: u64, acknowledged: u64) -> CallOutput {
    send_with(features::INTRODUCES, sequence, acknowledged, 0)
}

/// The clock of a request is the latest time in messages of servers.
fn send_with(features: u32, sequence: u64, acknowledged: u64, clock: u64) -> CallOutput {
    CallOutput::Send {
        to: SERVER,
        frame: Frame {
            header: Header {
                server: SERVER,
                session: SESSION,
                map_epoch: 5,
                sequence,
                acknowledged,
                clock: Time(clock),
                features,
                ..Header::new(MessageKind::Request)
            },
            body: Body::Request(request(sequence)),
            payload: Payload::empty(),
        },
    }
}

fn completed(sequence: u64, outcome: Outcome) -> CallOutput {
    CallOutput::Completed {
        sequence,
        outcome,
        payload: Payload::empty(),
    }
}

fn unreachable(sequence: u64) -> CallOutput {
    completed(sequence, Err(Failure::Errno(Errno::EIO)))
}

#[test]
fn the_first_call_connects_and_is_sent_once_connected() {
    let mut calls = calls(config());
    start(&mut calls, 0);
    assert_eq!(outputs(&mut calls), [CallOutput::Connect(SERVER)]);
    calls.connected(SERVER, Time(5));
    assert_eq!(outputs(&mut calls), [send(1, 0)]);
    answer(&mut calls, 1, Ok(Reply::Done), 9);
    assert_eq!(outputs(&mut calls), [completed(1, Ok(Reply::Done))]);
    assert_eq!(calls.next_deadline(), None);
}

/// Whether the requests that are sent introduce the session.
fn introduce(outputs: &[CallOutput]) -> Vec<bool> {
    let of = |output: &CallOutput| match output {
        CallOutput::Send { frame, .. } => Some(frame.header.features & features::INTRODUCES != 0),
        _ => None,
    };
    outputs.iter().filter_map(of).collect()
}

#[test]
fn a_session_is_introduced_until_the_server_has_looked_at_a_request_of_it() {
    let mut calls = connected(config());
    let status = calls.next_sequence();
    calls.start(
        status,
        SERVER,
        Request::GetStatus,
        Payload::empty(),
        Time(0),
    );
    // Servers answer these without a look at the session.
    answer(&mut calls, status, Ok(Reply::Done), 1);
    let first = start(&mut calls, 2);
    answer(&mut calls, first, Err(Failure::Busy), 3);
    calls.tick(Time(30));
    assert_eq!(introduce(&outputs(&mut calls)), [true, true, true]);
    answer(&mut calls, first, Err(Failure::Errno(Errno::ESTALE)), 31);
    start(&mut calls, 32);
    assert_eq!(introduce(&outputs(&mut calls)), [false]);
    // A broken connection does not change that.
    calls.disconnected(SERVER, Time(33));
    calls.connected(SERVER, Time(40));
    assert_eq!(introduce(&outputs(&mut calls)), [false]);
}

fn connected(config: CallsConfig) -> Calls {
    let mut calls = calls(config);
    calls.connected(SERVER, Time(0));
    calls
}

#[test]
fn beyond_the_window_calls_wait_and_beyond_the_queue_they_are_refused() {
    let mut calls = connected(config());
    for _ in 0..5 {
        start(&mut calls, 0);
    }
    let refused = completed(5, Err(Failure::Busy));
    assert_eq!(outputs(&mut calls), [send(1, 0), send(2, 0), refused]);
    answer(&mut calls, 2, Ok(Reply::Done), 1);
    assert_eq!(
        outputs(&mut calls),
        [completed(2, Ok(Reply::Done)), send_with(0, 3, 0, 0)]
    );
    calls.credits(SERVER, 3, Time(2));
    assert_eq!(outputs(&mut calls), [send_with(0, 4, 0, 0)]);
}

#[test]
fn a_call_without_answer_is_sent_again_with_its_number_and_growing_pauses() {
    let mut calls = connected(config());
    start(&mut calls, 0);
    outputs(&mut calls);
    for due in [100, 300, 600, 900] {
        assert_eq!(calls.next_deadline(), Some(Time(due)));
        calls.tick(Time(due));
        assert_eq!(outputs(&mut calls), [send(1, 0)]);
    }
    assert_eq!(calls.next_deadline(), Some(Time(1000)));
    calls.tick(Time(1000));
    assert_eq!(outputs(&mut calls), [unreachable(1)]);
    answer(&mut calls, 1, Ok(Reply::Done), 1001);
    assert_eq!(outputs(&mut calls), []);
}

#[test]
fn contact_with_the_server_keeps_waiting_calls_alive() {
    let mut calls = connected(config());
    start(&mut calls, 0);
    start(&mut calls, 0);
    answer(&mut calls, 2, Ok(Reply::Done), 950);
    outputs(&mut calls);
    for _ in 0..20 {
        let due = calls.next_deadline().unwrap();
        if due >= Time(1950) {
            break;
        }
        calls.tick(due);
        assert!(!outputs(&mut calls).contains(&unreachable(1)));
    }
    calls.tick(Time(1950));
    assert_eq!(outputs(&mut calls), [unreachable(1)]);
}

#[test]
fn a_busy_server_is_asked_again_later_and_not_for_ever() {
    let mut calls = connected(config());
    start(&mut calls, 0);
    outputs(&mut calls);
    answer(&mut calls, 1, Err(Failure::Busy), 1);
    assert_eq!(calls.next_deadline(), Some(Time(11)));
    let mut now = 1;
    while now < 501 {
        now = calls.next_deadline().unwrap().0;
        calls.tick(Time(now));
        if now < 501 {
            assert_eq!(outputs(&mut calls), [send(1, 0)]);
            answer(&mut calls, 1, Err(Failure::Busy), now);
        }
    }
    assert_eq!(outputs(&mut calls), [unreachable(1)]);
}

#[test]
fn a_broken_connection_is_made_again_and_everything_is_sent_again_in_order() {
    let mut calls = connected(config());
    for _ in 0..3 {
        start(&mut calls, 0);
    }
    outputs(&mut calls);
    calls.disconnected(SERVER, Time(10));
    assert_eq!(outputs(&mut calls), [CallOutput::Connect(SERVER)]);
    calls.disconnected(SERVER, Time(11));
    assert_eq!(outputs(&mut calls), []);
    assert_eq!(calls.next_deadline(), Some(Time(18)));
    calls.tick(Time(18));
    assert_eq!(outputs(&mut calls), [CallOutput::Connect(SERVER)]);
    calls.connected(SERVER, Time(20));
    assert_eq!(outputs(&mut calls), [send(1, 0), send(2, 0)]);
}

#[test]
fn a_server_that_was_given_up_fails_new_calls_until_a_connection_comes_about() {
    let mut calls = calls(config());
    start(&mut calls, 0);
    calls.disconnected(SERVER, Time(1));
    outputs(&mut calls);
    calls.tick(Time(1000));
    assert_eq!(outputs(&mut calls), [unreachable(1)]);
    start(&mut calls, 1001);
    calls.disconnected(SERVER, Time(1002));
    assert_eq!(outputs(&mut calls), [unreachable(2)]);
    start(&mut calls, 1003);
    assert_eq!(outputs(&mut calls), [unreachable(3)], "it was just tried");
    start(&mut calls, 1100);
    assert_eq!(outputs(&mut calls), [CallOutput::Connect(SERVER)]);
    calls.connected(SERVER, Time(1101));
    answer(&mut calls, 4, Ok(Reply::Done), 1102);
    assert_eq!(
        outputs(&mut calls),
        [send(4, 3), completed(4, Ok(Reply::Done))]
    );
}

#[test]
fn acknowledged_is_what_precedes_the_oldest_open_call() {
    let mut calls = connected(config());
    start(&mut calls, 0);
    start(&mut calls, 0);
    let transaction = calls.next_sequence();
    assert_eq!(transaction, 3);
    assert_eq!(calls.acknowledged(), 0);
    answer(&mut calls, 2, Ok(Reply::Done), 1);
    assert_eq!(calls.acknowledged(), 0);
    answer(&mut calls, 1, Ok(Reply::Done), 1);
    assert_eq!(calls.acknowledged(), 3);
}

#[test]
fn decisions_go_past_a_full_window() {
    let mut calls = connected(config());
    for _ in 0..3 {
        start(&mut calls, 0);
    }
    outputs(&mut calls);
    let sequence = calls.next_sequence();
    calls.start(
        sequence,
        SERVER,
        Request::KeepAlive,
        Payload::empty(),
        Time(0),
    );
    let sent = outputs(&mut calls);
    assert!(matches!(&sent[..], [CallOutput::Send { frame, .. }]
        if frame.body == Body::Request(Request::KeepAlive)));
    answer(&mut calls, sequence, Ok(Reply::Done), 1);
    assert_eq!(outputs(&mut calls), [completed(4, Ok(Reply::Done))]);
}

#[test]
fn answers_of_others_are_ignored() {
    let mut calls = connected(config());
    start(&mut calls, 0);
    outputs(&mut calls);
    let mut header = Header {
        session: SessionId(1),
        sequence: 1,
        ..Header::new(MessageKind::Outcome)
    };
    calls.received(SERVER, &header, Ok(Reply::Done), Payload::empty(), Time(1));
    header.session = SESSION;
    calls.received(
        ServerId(9),
        &header,
        Ok(Reply::Done),
        Payload::empty(),
        Time(1),
    );
    assert_eq!(outputs(&mut calls), []);
}

#[test]
fn who_leaves_waits_for_connected_servers_only() {
    let mut calls = calls(config());
    let waiting = start(&mut calls, 0);
    assert_eq!(outputs(&mut calls), [CallOutput::Connect(SERVER)]);
    calls.disconnected(SERVER, Time(1));
    assert_eq!(outputs(&mut calls), [CallOutput::Connect(SERVER)]);
    calls.leave(Time(2));
    assert_eq!(outputs(&mut calls), [], "a connection is being made");
    calls.disconnected(SERVER, Time(3));
    assert_eq!(outputs(&mut calls), [unreachable(waiting)]);
    let late = start(&mut calls, 4);
    assert_eq!(outputs(&mut calls), [unreachable(late)]);
}

#[test]
fn who_leaves_does_not_come_back_to_a_server_that_has_gone() {
    let mut calls = calls(config());
    calls.connected(SERVER, Time(0));
    calls.leave(Time(1));
    let last = start(&mut calls, 2);
    assert!(matches!(outputs(&mut calls)[..], [CallOutput::Send { .. }]));
    calls.disconnected(SERVER, Time(3));
    assert_eq!(outputs(&mut calls), [unreachable(last)]);
}

#[test]
fn what_the_session_before_has_seen_no_request_is_before() {
    let mut calls = connected(config());
    calls.observe(Time(900));
    let sequence = start(&mut calls, 100);
    assert_eq!(
        outputs(&mut calls),
        [send_with(features::INTRODUCES, sequence, 0, 900)]
    );
}

#[test]
fn a_client_tells_servers_what_others_have_shown_and_not_its_own_clock() {
    let mut calls = connected(config());
    let ahead = Moment {
        steady: Time(1),
        stamp: Time(1 << 60),
    };
    let first = calls.next_sequence();
    calls.start(first, SERVER, request(first), Payload::empty(), ahead);
    assert_eq!(outputs(&mut calls), [send(first, 0)]);
    let header = Header {
        session: SESSION,
        sequence: first,
        clock: Time(700),
        ..Header::new(MessageKind::Outcome)
    };
    calls.received(SERVER, &header, Ok(Reply::Done), Payload::empty(), ahead);
    let second = calls.next_sequence();
    calls.start(second, SERVER, request(second), Payload::empty(), ahead);
    let seen = send_with(0, second, 1, 700);
    assert_eq!(
        outputs(&mut calls),
        [completed(first, Ok(Reply::Done)), seen]
    );
}
