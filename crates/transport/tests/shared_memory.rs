//! Connections through shared memory: messages, blocking and waking, and peers that violate the
//! protocol.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{Payload, ServerId, limits};
use futago_transport::{
    Acceptor, Address, Budget, Channel, ClusterKey, ConnectionError, ConnectionHandler,
    ConnectionSlot, Continuation, HandshakeError, Hello, Listener, Party, Receiver, Refusal, Role,
    Sender, poll_streams, reach, shared_memory::MemoryStream, split,
};
use futago_wire::{Body, Frame, Header, MessageKind, Request};
use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};
use std::{
    cell::RefCell,
    fs::File,
    io::{ErrorKind, IoSlice},
    mem::MaybeUninit,
    os::{
        fd::AsFd,
        unix::{fs::FileExt, net::UnixStream as UnixSocket},
    },
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    sync::mpsc,
    task::{LocalSet, spawn_local, yield_now},
};

fn on_one_thread<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// Runs on a thread that polls, and on one that blocks at once.
fn watched_and_not(test: impl AsyncFn()) {
    on_one_thread(test());
    on_one_thread(async {
        spawn_local(poll_streams(|look| look()));
        test().await;
    });
}

async fn streams() -> (MemoryStream, MemoryStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (ours, theirs) = tokio::join!(MemoryStream::offer(ours), MemoryStream::accept(theirs));
    (ours.unwrap(), theirs.unwrap())
}

fn ends(stream: MemoryStream) -> (Receiver, Arc<Sender>) {
    let (receiver, sender) = split(stream, Budget::new(0));
    let drive = Arc::clone(&sender);
    spawn_local(async move { drive.drive().await });
    (receiver, sender)
}

fn frame(sequence: u64, payload_bytes: usize) -> Frame {
    let header = Header {
        sequence,
        ..Header::new(MessageKind::Request)
    };
    let bytes: Vec<u8> = (0..payload_bytes)
        .map(|n| (n as u64 * sequence) as u8)
        .collect();
    Frame {
        header,
        body: Body::Request(Request::GetSpace),
        payload: Payload::from(Bytes::from(bytes)),
    }
}

async fn received(receiver: &Receiver, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < count {
        receiver.receive(&mut frames).await.unwrap();
    }
    frames
}

#[test]
fn messages_of_all_sizes_arrive_whole_and_in_order_both_ways() {
    watched_and_not(async || {
        let (a, b) = streams().await;
        let ((from_b, to_b), (from_a, to_a)) = (ends(a), ends(b));
        let sizes = [
            0,
            1,
            70_000,
            4096,
            limits::PAYLOAD_BYTES,
            0,
            65_536,
            65_537,
            7,
            1 << 20,
        ];
        let sent: Vec<Frame> = (1..).zip(sizes).map(|(n, size)| frame(n, size)).collect();
        for sender in [&to_a, &to_b] {
            sent.iter().for_each(|frame| sender.queue(frame));
            sender.flush();
        }
        let count = sent.len();
        let (at_a, at_b) = tokio::join!(received(&from_b, count), received(&from_a, count));
        assert!(at_a == sent && at_b == sent);
    });
}

