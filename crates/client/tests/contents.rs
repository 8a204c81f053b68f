//! Contents, attributes and locks with real servers.

mod cluster;

use bytes::Bytes;
use cluster::{CHUNK_BYTES, Cluster, User, data, file, name, pattern};
use futago_base::{
    Duration, Errno, FileId, Payload, XattrName,
    record::{LockKind, LockRange, LockSpace},
};
use futago_client::{AllocateMode, Cancel, Context as _, CreateFlags, XattrMode, join_all};
use futago_wire::{AttributeChange, Failure, LockChange};

const ROOT: FileId = FileId::ROOT;
const CHUNK: u64 = CHUNK_BYTES as u64;

fn cluster() -> Cluster {
    Cluster::new(4, futago_server::Config::default())
}

async fn make_file(client: &User, text: &str, first: &[u8]) -> FileId {
    let name = name(text);
    let made = client.create(ROOT, &name, file(), CreateFlags::EXCLUSIVE, data(first));
    made.await.expect("create").0.attributes.id
}

async fn all_of(client: &User, id: FileId) -> Vec<u8> {
    let data = client.read(id, 0, 1 << 22).await.expect("read");
    data.bytes().to_vec()
}

async fn size_of(client: &User, id: FileId) -> u64 {
    client
        .attributes(id)
        .await
        .expect("attributes")
        .attributes
        .size
}

async fn truncate(client: &User, id: FileId, size: u64) {
    let change = AttributeChange {
        size: Some(size),
        ..Default::default()
    };
    client.set_attributes(id, change).await.expect("truncate");
}

#[test]
fn writes_anywhere_read_back_everywhere() {
    let cluster = cluster();
    let (writer, reader) = (cluster.client(), cluster.client());
    cluster.run(async {
        let id = make_file(&writer, "f", b"").await;
        let mut expected: Vec<u8> = Vec::new();
        for (step, (offset, length)) in [
            (0, 10),
            (4090, 20),
            (0, 20_000),
            (50_000, 9_000),
            (30_000, 1),
        ]
        .into_iter()
        .enumerate()
        {
            let bytes = pattern(length, step);
            let size = writer
                .write(id, offset as u64, data(&bytes), false)
                .await
                .unwrap();
            if expected.len() < offset + length {
                expected.resize(offset + length, 0);
            }
            expected[offset..offset + length].copy_from_slice(&bytes);
            assert_eq!(size, expected.len() as u64);
            assert_eq!(all_of(&reader, id).await, expected);
            assert_eq!(size_of(&reader, id).await, size);
        }
        for (from, length) in [
            (4095, 2),
            (8192, 4096),
            (58_990, 100),
            (59_000, 10),
            (1 << 40, 1),
        ] {
            let read = reader.read(id, from, length).await.unwrap();
            let end = expected.len().min(from as usize + length as usize);
            let wanted = expected.get(from as usize..end).unwrap_or_default();
            assert_eq!(read.bytes(), wanted, "{from}+{length}");
        }
    });
}

/// With a window of three chunks, and with one chunk at a time, beside the request to the home.
#[test]
fn a_large_transfer_has_few_requests_under_way() {
    for (window_bytes, most) in [(3 * CHUNK_BYTES as usize, 4), (0, 2)] {
        transfers_have_at_most_under_way(window_bytes, most);
    }
}

fn transfers_have_at_most_under_way(window_bytes: usize, most: usize) {
    let cluster = cluster();
    let client = cluster.client_with_window(window_bytes);
    cluster.run(async {
        let id = make_file(&client, "f", b"").await;
        let bytes = pattern(50 * CHUNK_BYTES as usize, 3);
        for offset in [CHUNK - 5, 7 * CHUNK, 0] {
            cluster.take_under_way_max();
            let written = client.write(id, offset, data(&bytes), false).await;
            written.expect("write");
            assert!(cluster.take_under_way_max() <= most, "write at {offset}");
            let read = client.read(id, offset, bytes.len() as u32).await;
            assert_eq!(read.expect("read").bytes(), bytes);
            assert!(cluster.take_under_way_max() <= most, "read at {offset}");
        }
    });
}

