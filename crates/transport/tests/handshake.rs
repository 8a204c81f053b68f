//! A peer without the key is rejected, and learns the reason.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use futago_base::ServerId;
use futago_transport::{
    Address, ClusterKey, Continuation, HandshakeError, Hello, Refusal, Role,
    handshake::{Party, SERVERS_MAX, introduce, welcome},
    reach_address,
};
use futago_wire::codec;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const HELLO: Hello = Hello {
    from: Role::Client,
    to: Party::Server(ServerId(3)),
    map_epoch: 1,
    continues: Continuation::Socket,
    is_secure: false,
};

fn key(byte: u8) -> ClusterKey {
    ClusterKey::from([byte; 32])
}

fn in_virtual_time<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(test)
}

async fn meet(
    ours: &ClusterKey,
    theirs: &ClusterKey,
    verdict: Result<Vec<ServerId>, Refusal>,
) -> (
    Result<Vec<ServerId>, HandshakeError>,
    Result<Hello, HandshakeError>,
) {
    let (mut client, mut server) = duplex(1 << 16);
    let (client, server) = tokio::join!(
        introduce(&mut client, ours, HELLO),
        welcome(&mut server, theirs, |_| verdict)
    );
    (client.map(|(here, _)| here), server.map(|(hello, _)| hello))
}

/// The result of a server on given bytes, and its reply.
async fn server_on(bytes: &[u8], hang_up: bool) -> (Result<Hello, HandshakeError>, Vec<u8>) {
    let (mut client, mut server) = duplex(1 << 16);
    client.write_all(bytes).await.unwrap();
    if hang_up {
        client.shutdown().await.unwrap();
    }
    let result = welcome(&mut server, &key(1), |_| Ok(Vec::new())).await;
    drop(server);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    (result.map(|(hello, _)| hello), answer)
}

/// All bytes from a client to a server in one handshake.
async fn recorded_client() -> Vec<u8> {
    let key = key(1);
    let (mut client, mut relay) = duplex(1 << 16);
    let (mut onward, mut server) = duplex(1 << 16);
    let relaying = async {
        let mut recorded = vec![0; 4096];
        let first = relay.read(&mut recorded).await.unwrap();
        onward.write_all(&recorded[..first]).await.unwrap();
        pass_on(&mut onward, &mut relay).await;
        let second = relay.read(&mut recorded[first..]).await.unwrap();
        recorded.truncate(first + second);
        onward.write_all(&recorded[first..]).await.unwrap();
        recorded
    };
    let (client, server, recorded) = tokio::join!(
        introduce(&mut client, &key, HELLO),
        welcome(&mut server, &key, |_| Ok(Vec::new())),
        relaying
    );
    client.unwrap();
    server.unwrap();
    recorded
}

async fn pass_on(from: &mut DuplexStream, to: &mut DuplexStream) {
    let mut bytes = [0; 1024];
    let count = from.read(&mut bytes).await.unwrap();
    to.write_all(&bytes[..count]).await.unwrap();
}

#[test]
fn the_same_key_opens_and_both_learn_who_is_there() {
    let here: Vec<ServerId> = (0..=u16::MAX)
        .rev()
        .take(SERVERS_MAX)
        .map(ServerId)
        .collect();
    let (client, server) = in_virtual_time(meet(&key(1), &key(1), Ok(here.clone())));
    assert_eq!(client.unwrap(), here);
    assert_eq!(server.unwrap(), HELLO);
}

#[test]
fn another_key_is_named_on_both_sides() {
    let (client, server) = in_virtual_time(meet(&key(1), &key(2), Ok(Vec::new())));
    assert!(matches!(client, Err(HandshakeError::Key)), "{client:?}");
    assert!(matches!(server, Err(HandshakeError::Key)), "{server:?}");
}

#[test]
fn refusals_are_reported() {
    let (client, _) = in_virtual_time(meet(&key(1), &key(1), Err(Refusal::Server)));
    assert!(matches!(client, Err(HandshakeError::Server)), "{client:?}");
    let (client, _) = in_virtual_time(meet(&key(1), &key(1), Err(Refusal::Full)));
    assert!(matches!(client, Err(HandshakeError::Full)), "{client:?}");
    let (client, _) = in_virtual_time(meet(&key(1), &key(1), Err(Refusal::Security)));
    assert!(
        matches!(client, Err(HandshakeError::Security)),
        "{client:?}"
    );
}

