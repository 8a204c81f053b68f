//! Connections over a fabric: messages, blocking and waking, and peers that violate the protocol.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{Payload, ServerId, limits};
use futago_transport::{
    Acceptor, Address, Budget, Channel, ClusterKey, ConnectionError, ConnectionHandler,
    ConnectionSlot, Continuation, FabricStream, HandshakeError, Hello, Listener, Party, Provider,
    Receiver, Refusal, Role, SecureStream, Sender, Session, Socket, Stream,
    handshake::{introduce, welcome},
    poll_streams, reach, split,
};
use futago_wire::{Body, Frame, Header, MessageKind, Request};
use std::{io::IoSlice, os::unix::net::UnixStream as UnixSocket, rc::Rc, sync::Arc, thread};
use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    sync::mpsc,
    task::{LocalSet, spawn_local, yield_now},
};

const HELLO: Hello = Hello {
    from: Role::Client,
    to: Party::Server(ServerId(3)),
    map_epoch: 1,
    continues: Continuation::Fabric,
    is_secure: false,
};
const KEY: [u8; 32] = [7; 32];

/// `tcp` has a descriptor to wait for; beside `shm` the ends wake each other.
fn providers() -> [Provider; 2] {
    ["tcp", "shm"].map(|name| name.parse().unwrap())
}

fn on_one_thread<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// Runs on a thread that polls, and on one that blocks at once, with each provider.
fn watched_and_not(test: impl AsyncFn(&Provider)) {
    for provider in providers() {
        on_one_thread(test(&provider));
        on_one_thread(async {
            spawn_local(poll_streams(|look| look()));
            test(&provider).await;
        });
    }
}

async fn offered(socket: UnixStream, provider: &Provider) -> (FabricStream, Session) {
    let mut stream = Stream::Unix(socket);
    let proven = introduce(&mut stream, &ClusterKey::from(KEY), HELLO).await;
    let (_, mut session) = proven.unwrap();
    let moved = FabricStream::offer(stream, &mut session, provider).await;
    (moved.unwrap(), session)
}

async fn accepted(
    socket: UnixStream,
    provider: Option<&Provider>,
) -> Result<(FabricStream, Session), HandshakeError> {
    let mut stream = Stream::Unix(socket);
    let proven = welcome(&mut stream, &ClusterKey::from(KEY), |_| Ok(Vec::new())).await;
    let (_, mut session) = proven.unwrap();
    let moved = FabricStream::accept(stream, &mut session, provider).await?;
    Ok((moved, session))
}

/// Both ends of a connection, and their keys.
async fn streams(provider: &Provider) -> [(FabricStream, Session); 2] {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (ours, theirs) = tokio::join!(offered(ours, provider), accepted(theirs, Some(provider)));
    [ours, theirs.unwrap()]
}

fn ends(channel: Channel) -> (Receiver, Arc<Sender>) {
    let (receiver, sender) = split(channel, Budget::new(0));
    let drive = Arc::clone(&sender);
    spawn_local(async move { drive.drive().await });
    (receiver, sender)
}

async fn open_ends(provider: &Provider) -> [(Receiver, Arc<Sender>); 2] {
    let streams = streams(provider).await;
    streams.map(|(stream, _)| ends(Channel::Stream(Socket::Fabric(stream))))
}