#[test]
fn first_data_larger_than_a_chunk_goes_with_the_file() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        let bytes = pattern(10_000, 3);
        let id = make_file(&client, "f", &bytes).await;
        assert_eq!(all_of(&client, id).await, bytes);
    });
}

#[test]
fn truncated_data_never_comes_back() {
    let cluster = cluster();
    let (one, two) = (cluster.client(), cluster.client());
    cluster.run(async {
        let bytes = pattern(30_000, 1);
        let id = make_file(&one, "f", &bytes).await;
        assert_eq!(all_of(&two, id).await, bytes);
        for cut in [20_000_usize, 5_000, 100] {
            truncate(&one, id, cut as u64).await;
            truncate(&one, id, 30_000).await;
            let mut expected = bytes[..cut].to_vec();
            expected.resize(30_000, 0);
            // The other client knows only older truncations.
            assert_eq!(all_of(&two, id).await, expected);
            two.write(id, 25_000, data(b"new"), false).await.unwrap();
            expected[25_000..25_003].copy_from_slice(b"new");
            assert_eq!(all_of(&one, id).await, expected);
            one.write(id, 0, data(&bytes), false).await.unwrap();
        }
    });
}

/// Every request of an append may find the queue to its server full.
#[test]
fn an_append_that_meets_full_queues_happens_once() {
    let requests = ["Append", "WriteChunk", "Read", "FinishAppend"];
    for failing in 0..requests.len() {
        let cluster = cluster();
        let client = cluster.client();
        cluster.run(async {
            let id = make_file(&client, "f", b"").await;
            client.open(id).await.unwrap();
            // The second round of chunks asks the home first.
            let refused = [requests[failing.min(1)], requests[failing]];
            cluster.fail_next(&refused.map(|name| (name, Failure::Busy)));
            let bytes = pattern(3 * CHUNK_BYTES as usize, failing);
            let appended = client.append(id, data(&bytes), false).await;
            let size = client.attributes(id).await.unwrap().attributes.size;
            match appended {
                Ok(offset) => assert_eq!((offset, size), (0, bytes.len() as u64)),
                Err(errno) => assert_eq!((errno, size), (Errno::EIO, 0)),
            }
            assert!(!cluster.fails(), "{} was not sent", requests[failing]);
        });
    }
}

#[test]
fn appends_of_several_clients_do_not_overlap() {
    let cluster = cluster();
    let clients = [cluster.client(), cluster.client(), cluster.client()];
    cluster.run(async {
        let id = make_file(&clients[0], "f", b"").await;
        for round in 0..10 {
            let appended = clients.iter().enumerate().map(|(who, client)| {
                client.append(id, data(&vec![(round * 3 + who) as u8; 1000]), false)
            });
            for offset in join_all(appended).await {
                assert_eq!(offset.unwrap() % 1000, 0);
            }
        }
        let all = all_of(&clients[0], id).await;
        let mut seen: Vec<u8> = all.chunks(1000).map(|chunk| chunk[0]).collect();
        assert!(all.chunks(1000).all(|chunk| chunk == vec![chunk[0]; 1000]));
        seen.sort_unstable();
        assert_eq!(seen, (0..30).collect::<Vec<u8>>());
        // An append from the middle of chunk 0 to beyond its end.
        let id = make_file(&clients[0], "g", b"start").await;
        let bytes = pattern(12_000, 9);
        assert_eq!(clients[1].append(id, data(&bytes), false).await, Ok(5));
        assert_eq!(all_of(&clients[2], id).await[5..], bytes);
        truncate(&clients[0], id, 3).await;
        assert_eq!(clients[1].append(id, data(b"xyz"), false).await, Ok(3));
        assert_eq!(all_of(&clients[1], id).await, b"staxyz");
    });
}

