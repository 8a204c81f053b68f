//! Encrypted connections deliver messages complete and in order, and reject changed ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use futago_base::{Payload, ServerId, limits};
use futago_transport::{
    Budget, Channel, ClusterKey, ConnectionError, Continuation, Hello, LedSocket, Receiver, Role,
    SecureStream, Sender, Session, Socket, Stream,
    handshake::{Party, introduce, welcome},
    split,
};
use futago_wire::{Body, Frame, Header, MessageKind, Request};
use proptest::prelude::*;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    net::UnixStream,
    task::{LocalSet, spawn_local, yield_now},
    time::timeout,
};

const HELLO: Hello = Hello {
    from: Role::Client,
    to: Party::Server(ServerId(0)),
    map_epoch: 1,
    continues: Continuation::Socket,
    is_secure: true,
};

fn on_one_thread<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

fn frame(sequence: u64, payload_bytes: usize) -> Frame {
    let mut header = Header::new(MessageKind::Request);
    header.sequence = sequence;
    let byte = |n| (n as u64 * 31 + sequence) as u8;
    Frame {
        header,
        body: Body::Request(Request::GetSpace),
        payload: Payload::from(Bytes::from_iter((0..payload_bytes).map(byte))),
    }
}

fn frames(sizes: &[usize]) -> Vec<Frame> {
    (1..).zip(sizes).map(|(n, &size)| frame(n, size)).collect()
}

/// The keys of both ends of a connection.
async fn sessions() -> (Session, Session) {
    let key = ClusterKey::from([5; 32]);
    let (mut client, mut server) = duplex(1 << 16);
    let (client, server) = tokio::join!(
        introduce(&mut client, &key, HELLO),
        welcome(&mut server, &key, |_| Ok(vec![ServerId(0)]))
    );
    (client.unwrap().1, server.unwrap().1)
}

fn secure(socket: UnixStream, session: Session) -> (Receiver, Arc<Sender>) {
    let stream = SecureStream::new(Socket::Watched(Stream::Unix(socket).into()), session);
    let (receiver, sender) = split(Channel::Secure(stream), Budget::new(0));
    let drive = Arc::clone(&sender);
    spawn_local(async move { drive.drive().await });
    (receiver, sender)
}

/// The bytes on the wire for these messages.
async fn sealed(sent: &[Frame], session: Session) -> Vec<u8> {
    let (ours, mut wire) = UnixStream::pair().unwrap();
    let (receiver, sender) = secure(ours, session);
    sent.iter().for_each(|frame| sender.queue(frame));
    sender.flush();
    let closing = spawn_local(async move {
        sender.room(0).await;
        sender.close();
        drop(receiver);
    });
    let mut bytes = Vec::new();
    wire.read_to_end(&mut bytes).await.unwrap();
    closing.await.unwrap();
    bytes
}

/// The messages received from a wire, until the connection ends.
async fn opened(wire: Vec<u8>, session: Session) -> (Vec<Frame>, ConnectionError) {
    let (mut far, ours) = UnixStream::pair().unwrap();
    let (receiver, _sender) = secure(ours, session);
    spawn_local(async move {
        // The other end may close the connection before it has read all bytes.
        let _ = far.write_all(&wire).await;
    });
    let mut received = Vec::new();
    loop {
        if let Err(error) = receiver.receive(&mut received).await {
            return (received, error);
        }
    }
}

/// Messages of the Noise protocol, with their lengths.
type Messages = Vec<Vec<u8>>;

/// The messages on a wire.
fn messages(mut wire: &[u8]) -> Messages {
    let mut messages = Vec::new();
    while let Some(length) = wire.first_chunk() {
        let (message, rest) = wire.split_at(2 + usize::from(u16::from_le_bytes(*length)));
        messages.push(message.to_vec());
        wire = rest;
    }
    messages
}

#[test]
fn messages_of_all_sizes_arrive_both_ways() {
    on_one_thread(async {
        let (client, server) = sessions().await;
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (ours, theirs) = (secure(ours, client), secure(theirs, server));
        let sizes = [0, 1, 65_519, 70_000, limits::PAYLOAD_BYTES, 0, 65_536];
        let sent = frames(&sizes);
        for (from, to) in [(&ours, &theirs), (&theirs, &ours), (&ours, &theirs)] {
            sent.iter().for_each(|frame| from.1.queue(frame));
            from.1.flush();
            let mut received = Vec::new();
            while received.len() < sent.len() {
                to.0.receive(&mut received).await.unwrap();
            }
            assert_eq!(received, sent);
            from.1.room(0).await;
        }
    });
}