async fn secure_ends(provider: &Provider) -> [(Receiver, Arc<Sender>); 2] {
    let streams = streams(provider).await;
    streams.map(|(stream, session)| {
        let fabric = Socket::Fabric(stream);
        ends(Channel::Secure(SecureStream::new(fabric, session)))
    })
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

async fn received(receiver: &Receiver, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < count {
        receiver.receive(&mut frames).await.unwrap();
    }
    frames
}

async fn exchange([ours, theirs]: [(Receiver, Arc<Sender>); 2]) {
    let largest = limits::PAYLOAD_BYTES;
    let sizes = [0, 1, 70_000, 4096, largest, 0, 65_536, 65_537, 7, 1 << 20];
    let sent: Vec<Frame> = (1..).zip(sizes).map(|(n, size)| frame(n, size)).collect();
    for (_, sender) in [&ours, &theirs] {
        sent.iter().for_each(|frame| sender.queue(frame));
        sender.flush();
    }
    let count = sent.len();
    let (here, there) = tokio::join!(received(&ours.0, count), received(&theirs.0, count));
    assert!(here == sent && there == sent);
}

#[test]
fn messages_of_all_sizes_arrive_whole_and_in_order_both_ways() {
    watched_and_not(async |provider| exchange(open_ends(provider).await).await);
}

#[test]
fn messages_of_secure_clusters_arrive_too() {
    watched_and_not(async |provider| exchange(secure_ends(provider).await).await);
}

#[test]
fn threads_that_block_are_woken_for_each_message() {
    const COUNT: u64 = 200;
    for provider in providers() {
        let (ours, theirs) = UnixSocket::pair().unwrap();
        for socket in [&ours, &theirs] {
            socket.set_nonblocking(true).unwrap();
        }
        let answering = thread::spawn({
            let provider = provider.clone();
            move || {
                on_one_thread(async {
                    let socket = UnixStream::from_std(theirs).unwrap();
                    let (stream, _) = accepted(socket, Some(&provider)).await.unwrap();
                    let (questions, answers) = ends(Channel::Stream(Socket::Fabric(stream)));
                    for _ in 0..COUNT {
                        let question = received(&questions, 1).await;
                        // The other end is blocked by now, or will be.
                        yield_now().await;
                        answers.queue(&question[0]);
                        answers.flush();
                    }
                    // The other end has all answers when it ends the connection.
                    assert!(questions.receive(&mut Vec::new()).await.is_err());
                });
            }
        });
        on_one_thread(async {
            let socket = UnixStream::from_std(ours).unwrap();
            let (stream, _) = offered(socket, &provider).await;
            let (answers, questions) = ends(Channel::Stream(Socket::Fabric(stream)));
            for number in 1..=COUNT {
                questions.queue(&frame(number, 3));
                questions.flush();
                assert_eq!(received(&answers, 1).await, [frame(number, 3)]);
            }
        });
        answering.join().unwrap();
    }
}

#[test]
fn a_polling_thread_receives_and_leaves_the_rest_to_the_waiting_task() {
    watched_and_not(async |provider| {
        let [(from_b, _to_b), (_from_a, to_a)] = open_ends(provider).await;
        assert!(from_b.can_be_polled());
        from_b.start_polling();
        to_a.queue(&frame(1, 100_000));
        to_a.flush();
        let mut frames = Vec::new();
        while frames.is_empty() {
            from_b.try_receive(&mut frames).unwrap();
            yield_now().await;
        }
        from_b.stop_polling();
        to_a.queue(&frame(2, 3));
        to_a.flush();
        frames.extend(received(&from_b, 1).await);
        assert!(frames == [frame(1, 100_000), frame(2, 3)]);
    });
}

#[test]
fn the_end_of_a_peer_is_noticed_by_waiting_and_by_sending_ends() {
    watched_and_not(async |provider| {
        let [(receiver, sender), theirs] = streams(provider)
            .await
            .map(|(stream, _)| split(Channel::Stream(Socket::Fabric(stream)), Budget::new(0)));
        // More than the peer has buffers for.
        (1..=4).for_each(|number| sender.queue(&frame(number, 1 << 20)));
        sender.flush();
        drop(theirs);
        let (_, error) = tokio::join!(async { receiver.receive(&mut Vec::new()).await }, async {
            sender.drive().await
        });
        assert!(
            matches!(error, ConnectionError::Io(_) | ConnectionError::Closed),
            "{error}"
        );
    });
}

#[test]
fn bytes_that_are_no_message_end_the_connection_alone() {
    watched_and_not(async |provider| {
        let [(raw, _), (theirs, _)] = streams(provider).await;
        let (receiver, _sender) = ends(Channel::Stream(Socket::Fabric(theirs)));
        let garbage = vec![0xa5; 100_000];
        assert!(raw.try_write_vectored(&[IoSlice::new(&garbage)]).unwrap() > 0);
        let error = receiver.receive(&mut Vec::new()).await.unwrap_err();
        assert!(matches!(error, ConnectionError::Decode(_)), "{error}");
    });
}

#[test]
fn a_provider_that_the_server_does_not_have_is_named_at_both_ends() {
    let [tcp, shm] = providers();
    on_one_thread(async {
        for (theirs, named) in [(Some(&shm), "shm"), (None, "names no fabric")] {
            let (ours, socket) = UnixStream::pair().unwrap();
            let offering = async {
                let mut stream = Stream::Unix(ours);
                let key = ClusterKey::from(KEY);
                let (_, mut session) = introduce(&mut stream, &key, HELLO).await.unwrap();
                let offered = FabricStream::offer(stream, &mut session, &tcp).await;
                offered.unwrap_err().to_string()
            };
            let (here, there) = tokio::join!(offering, accepted(socket, theirs));
            let there = there.unwrap_err().to_string();
            assert!(
                here.contains(named) && there.contains(named),
                "{here} {there}"
            );
        }
    });
}

#[test]
fn a_peer_that_offers_something_else_is_a_stranger() {
    on_one_thread(async {
        for rubbish in [&b"\x00\x00"[..], b"\xff\xff", &[40; 42]] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let offering = async {
                let mut stream = Stream::Unix(ours);
                let key = ClusterKey::from(KEY);
                introduce(&mut stream, &key, HELLO).await.unwrap();
                stream.write_all(rubbish).await.unwrap();
            };
            let ((), accepted) = tokio::join!(offering, accepted(theirs, None));
            assert!(accepted.is_err(), "{rubbish:?}");
        }
    });
}

/// Reports whether connections go over a fabric.
struct Reporting(mpsc::UnboundedSender<bool>);

impl ConnectionHandler for Reporting {
    fn admit(&self, _: &Hello) -> Result<Vec<ServerId>, Refusal> {
        Ok(vec![ServerId(3)])
    }

    fn connected(&self, channel: Channel, _: Hello, _: ConnectionSlot) {
        self.0.send(channel.fabric().is_some()).unwrap();
    }

    fn rejected(&self, error: &HandshakeError) {
        panic!("{error}");
    }
}

#[test]
fn all_connections_of_a_cluster_with_a_fabric_go_over_it() {
    for provider in providers() {
        on_one_thread(async {
            let any: Address = "tcp:127.0.0.1:0".parse().unwrap();
            let listener = Listener::bind(&any).await.unwrap();
            let address = listener.address().unwrap();
            let (reported, mut ways) = mpsc::unbounded_channel();
            let (key, fabric) = (ClusterKey::from(KEY), Some(provider.clone()));
            let acceptor = Acceptor::new(key.clone(), 10, fabric, Reporting(reported));
            spawn_local(async move { Rc::clone(&acceptor).run(&listener).await });
            let (channel, here) = reach(&address, 1, &key, Some(&provider), HELLO)
                .await
                .unwrap();
            assert!(channel.fabric().is_some() && ways.recv().await.unwrap());
            assert_eq!(here, [ServerId(3)]);
        });
    }
}
