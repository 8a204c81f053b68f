//! Messages over real sockets: in order, complete, in pieces, and from hostile peers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use futago_base::{Payload, limits};
use futago_transport::{Budget, ConnectionError, Receiver, Sender, Stream, split};
use futago_wire::{Body, DecodeError, Frame, Header, MessageKind, Request, codec::HEADER_BYTES};
use proptest::prelude::*;
use std::sync::Arc;
use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    task::{JoinHandle, LocalSet, spawn_local},
};

fn frame(sequence: u64, payload_bytes: usize) -> Frame {
    let mut header = Header::new(MessageKind::Request);
    header.sequence = sequence;
    Frame {
        header,
        body: Body::Request(Request::GetSpace),
        payload: Payload::from(Bytes::from(vec![sequence as u8; payload_bytes])),
    }
}

fn bytes_of(frame: &Frame) -> Vec<u8> {
    frame.encode(crc32c::crc32c_append).concat()
}

/// Runs on one thread, on a clock that advances when all tasks are idle.
fn in_virtual_time<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

fn raw_and_receiver(budget: &Budget) -> (UnixStream, Receiver) {
    let (raw, ours) = UnixStream::pair().unwrap();
    (raw, split(Stream::Unix(ours), budget.clone()).0)
}

fn pair() -> (Arc<Sender>, Receiver) {
    let (a, b) = UnixStream::pair().unwrap();
    let budget = Budget::new(0);
    let (_, sender) = split(Stream::Unix(a), budget.clone());
    (sender, split(Stream::Unix(b), budget).0)
}

/// Writes all that is queued, and goes on to write until the task is ended.
async fn write_out(sender: &Arc<Sender>) -> JoinHandle<ConnectionError> {
    let driven = Arc::clone(sender);
    let drive = spawn_local(async move { driven.drive().await });
    while sender.queued_bytes() > 0 {
        tokio::task::yield_now().await;
    }
    drive
}

async fn outcome_of(raw: &[u8]) -> (Vec<Frame>, ConnectionError) {
    let (mut stream, receiver) = raw_and_receiver(&Budget::new(0));
    let raw = raw.to_vec();
    spawn_local(async move {
        // The receiver may close the connection before it has read all bytes.
        let _ = stream.write_all(&raw).await;
    });
    let mut frames = Vec::new();
    loop {
        if let Err(error) = receiver.receive(&mut frames).await {
            return (frames, error);
        }
    }
}

#[test]
fn messages_of_all_sizes_arrive_whole_and_in_order() {
    in_virtual_time(async {
        let (sender, receiver) = pair();
        let sizes = [0, 1, 70_000, 4096, limits::PAYLOAD_BYTES, 0, 65_536, 65_537];
        let sent: Vec<Frame> = (1..).zip(sizes).map(|(n, size)| frame(n, size)).collect();
        sent.iter().for_each(|frame| sender.queue(frame));
        sender.flush();
        spawn_local({
            let sender = sender.clone();
            async move { sender.drive().await }
        });
        let mut received = Vec::new();
        while received.len() < sent.len() {
            receiver.receive(&mut received).await.unwrap();
        }
        assert_eq!(received, sent);
        assert_eq!(sender.queued_bytes(), 0);
    });
}

#[test]
fn all_that_has_arrived_is_received_at_once() {
    in_virtual_time(async {
        let (sender, receiver) = pair();
        (1..=50).for_each(|n| sender.queue(&frame(n, 100)));
        sender.flush();
        // The first flush finds out whether the socket has room; then all bytes leave at once.
        let drive = write_out(&sender).await;
        let mut frames = Vec::new();
        receiver.receive(&mut frames).await.unwrap();
        assert_eq!(frames.len(), 50);
        drive.abort();
    });
}

#[test]
fn bytes_are_on_the_way_until_the_peer_has_them() {
    in_virtual_time(async {
        let (sender, receiver) = pair();
        assert_eq!(sender.confirmed_bytes(), (0, false));
        let sent = frame(1, 20_000);
        sender.post(&sent);
        sender.flush();
        let drive = write_out(&sender).await;
        assert_eq!(sender.confirmed_bytes(), (0, true));
        assert_eq!(receiver.received_bytes(), 0);
        receiver.receive(&mut Vec::new()).await.unwrap();
        let all = bytes_of(&sent).len() as u64;
        assert_eq!(sender.confirmed_bytes(), (all, false));
        assert_eq!(receiver.received_bytes(), all);
        drive.abort();
    });
}

#[test]
fn a_peer_that_stops_within_a_message_is_cut_off() {
    in_virtual_time(async {
        let whole = bytes_of(&frame(1, 100_000));
        for length in [1, HEADER_BYTES, HEADER_BYTES + 1, 60_000] {
            let (mut stream, receiver) = raw_and_receiver(&Budget::new(0));
            stream.write_all(&whole[..length]).await.unwrap();
            let error = receiver.receive(&mut Vec::new()).await.unwrap_err();
            assert!(
                matches!(error, ConnectionError::Stalled),
                "{length}: {error}"
            );
        }
    });
}