/// A connection on which a message has begun, and the end that never sends the rest of it.
async fn begun(payload_bytes: usize, budget: &Budget) -> (Receiver, Arc<Sender>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.writable().await.unwrap();
    let (_, sender) = split(Stream::Unix(theirs), Budget::new(0));
    sender.queue(&frame(1, payload_bytes));
    sender.flush();
    ours.readable().await.unwrap();
    let (receiver, _) = split(Stream::Unix(ours), budget.clone());
    receiver.try_receive(&mut Vec::new()).unwrap();
    (receiver, sender)
}

#[test]
fn a_thread_that_stops_to_lead_leaves_no_opened_bytes_behind() {
    on_one_thread(async {
        let budget = Budget::new(0);
        let all = limits::PAYLOAD_BYTES + limits::BODY_BYTES;
        let first = begun(limits::PAYLOAD_BYTES, &budget).await;
        let second = begun(all - limits::PAYLOAD_BYTES - 2048, &budget).await;

        let (client, server) = sessions().await;
        let sent = [frame(1, 70_000)];
        let wire = sealed(&sent, client).await;
        let (mut far, ours) = UnixStream::pair().unwrap();
        let socket = Socket::Led(LedSocket::new(Stream::Unix(ours)).unwrap());
        let stream = Channel::Secure(SecureStream::new(socket, server));
        let (receiver, _sender) = split(stream, budget);
        let receiver = Arc::new(receiver);
        receiver.start_polling();
        let waits = Arc::clone(&receiver);
        let waiting = spawn_local(async move {
            let mut received = Vec::new();
            waits.receive(&mut received).await.map(|()| received)
        });
        yield_now().await;
        far.write_all(&wire).await.unwrap();
        receiver.try_receive(&mut Vec::new()).unwrap();
        assert!(receiver.waits_for_memory());
        receiver.stop_polling();
        drop((first, second));
        let received = timeout(Duration::from_secs(30), waiting).await;
        assert_eq!(received.unwrap().unwrap().unwrap(), sent);
    });
}

#[test]
fn no_message_is_longer_than_the_protocol_allows_and_none_shows_what_it_holds() {
    on_one_thread(async {
        let (client, _) = sessions().await;
        let sent = [frame(1, 1 << 20)];
        let wire = sealed(&sent, client).await;
        assert!(messages(&wire).len() > 16);
        let plain = sent[0].payload.bytes().slice(..16);
        assert!(!wire.windows(16).any(|window| window == plain));
    });
}

#[test]
fn a_repeated_a_moved_and_a_missing_message_end_the_connection() {
    let repeat = |messages: &mut Messages| messages.insert(1, messages[0].clone());
    let swap = |messages: &mut Messages| messages.swap(1, 2);
    let leave_out = |messages: &mut Messages| drop(messages.remove(1));
    let changes: [&dyn Fn(&mut Messages); 3] = [&repeat, &swap, &leave_out];
    for change in changes {
        let (received, error) = on_one_thread(async {
            let (client, server) = sessions().await;
            let sent = [frame(1, 1 << 20)];
            let mut messages = messages(&sealed(&sent, client).await);
            change(&mut messages);
            opened(messages.concat(), server).await
        });
        assert!(received.is_empty());
        assert!(matches!(error, ConnectionError::Io(_)), "{error}");
        assert!(error.to_string().contains("on its way"), "{error}");
    }
}

#[test]
fn a_connection_that_is_cut_within_a_message_is_no_orderly_end() {
    on_one_thread(async {
        let (client, server) = sessions().await;
        let mut wire = sealed(&frames(&[10, 10]), client).await;
        wire.pop();
        let (received, error) = opened(wire, server).await;
        assert!(received.len() < 2);
        assert!(matches!(error, ConnectionError::Io(_)), "{error}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_comes_out_is_what_went_in(sizes in prop::collection::vec(0_usize..200_000, 1..12)) {
        let sent = frames(&sizes);
        let (received, error) = on_one_thread(async {
            let (client, server) = sessions().await;
            opened(sealed(&sent, client).await, server).await
        });
        prop_assert_eq!(received, sent);
        prop_assert!(matches!(error, ConnectionError::Closed));
    }

    #[test]
    fn a_changed_byte_never_comes_out(
        sizes in prop::collection::vec(0_usize..100_000, 1..6),
        at: prop::sample::Index,
        flip in 1_u8..,
    ) {
        let sent = frames(&sizes);
        let (received, error) = on_one_thread(async {
            let (client, server) = sessions().await;
            let mut wire = sealed(&sent, client).await;
            let at = at.index(wire.len());
            wire[at] ^= flip;
            opened(wire, server).await
        });
        prop_assert!(received.len() < sent.len());
        prop_assert_eq!(&received[..], &sent[..received.len()]);
        prop_assert!(matches!(error, ConnectionError::Io(_)), "{}", error);
    }
}