/// Sends questions from a thread that blocks, each after the answer to the one before. Returns how
/// often the thread was woken.
fn wake_ups_of_questions(count: u64, socket: UnixSocket) -> u64 {
    static WAKE_UPS: AtomicU64 = AtomicU64::new(0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_unpark(|| {
            WAKE_UPS.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let socket = UnixStream::from_std(socket).unwrap();
        let (answers, questions) = ends(MemoryStream::offer(socket).await.unwrap());
        let before = WAKE_UPS.load(Ordering::Relaxed);
        for number in 1..=count {
            questions.queue(&frame(number, 3));
            questions.flush();
            received(&answers, 1).await;
        }
        WAKE_UPS.load(Ordering::Relaxed) - before
    })
}

#[test]
fn a_blocked_thread_is_woken_for_answers_only() {
    let count = 500;
    let (ours, theirs) = UnixSocket::pair().unwrap();
    for socket in [&ours, &theirs] {
        socket.set_nonblocking(true).unwrap();
    }
    let answering = thread::spawn(move || {
        on_one_thread(async {
            let socket = UnixStream::from_std(theirs).unwrap();
            let (questions, answers) = ends(MemoryStream::accept(socket).await.unwrap());
            for _ in 0..count {
                let question = received(&questions, 1).await;
                // The other end is blocked by now, or will be.
                yield_now().await;
                answers.queue(&question[0]);
                answers.flush();
            }
        });
    });
    let wake_ups = wake_ups_of_questions(count, ours);
    answering.join().unwrap();
    assert!(wake_ups <= count + count / 10, "{wake_ups}");
}

#[test]
fn questions_and_answers_alternate() {
    watched_and_not(async || {
        let (a, b) = streams().await;
        let ((from_b, to_b), (from_a, to_a)) = (ends(a), ends(b));
        let answering = spawn_local(async move {
            for _ in 0..500 {
                for question in received(&from_a, 1).await {
                    to_a.queue(&question);
                }
                to_a.flush();
            }
        });
        for number in 1..=500 {
            to_b.queue(&frame(number, 3));
            to_b.flush();
            assert_eq!(received(&from_b, 1).await, [frame(number, 3)]);
        }
        answering.await.unwrap();
    });
}

#[test]
fn who_attends_receives_and_leaves_the_rest_to_who_waits() {
    watched_and_not(async || {
        let (a, b) = streams().await;
        let ((from_b, _to_b), (_from_a, to_a)) = (ends(a), ends(b));
        let from_b = Arc::new(from_b);
        let send = |number| {
            to_a.queue(&frame(number, 3));
            to_a.flush();
        };
        for number in [1, 3, 5] {
            let waits = Arc::clone(&from_b);
            let waiting = spawn_local(async move { received(&waits, 1).await });
            yield_now().await;
            from_b.start_polling();
            send(number);
            let mut is_polled = Vec::new();
            from_b.try_receive(&mut is_polled).unwrap();
            assert_eq!(is_polled, [frame(number, 3)]);
            if number == 3 {
                send(number + 1);
                from_b.stop_polling();
            } else {
                from_b.stop_polling();
                send(number + 1);
            }
            assert_eq!(waiting.await.unwrap(), [frame(number + 1, 3)]);
        }
    });
}

#[test]
fn who_attends_sends_and_leaves_the_rest_to_who_drives() {
    watched_and_not(async || {
        let (a, b) = streams().await;
        let ((from_b, to_b), (from_a, _to_a)) = (ends(a), ends(b));
        let large = frame(1, limits::PAYLOAD_BYTES);
        from_b.start_polling();
        to_b.queue(&large);
        let mut frames = Vec::new();
        while frames.is_empty() {
            to_b.flush();
            from_a.try_receive(&mut frames).unwrap();
        }
        assert!(frames == [large.clone()]);
        to_b.queue(&large);
        to_b.flush();
        assert!(to_b.queued_bytes() > 0);
        from_b.stop_polling();
        to_b.flush();
        assert!(received(&from_a, 1).await == [large]);
    });
}

#[test]
fn what_was_sent_before_the_end_is_received() {
    watched_and_not(async || {
        let (a, b) = streams().await;
        let (_, to_b) = split(a, Budget::new(0));
        let (from_a, to_a) = split(b, Budget::new(0));
        to_b.queue(&frame(1, 100));
        to_b.flush();
        drop(to_b);
        assert_eq!(received(&from_a, 1).await, [frame(1, 100)]);
        let error = from_a.receive(&mut Vec::new()).await.unwrap_err();
        assert!(matches!(error, ConnectionError::Closed), "{error}");
        to_a.queue(&frame(2, 100));
        to_a.flush();
        assert!(to_a.drive().await.to_string().contains("broke"));
    });
}

#[test]
fn a_message_with_a_mebibyte_of_data_is_sent_at_once() {
    on_one_thread(async {
        let (a, b) = streams().await;
        let (_, to_b) = split(a, Budget::new(0));
        let (from_a, _to_a) = ends(b);
        let large = frame(1, 1 << 20);
        assert!(!to_b.post(&large));
        assert_eq!(to_b.queued_bytes(), 0);
        assert!(received(&from_a, 1).await == [large]);
    });
}

#[test]
fn messages_beyond_the_room_follow_as_the_peer_reads() {
    watched_and_not(async || {
        let (a, b) = streams().await;
        let ((_from_b, to_b), (from_a, _to_a)) = (ends(a), ends(b));
        let sizes = [1 << 20, 7, limits::PAYLOAD_BYTES, 0, 70_000, 1 << 20];
        let sent: Vec<Frame> = (1..).zip(sizes).map(|(n, size)| frame(n, size)).collect();
        for frame in &sent {
            to_b.post(frame);
        }
        assert!(to_b.queued_bytes() > 0);
        assert!(received(&from_a, sent.len()).await == sent);
        assert_eq!(to_b.queued_bytes(), 0);
    });
}

/// A file as a peer creates it, and the accepted end of a connection through it.
async fn raw_peer() -> (UnixStream, File, Receiver) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let file = memfd_create("peer", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, SIZE).unwrap();
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).unwrap();
    hand_over(&ours, &[&file]);
    let stream = MemoryStream::accept(theirs).await.unwrap();
    (ours, file.into(), split(stream, Budget::new(0)).0)
}