#[test]
fn an_idle_peer_is_not_cut_off() {
    in_virtual_time(async {
        let (mut stream, receiver) = raw_and_receiver(&Budget::new(0));
        let late = spawn_local(async move {
            tokio::time::advance(std::time::Duration::from_secs(100_000)).await;
            stream.write_all(&bytes_of(&frame(1, 0))).await.unwrap();
            stream
        });
        let mut frames = Vec::new();
        receiver.receive(&mut frames).await.unwrap();
        assert_eq!(frames.len(), 1);
        drop(late);
    });
}

#[test]
fn a_peer_that_does_not_read_is_cut_off() {
    in_virtual_time(async {
        let (sender, receiver) = pair();
        sender.queue(&frame(1, limits::PAYLOAD_BYTES));
        sender.flush();
        assert!(matches!(sender.drive().await, ConnectionError::Stalled));
        drop(receiver);
    });
}

#[test]
fn slow_senders_share_a_budget_and_small_messages_pass_them() {
    in_virtual_time(async {
        let budget = Budget::new(0);
        let large = bytes_of(&frame(1, limits::PAYLOAD_BYTES));
        let (mut slow, receives_slow) = raw_and_receiver(&budget);
        slow.write_all(&large[..1000]).await.unwrap();
        let slow_one =
            spawn_local(async move { receives_slow.receive(&mut Vec::new()).await.unwrap_err() });
        tokio::task::yield_now().await;

        let (mut small, receives_small) = raw_and_receiver(&budget);
        small.write_all(&bytes_of(&frame(2, 64))).await.unwrap();
        receives_small.receive(&mut Vec::new()).await.unwrap();
        assert!(!slow_one.is_finished());

        let (mut honest, receives_honest) = raw_and_receiver(&budget);
        spawn_local(async move { honest.write_all(&large).await });
        let mut frames = Vec::new();
        receives_honest.receive(&mut frames).await.unwrap();
        assert_eq!(frames.len(), 1);
        assert!(matches!(slow_one.await.unwrap(), ConnectionError::Stalled));
    });
}

#[test]
fn what_is_no_message_is_named() {
    in_virtual_time(async {
        let good = bytes_of(&frame(7, 10));
        let mut other_version = good.clone();
        other_version[4] = 99;
        let (_, error) = outcome_of(&other_version).await;
        assert!(matches!(
            error,
            ConnectionError::Decode(DecodeError::Version(99))
        ));
        let mut oversized = good.clone();
        oversized[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        let (_, error) = outcome_of(&oversized).await;
        assert!(matches!(
            error,
            ConnectionError::Decode(DecodeError::Length(..))
        ));
        let (frames, error) = outcome_of(&good[..good.len() - 1]).await;
        assert!(frames.is_empty() && matches!(error, ConnectionError::Truncated));
        let (frames, error) = outcome_of(&[good.clone(), b"xyz".repeat(99)].concat()).await;
        assert_eq!(frames.len(), 1);
        assert!(matches!(
            error,
            ConnectionError::Decode(DecodeError::Magic(_))
        ));
    });
}

#[test]
fn the_data_of_another_message_does_not_fit() {
    in_virtual_time(async {
        let (one, other) = (bytes_of(&frame(1, 1000)), bytes_of(&frame(2, 1000)));
        // Data and its checksum are the last parts of a message.
        let data_from = one.len() - 1004;
        let mixed = [&one[..data_from], &other[data_from..]].concat();
        let (frames, error) = outcome_of(&mixed).await;
        assert!(frames.is_empty());
        let refused = ConnectionError::Decode(DecodeError::Checksum);
        assert_eq!(error.to_string(), refused.to_string());
    });
}

proptest! {
    #[test]
    fn random_bytes_end_the_connection(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (frames, _) = in_virtual_time(outcome_of(&bytes));
        prop_assert!(frames.is_empty());
    }

    #[test]
    fn damage_never_passes(at in 0_usize..1000, flip in 1_u8..) {
        let mut bytes = bytes_of(&frame(7, 800));
        let at = at % bytes.len();
        bytes[at] ^= flip;
        let (frames, error) = in_virtual_time(outcome_of(&bytes));
        prop_assert!(frames.is_empty(), "{error}");
    }

    #[test]
    fn pieces_of_any_size_make_the_same_messages(
        cuts in prop::collection::vec(1_usize..50_000, 1..20),
        sizes in prop::collection::vec(0_usize..100_000, 1..5),
    ) {
        let sent: Vec<Frame> = (1..).zip(&sizes).map(|(n, &size)| frame(n, size)).collect();
        let all: Vec<u8> = sent.iter().flat_map(bytes_of).collect();
        let received = in_virtual_time(async {
            let (mut stream, receiver) = raw_and_receiver(&Budget::new(0));
            spawn_local(async move {
                let mut rest = &all[..];
                for cut in cuts.iter().cycle() {
                    let (now, later) = rest.split_at(rest.len().min(*cut));
                    stream.write_all(now).await.unwrap();
                    tokio::task::yield_now().await;
                    rest = later;
                    if rest.is_empty() {
                        return;
                    }
                }
            });
            let mut frames = Vec::new();
            while receiver.receive(&mut frames).await.is_ok() {}
            frames
        });
        prop_assert_eq!(received, sent);
    }
}

#[test]
fn errors_read_well() {
    let text = ConnectionError::from(DecodeError::Version(9)).to_string();
    assert!(text.contains("protocol version 9"), "{text}");
}