#[test]
fn holes_are_made_and_found() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        let mut bytes = pattern(10 * CHUNK as usize, 2);
        let id = make_file(&client, "f", &bytes).await;
        assert_eq!(client.seek_hole(id, 0).await, Ok(10 * CHUNK));
        client
            .allocate(id, AllocateMode::PunchHole, 100, 5 * CHUNK)
            .await
            .unwrap();
        bytes[100..100 + 5 * CHUNK as usize].fill(0);
        assert_eq!(all_of(&client, id).await, bytes);
        assert_eq!(client.seek_hole(id, 0).await, Ok(100));
        assert_eq!(client.seek_data(id, 100).await, Ok(100 + 5 * CHUNK));
        assert_eq!(client.seek_data(id, 0).await, Ok(0));
        assert_eq!(client.seek_hole(id, 6 * CHUNK).await, Ok(10 * CHUNK));
        assert_eq!(client.seek_data(id, 10 * CHUNK).await, Err(Errno::ENXIO));
        assert_eq!(client.seek_hole(id, 10 * CHUNK).await, Err(Errno::ENXIO));
        let grow = AllocateMode::Allocate { keep_size: false };
        client.allocate(id, grow, 10 * CHUNK, CHUNK).await.unwrap();
        assert_eq!(size_of(&client, id).await, 11 * CHUNK);
        let keep = AllocateMode::Allocate { keep_size: true };
        client
            .allocate(id, keep, 10 * CHUNK, 9 * CHUNK)
            .await
            .unwrap();
        assert_eq!(size_of(&client, id).await, 11 * CHUNK);
        let zero = AllocateMode::ZeroRange { keep_size: false };
        client
            .allocate(id, zero, 9 * CHUNK, 3 * CHUNK)
            .await
            .unwrap();
        assert_eq!(size_of(&client, id).await, 12 * CHUNK);
        assert_eq!(client.seek_hole(id, 8 * CHUNK).await, Ok(9 * CHUNK));
        assert_eq!(client.seek_data(id, 9 * CHUNK).await, Err(Errno::ENXIO));
        assert_eq!(client.allocate(id, keep, 0, 0).await, Err(Errno::EINVAL));
        let beyond = client.allocate(id, keep, u64::MAX - 5, 10).await;
        assert_eq!(beyond, Err(Errno::EFBIG));
    });
}

#[test]
fn files_may_be_as_long_as_offsets() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        let id = make_file(&client, "f", b"").await;
        let end = i64::MAX as u64;
        assert_eq!(
            client.write(id, end - 3, data(b"end"), false).await,
            Ok(end)
        );
        assert_eq!(
            client.write(id, end - 2, data(b"end"), false).await,
            Err(Errno::EFBIG)
        );
        assert_eq!(client.read(id, end - 4, 10).await, Ok(data(b"\0end")));
        assert_eq!(client.seek_data(id, 0).await, Ok(end - 3));
        assert_eq!(
            client.append(id, data(b"x"), false).await,
            Err(Errno::EFBIG)
        );
    });
}

#[test]
fn chunks_on_one_server_are_copied_there() {
    let cluster = cluster();
    let client = cluster.client();
    let bytes = pattern(40_000, 4);
    let (source, target) = cluster.run(async {
        let source = make_file(&client, "s", &bytes).await;
        (
            source,
            make_file(&client, "t", b"longer than nothing").await,
        )
    });
    let copy = async { client.copy_range(source, 0, target, 0, 40_000).await };
    let (copied, asked) = cluster.traced(copy);
    assert_eq!(copied, Ok(40_000));
    let count = |wanted: &str| asked.iter().filter(|(_, name)| name == wanted).count();
    assert_eq!(count("ReadChunk") + count("WriteChunk"), 0, "{asked:?}");
    assert!(count("CopyChunk") >= 2, "{asked:?}");
    assert_eq!(cluster.run(all_of(&client, target)), bytes);
}