#[test]
fn another_version_is_named_on_both_sides() {
    in_virtual_time(async {
        let mut other = recorded_client().await;
        other[4] = 77;
        let (result, answer) = server_on(&other, false).await;
        assert!(matches!(
            result,
            Err(HandshakeError::Version { theirs: 77 })
        ));
        // A client of that other version reads ours at the same offset.
        assert_eq!(answer[..4], *b"FTGO");
        assert_eq!(answer[4..6], codec::VERSION.to_le_bytes());

        let (mut client, mut server) = duplex(1 << 16);
        server.write_all(b"FTGO\x4d\0\x01\0\0\0").await.unwrap();
        let result = introduce(&mut client, &key(1), HELLO).await;
        assert!(matches!(
            result,
            Err(HandshakeError::Version { theirs: 77 })
        ));
    });
}

#[test]
fn a_replayed_handshake_is_refused() {
    in_virtual_time(async {
        let recorded = recorded_client().await;
        let (result, _) = server_on(&recorded, false).await;
        assert!(matches!(result, Err(HandshakeError::Key)), "{result:?}");
    });
}

#[test]
fn a_peer_that_says_nothing_or_stops_is_not_waited_for() {
    in_virtual_time(async {
        let recorded = recorded_client().await;
        for length in [0, 3, 12, recorded.len() - 1] {
            let (result, _) = server_on(&recorded[..length], false).await;
            assert!(
                matches!(result, Err(HandshakeError::Deadline)),
                "{length}: {result:?}"
            );
        }
        let (mut client, _server) = duplex(64);
        let result = introduce(&mut client, &key(1), HELLO).await;
        assert!(
            matches!(result, Err(HandshakeError::Deadline)),
            "{result:?}"
        );
    });
}

#[test]
fn a_slow_peer_is_not_waited_for() {
    in_virtual_time(async {
        let recorded = recorded_client().await;
        let (mut client, mut server) = duplex(1 << 16);
        let dripping = async {
            for byte in recorded {
                tokio::time::advance(std::time::Duration::from_secs(1)).await;
                if client.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
        };
        let key = key(1);
        let proof = welcome(&mut server, &key, |_| Ok(Vec::new()));
        tokio::select! {
            result = proof => assert!(matches!(result, Err(HandshakeError::Deadline))),
            () = dripping => panic!("it was waited for"),
        }
    });
}

#[test]
fn the_key_does_not_pass_in_the_clear() {
    let recorded = in_virtual_time(recorded_client());
    assert!(!recorded.windows(4).any(|window| window == [1; 4]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_bytes_never_open(bytes in prop::collection::vec(any::<u8>(), 0..600), magic: bool) {
        let head: &[u8] = if magic { b"FTGO\x01\0\0\0" } else { b"" };
        let bytes = [head, &bytes].concat();
        let (result, _) = in_virtual_time(server_on(&bytes, true));
        prop_assert!(result.is_err());
    }

    #[test]
    fn a_changed_first_message_never_opens(at in 10_usize..90, flip in 1_u8..) {
        let result = in_virtual_time(async {
            let mut recorded = recorded_client().await;
            let at = at % recorded.len();
            recorded[at] ^= flip;
            server_on(&recorded, true).await.0
        });
        prop_assert!(result.is_err());
    }
}

/// A server that rejects the first connections for another key, as after damaged bytes.
async fn refuse_first(listener: tokio::net::UnixListener, mut damaged: usize) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let known = key(if damaged > 0 { 2 } else { 1 });
        damaged = damaged.saturating_sub(1);
        // The client reports the rejection.
        let _ = welcome(&mut socket, &known, |_| Ok(vec![ServerId(3)])).await;
    }
}

#[test]
fn another_key_is_believed_only_when_it_is_said_several_times() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (damaged, is_reached) in [(0, true), (1, true), (2, true), (3, false)] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("socket");
            let listener = tokio::net::UnixListener::bind(&path).unwrap();
            let (address, key) = (Address::Unix(path), key(1));
            let reached = tokio::select! {
                () = refuse_first(listener, damaged) => unreachable!("it listens for ever"),
                reached = reach_address(&address, &key, HELLO) => reached,
            };
            match reached {
                Ok(_) => assert!(is_reached),
                Err(error) => assert!(!is_reached && matches!(error, HandshakeError::Key)),
            }
        }
    });
}