/// Two directions with a control page and room for 1 MiB with its head each.
const SIZE: u64 = 2 * (4096 + (1 << 20) + (64 << 10));

fn hand_over(socket: &UnixStream, files: &[&dyn AsFd]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
    if !files.is_empty() {
        assert!(attached.push(SendAncillaryMessage::ScmRights(&files)));
    }
    let token = [IoSlice::new(b"M")];
    sendmsg(socket, &token, &mut attached, SendFlags::empty()).unwrap();
}

#[test]
fn a_peer_at_an_impossible_place_is_cut_off() {
    on_one_thread(async {
        let (socket, file, receiver) = raw_peer().await;
        file.write_all_at(&(2_u64 << 20).to_ne_bytes(), 0).unwrap();
        socket.try_write(b"x").unwrap();
        let error = receiver.receive(&mut Vec::new()).await.unwrap_err();
        assert!(error.to_string().contains("which cannot be"), "{error}");
    });
}

#[test]
fn a_peer_that_sends_rubbish_is_cut_off() {
    on_one_thread(async {
        let (_socket, file, receiver) = raw_peer().await;
        file.write_all_at(&[0x55; 4096], 4096).unwrap();
        file.write_all_at(&4096_u64.to_ne_bytes(), 0).unwrap();
        let error = receiver.receive(&mut Vec::new()).await.unwrap_err();
        assert!(matches!(error, ConnectionError::Decode(_)), "{error}");
    });
}

#[test]
fn what_is_no_memory_of_ours_is_refused() {
    on_one_thread(async {
        let other = File::open("/dev/zero").unwrap();
        let unsealed = memfd_create("peer", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&unsealed, SIZE).unwrap();
        let offers: [&[&dyn AsFd]; 4] = [&[], &[&other], &[&unsealed], &[&other, &other, &other]];
        for files in offers {
            let (ours, theirs) = UnixStream::pair().unwrap();
            hand_over(&ours, files);
            let error = MemoryStream::accept(theirs).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        }
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"?").await.unwrap();
        drop(ours);
        assert!(MemoryStream::accept(theirs).await.is_err());
    });
}