#[test]
fn ranges_are_copied() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        let bytes = pattern(20_000, 4);
        let (source, target) = (
            make_file(&client, "s", &bytes).await,
            make_file(&client, "t", b"").await,
        );
        assert_eq!(
            client.copy_range(source, 5_000, target, 100, 99_999).await,
            Ok(15_000)
        );
        assert_eq!(all_of(&client, target).await[100..], bytes[5_000..]);
        assert_eq!(
            client.copy_range(source, 20_000, target, 0, 10).await,
            Ok(0)
        );
        assert_eq!(
            client.copy_range(source, 0, source, 10, 11).await,
            Err(Errno::EINVAL)
        );
        assert_eq!(
            client.copy_range(source, 0, source, 10_000, 10_000).await,
            Ok(10_000)
        );
        assert_eq!(all_of(&client, source).await[10_000..], bytes[..10_000]);
    });
}

#[test]
fn removed_files_leave_nothing() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        let id = make_file(&client, "f", &pattern(50_000, 5)).await;
        client.open(id).await.unwrap();
        client.unlink(ROOT, &name("f")).await.unwrap();
        assert_eq!(all_of(&client, id).await, pattern(50_000, 5));
        client.end_session().await.unwrap();
    });
    cluster.settle();
    assert_eq!(cluster.held(), (1, 0));
}

#[test]
fn attributes_of_files_are_stored() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        let id = make_file(&client, "f", b"").await;
        let xattr = |name: &'static str| XattrName::new(name).unwrap();
        let (a, b) = (xattr("user.a"), xattr("user.a/b"));
        let value = Bytes::from_static(b"value");
        let set = |mode| client.set_xattr(id, &a, value.clone(), mode);
        assert_eq!(set(XattrMode::Replace).await, Err(Errno::ENODATA));
        assert_eq!(set(XattrMode::Create).await, Ok(()));
        assert_eq!(set(XattrMode::Create).await, Err(Errno::EEXIST));
        client
            .set_xattr(id, &b, value.clone(), XattrMode::Set)
            .await
            .unwrap();
        assert_eq!(client.get_xattr(id, &a).await, Ok(value));
        assert_eq!(client.list_xattrs(id).await, Ok(vec![a.clone(), b]));
        assert_eq!(client.remove_xattr(id, &a).await, Ok(()));
        assert_eq!(client.get_xattr(id, &a).await, Err(Errno::ENODATA));
        let space = client.space().await.unwrap();
        assert_eq!(space.files, 2);
        assert!(space.used_bytes > 0 && space.limit_bytes > 3 << 30);
    });
}

fn lock(kind: Option<LockKind>, owner: u64) -> LockChange {
    LockChange {
        space: LockSpace::Range,
        kind,
        owner,
        range: LockRange { start: 0, end: 9 },
        pid: 1,
    }
}

const EXCLUSIVE: Option<LockKind> = Some(LockKind::Exclusive);