/// A server that reports the transport of its clients.
struct Counting(mpsc::UnboundedSender<&'static str>);

impl ConnectionHandler for Counting {
    fn admit(&self, _: &Hello) -> Result<Vec<ServerId>, Refusal> {
        Ok(Vec::new())
    }

    fn connected(&self, channel: Channel, _: Hello, _: ConnectionSlot) {
        let name = match channel {
            Channel::Stream(_) | Channel::Secure(_) => "socket",
            Channel::Memory(_) => "memory",
        };
        self.0.send(name).unwrap();
    }

    fn rejected(&self, _: &HandshakeError) {}
}

const CLUSTER: u64 = 0x5eed;

async fn way_to(listeners: Vec<Listener>, address: &Address, cluster: u64) -> &'static str {
    let key = ClusterKey::from([7; 32]);
    let (reported, mut ways) = mpsc::unbounded_channel();
    let acceptor = Acceptor::new(key.clone(), 10, None, Counting(reported));
    for listener in listeners {
        let acceptor = Rc::clone(&acceptor);
        spawn_local(async move { acceptor.run(&listener).await });
    }
    let hello = Hello {
        from: Role::Client,
        to: Party::Server(ServerId(3)),
        map_epoch: 1,
        is_secure: false,
        continues: Continuation::Socket,
    };
    let _channel = reach(address, cluster, &key, None, hello).await.unwrap();
    let mut way = ways.recv().await.unwrap();
    // Rejected attempts are in the queue first.
    while let Ok(later) = ways.try_recv() {
        way = later;
    }
    way
}

#[test]
fn neighbours_talk_through_memory_and_others_over_sockets() {
    let directory = tempfile::tempdir().unwrap();
    on_one_thread(async {
        let unix = Address::Unix(directory.path().join("s"));
        let listener = Listener::bind(&unix).await.unwrap();
        assert_eq!(way_to(vec![listener], &unix, CLUSTER).await, "memory");

        let any = "tcp:127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&any).await.unwrap();
        let tcp = listener.address().unwrap();
        let nearby = Listener::bind_nearby(&tcp, CLUSTER, Party::Server(ServerId(3)));
        let both = vec![listener, nearby.unwrap().unwrap()];
        assert_eq!(way_to(both, &tcp, CLUSTER).await, "memory");

        // The client finds no server of this cluster on this host, as if it were on another one.
        let listener = Listener::bind(&any).await.unwrap();
        let tcp = listener.address().unwrap();
        assert_eq!(way_to(vec![listener], &tcp, CLUSTER + 1).await, "socket");
    });
}

type Log = Rc<RefCell<Vec<String>>>;

/// Receives a connection's messages and passes them to a handler, as servers do.
fn take_in(name: char, receiver: Receiver, arrived: mpsc::UnboundedSender<String>, log: Log) {
    spawn_local(async move {
        let mut frames = Vec::new();
        while receiver.receive(&mut frames).await.is_ok() {
            for frame in frames.drain(..) {
                let message = format!("{name}{}", frame.header.sequence);
                log.borrow_mut().push(format!("{message} taken in"));
                arrived.send(message).unwrap();
            }
        }
    });
}

#[test]
fn each_large_message_is_handled_before_the_next_one_is_received_and_connections_alternate() {
    on_one_thread(async {
        let (arrived, mut arrivals) = mpsc::unbounded_channel();
        let log = Log::default();
        let mut connections = Vec::new();
        for (name, count) in [('a', 3), ('b', 1), ('c', 2)] {
            let (ours, theirs) = streams().await;
            let (sender, receiver) = (ends(ours).1, ends(theirs).0);
            for number in 1..=count {
                sender.post(&frame(number, 100 << 10));
            }
            connections.push((name, sender, receiver));
        }
        let mut senders = Vec::new();
        for (name, sender, receiver) in connections {
            senders.push(sender);
            take_in(name, receiver, arrived.clone(), Rc::clone(&log));
        }
        let handled = Rc::clone(&log);
        let handling = spawn_local(async move {
            for _ in 0..6 {
                let message = arrivals.recv().await.unwrap();
                handled.borrow_mut().push(format!("{message} handled"));
            }
        });
        handling.await.unwrap();
        let order = ["a1", "b1", "c1", "a2", "c2", "a3"];
        let expected =
            order.map(|name| ["taken in", "handled"].map(|what| format!("{name} {what}")));
        assert_eq!(*log.borrow(), expected.as_flattened());
    });
}