#[test]
fn locks_exclude_wait_and_are_cancelled() {
    let cluster = cluster();
    let (one, two) = (cluster.client(), cluster.client());
    cluster.run(async {
        let id = make_file(&one, "f", b"").await;
        one.set_lock(id, lock(EXCLUSIVE, 1), None).await.unwrap();
        assert_eq!(
            two.set_lock(id, lock(EXCLUSIVE, 1), None).await,
            Err(Errno::EAGAIN)
        );
        let holder = two.test_lock(id, lock(EXCLUSIVE, 1)).await.unwrap();
        assert_eq!(holder.map(|lock| lock.owner.owner), Some(1));
        // One client waits until the other releases the lock.
        let cancel = Cancel::new();
        let waits: Pinned<'_> = Box::pin(two.set_lock(id, lock(EXCLUSIVE, 1), Some(&cancel)));
        let lets_go: Pinned<'_> = Box::pin(one.set_lock(id, lock(None, 1), None));
        assert_eq!(join_all([waits, lets_go]).await, [Ok(()), Ok(())]);
        // One client waits until its wait is cancelled.
        let waits: Pinned<'_> = Box::pin(one.set_lock(id, lock(EXCLUSIVE, 1), Some(&cancel)));
        let stops: Pinned<'_> = Box::pin(async {
            two.keep_alive().await?;
            cancel.cancel();
            Ok(())
        });
        assert_eq!(join_all([waits, stops]).await, [Err(Errno::EINTR), Ok(())]);
        two.end_session().await.unwrap();
        assert_eq!(one.set_lock(id, lock(EXCLUSIVE, 1), None).await, Ok(()));
    });
}

/// A request that waits for a lock holds up the acknowledgement of all later ones.
#[test]
fn servers_keep_few_replies_however_long_a_client_waits_for_a_lock() {
    const FILES: usize = 100;
    let cluster = cluster();
    let (one, two) = (cluster.client(), cluster.client());
    cluster.run(async {
        let id = make_file(&one, "f", b"").await;
        one.set_lock(id, lock(EXCLUSIVE, 1), None).await.unwrap();
        let cancel = Cancel::new();
        let waits: Pinned<'_> = Box::pin(two.set_lock(id, lock(EXCLUSIVE, 1), Some(&cancel)));
        let works: Pinned<'_> = Box::pin(async {
            for number in 0..FILES {
                make_file(&two, &number.to_string(), b"").await;
                one.keep_alive().await?;
                two.keep_alive().await?;
                two.context().sleep(Duration::from_secs(1)).await;
            }
            cancel.cancel();
            Ok(())
        });
        assert_eq!(join_all([waits, works]).await, [Err(Errno::EINTR), Ok(())]);
    });
    let saved = cluster.saved_replies();
    assert!(saved < FILES / 4, "{saved}");
}

/// The lock request stays at the server until the cancellation arrives or the lock is granted.
#[test]
fn a_wait_whose_cancellation_fails_at_first_is_cancelled_later() {
    let cluster = cluster();
    let (one, two) = (cluster.client(), cluster.client());
    cluster.run(async {
        let id = make_file(&one, "f", b"").await;
        one.set_lock(id, lock(EXCLUSIVE, 1), None).await.unwrap();
        cluster.fail_next(&[("CancelLock", Errno::EIO.into())]);
        let cancel = Cancel::new();
        let waits: Pinned<'_> = Box::pin(two.set_lock(id, lock(EXCLUSIVE, 1), Some(&cancel)));
        let stops: Pinned<'_> = Box::pin(async {
            one.keep_alive().await?;
            cancel.cancel();
            Ok(())
        });
        assert_eq!(join_all([waits, stops]).await, [Err(Errno::EINTR), Ok(())]);
        one.set_lock(id, lock(None, 1), None).await.unwrap();
        one.set_lock(id, lock(EXCLUSIVE, 1), None)
            .await
            .expect("nobody else got the lock");
    });
}

type Pinned<'a> = std::pin::Pin<Box<dyn Future<Output = Result<(), Errno>> + 'a>>;

#[test]
fn an_ended_session_does_nothing_more() {
    let cluster = cluster();
    let client = cluster.client();
    cluster.run(async {
        client.end_session().await.unwrap();
        assert_eq!(client.keep_alive().await, Err(Errno::ESTALE));
        assert_eq!(client.attributes(ROOT).await, Err(Errno::EIO));
        let name = name("f");
        let made = client.create(
            ROOT,
            &name,
            file(),
            CreateFlags::EXCLUSIVE,
            Payload::empty(),
        );
        assert_eq!(made.await.map(|_| ()), Err(Errno::EIO));
    });
}
