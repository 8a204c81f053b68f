//! Clients that read from each other's caches.

mod cluster;

use cluster::{Cluster, User, data, exists, make_file, pattern};
use futago_base::{Duration, FileId, Payload};
use futago_client::{Config, Context, first_of, join_all};
use futago_wire::{SharingCounters, cache::PIECE_BYTES};
use std::{
    future::{Future, ready},
    pin::{Pin, pin},
};

/// A size that is no multiple of a piece or a block.
const SIZE: usize = (3 << 20) + 70_001;
/// The size of one read, as a kernel reads.
const READ: u32 = 128 << 10;

/// A cluster with a file, and clients that share their caches and have opened it.
fn cluster_with_file(readers: usize) -> (Cluster, Vec<User>, FileId) {
    cluster_with_caches(&vec![Config::default(); readers])
}

/// As [`cluster_with_file`], with clients of these settings.
fn cluster_with_caches(configs: &[Config]) -> (Cluster, Vec<User>, FileId) {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let writer = cluster.client();
    let file = cluster.run(async {
        let file = make_file(&writer, FileId::ROOT, "file").await.attributes.id;
        write(&writer, file, 0, &pattern(SIZE, 1)).await;
        file
    });
    let clients = configs.iter().copied();
    let clients: Vec<_> = clients.map(|it| cluster.sharing_client_of(it)).collect();
    for client in &clients {
        cluster.run(async {
            assert_eq!(exists(client, FileId::ROOT, "file").await, Some(file));
            client.open(file).await.expect("open");
            client.lease_data(file).await.expect("a lease");
        });
    }
    (cluster, clients, file)
}

async fn write(client: &User, file: FileId, offset: u64, bytes: &[u8]) {
    for (number, part) in bytes.chunks(1 << 20).enumerate() {
        let at = offset + (number << 20) as u64;
        client
            .write(file, at, data(part), false)
            .await
            .expect("write");
    }
}

/// Reads a file from its beginning to its end.
async fn read(client: &User, file: FileId) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let part = client.read(file, all.len() as u64, READ).await;
        let part: Payload = part.expect("read");
        if part.is_empty() {
            return all;
        }
        all.extend_from_slice(&part.bytes());
    }
}

/// Runs a future while all clients answer.
fn run_answering<T>(cluster: &Cluster, clients: &[User], future: impl Future<Output = T>) -> T {
    let mut whole: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(future);
    for client in clients {
        whole = Box::pin(cluster.answering(client, whole));
    }
    cluster.run(whole)
}

fn counters(clients: &[User]) -> Vec<SharingCounters> {
    clients.iter().map(User::sharing_counters).collect()
}

#[test]
fn the_second_reader_asks_the_first_and_no_server() {
    let (cluster, clients, file) = cluster_with_file(2);
    for client in &clients {
        let found = run_answering(&cluster, &clients, read(client, file));
        assert_eq!(found, pattern(SIZE, 1));
    }
    let [first, second] = &counters(&clients)[..] else {
        panic!("two clients");
    };
    assert_eq!(first.bytes_from_servers, SIZE as u64);
    assert_eq!(first.bytes_served, SIZE as u64);
    assert_eq!(
        (second.bytes_from_servers, second.bytes_from_peers),
        (0, SIZE as u64)
    );
    assert_eq!((second.missed, first.asked), (0, first.served));
}

#[test]
fn of_clients_that_begin_at_once_one_asks_the_servers() {
    let (cluster, clients, file) = cluster_with_file(8);
    let reading = join_all(clients.iter().map(|client| read(client, file)));
    for found in run_answering(&cluster, &clients, reading) {
        assert_eq!(found, pattern(SIZE, 1));
    }
    let counters = counters(&clients);
    let from_servers: u64 = counters.iter().map(|it| it.bytes_from_servers).sum();
    assert_eq!(from_servers, SIZE as u64);
    let most = counters.iter().map(|it| it.bytes_served).max();
    assert!(most <= Some(SIZE as u64), "a chain: nobody sends twice");
}

#[test]
fn a_change_is_seen_and_what_a_truncation_cut_is_not() {
    let (cluster, clients, file) = cluster_with_file(3);
    let writer = cluster.client();
    for client in &clients {
        run_answering(&cluster, &clients, read(client, file));
    }
    let mut expected = pattern(SIZE, 1);
    expected[1 << 20..(1 << 20) + 10].fill(7);
    expected.truncate(2 << 20);
    expected.resize(SIZE, 0);
    let change = async {
        write(&writer, file, 1 << 20, &[7; 10]).await;
        for size in [2 << 20, SIZE as u64] {
            let size = Some(size);
            let change = futago_wire::AttributeChange {
                size,
                ..Default::default()
            };
            writer.set_attributes(file, change).await.expect("truncate");
        }
    };
    run_answering(&cluster, &clients, change);
    // After a recall nobody gets a lease for a while.
    let pause = Context::sleep(clients[0].context(), Duration::from_secs(2));
    run_answering(&cluster, &clients, pause);
    for _ in 0..2 {
        for client in &clients {
            let found = run_answering(&cluster, &clients, read(client, file));
            assert!(found == expected);
        }
    }
    let peers: u64 = counters(&clients)
        .iter()
        .map(|it| it.bytes_from_peers)
        .sum();
    assert!(peers > 2 * SIZE as u64, "they share the changed file, too");
}

#[test]
fn damaged_bytes_are_read_from_the_servers() {
    let (cluster, clients, file) = cluster_with_file(2);
    cluster.damage_cache_of(&clients[0]);
    for client in &clients {
        let found = run_answering(&cluster, &clients, read(client, file));
        assert_eq!(found, pattern(SIZE, 1));
    }
    let second = counters(&clients)[1];
    assert!(second.damaged > 0);
    assert_eq!(second.bytes_from_servers, SIZE as u64);
}

/// A client whose cache is smaller than the file reads it, another one with room is there, and then
/// a third one reads it. Returns what each has read and sent.
fn read_through_small_cache(chances: u8) -> Vec<SharingCounters> {
    let config = |data_bytes_max| Config {
        chances,
        data_bytes_max,
        ..Config::default()
    };
    let (small, large) = (config(5 << 19), config(4 * SIZE as u64));
    let (cluster, clients, file) = cluster_with_caches(&[small, large, large]);
    let found = run_answering(&cluster, &clients, async {
        clients[1].announce_cache().await;
        for offset in (0..SIZE as u64).step_by(READ as usize) {
            clients[0].read(file, offset, READ).await.expect("read");
            forward_all(&clients[0]).await;
        }
        read(&clients[2], file).await
    });
    assert_eq!(found, pattern(SIZE, 1));
    counters(&clients)
}

/// Has a client forward whatever leaves its cache.
async fn forward_all(client: &User) {
    while let Some(leaving) = first_of(pin!(client.wanted_forwarding()), pin!(ready(()))).await {
        client.forward(leaving).await;
    }
}

#[test]
fn what_leaves_a_cache_passes_to_another_client() {
    let [small, large, third] = read_through_small_cache(1)[..] else {
        panic!("three clients");
    };
    assert!(small.bytes_forwarded >= SIZE as u64 / 4, "{small:?}");
    assert!(large.bytes_from_peers >= small.bytes_forwarded, "{large:?}");
    let from_servers = [small, large].map(|it| it.bytes_from_servers);
    assert_eq!(from_servers, [SIZE as u64, 0]);
    // One piece is partly in each cache.
    assert!(third.bytes_from_servers <= PIECE_BYTES, "{third:?}");
}

#[test]
fn without_chances_blocks_are_evicted() {
    let [small, large, third] = read_through_small_cache(0)[..] else {
        panic!("three clients");
    };
    assert_eq!((small.bytes_forwarded, large.bytes_from_peers), (0, 0));
    assert!(third.bytes_from_servers >= SIZE as u64 / 4, "{third:?}");
}

#[test]
fn a_client_that_does_not_answer_costs_one_time_limit() {
    let (cluster, clients, file) = cluster_with_file(2);
    run_answering(&cluster, &clients[..1], read(&clients[0], file));
    let before = cluster.now();
    let found = run_answering(&cluster, &clients[1..], read(&clients[1], file));
    assert_eq!(found, pattern(SIZE, 1));
    let lasted = cluster.now().since(before);
    let limit = clients[1].config().cache_timeout;
    assert!(lasted > limit && lasted < limit.times(2), "{lasted:?}");
    assert_eq!(counters(&clients)[1].missed, 1);
}

/// A kernel asks for the next pages before it has the first ones.
#[test]
fn tasks_of_a_client_read_a_block_once() {
    let (cluster, clients, file) = cluster_with_file(1);
    let reads = (0..SIZE as u64)
        .step_by(8 << 10)
        .map(|at| clients[0].read(file, at, 8 << 10));
    let read = run_answering(&cluster, &clients, join_all(reads));
    let found: Vec<u8> = read
        .into_iter()
        .flat_map(|part| part.expect("read").bytes())
        .collect();
    assert_eq!(found, pattern(SIZE, 1));
    assert_eq!(counters(&clients)[0].bytes_from_servers, SIZE as u64);
}

#[test]
fn the_next_pieces_of_a_reader_are_under_way() {
    let (cluster, clients, file) = cluster_with_file(1);
    let client = &clients[0];
    let found = run_answering(&cluster, &clients, async {
        for offset in (0..6 * u64::from(READ)).step_by(READ as usize) {
            client.read(file, offset, READ).await.expect("read");
        }
        let wanted = [client.wanted_ahead().await, client.wanted_ahead().await];
        assert_eq!(wanted[0], (file, 1 << 20..2 << 20));
        assert_eq!(wanted[1], (file, 2 << 20..3 << 20));
        join_all(wanted.map(|wanted| client.read_ahead(wanted))).await;
        read(client, file).await
    });
    assert_eq!(found, pattern(SIZE, 1));
    assert_eq!(counters(&clients)[0].bytes_from_servers, SIZE as u64);
}

/// Each is sent to the other for a part of the same piece, in which both begin at once.
#[test]
fn clients_do_not_wait_for_each_other() {
    let (cluster, clients, file) = cluster_with_file(2);
    let read_at = async |client: usize, offset: u64| {
        let data = clients[client].read(file, offset, READ).await;
        let at = offset as usize;
        assert!(data.expect("read").bytes() == pattern(SIZE, 1)[at..at + READ as usize]);
    };
    let (later, next_piece) = (640 << 10, 1 << 20);
    let reading = async {
        read_at(0, 0).await;
        read_at(1, 0).await;
        // A reader that goes back plans anew.
        read_at(0, next_piece).await;
        let before = cluster.now();
        join_all((0..2).map(|client| read_at(client, later))).await;
        cluster.now().since(before)
    };
    let lasted = run_answering(&cluster, &clients, reading);
    assert!(lasted < clients[0].config().cache_timeout, "{lasted:?}");
}

#[test]
fn a_client_whose_lease_has_ended_sends_nothing() {
    let (cluster, clients, file) = cluster_with_file(2);
    run_answering(&cluster, &clients, read(&clients[0], file));
    let wait = Duration::from_secs(7);
    cluster.run(Context::sleep(clients[0].context(), wait));
    let request = futago_wire::CacheRequest::Read {
        file,
        offset: 0,
        length: READ,
        depth: 2,
    };
    let served = cluster.run(clients[0].serve_cache(request));
    assert!(served.into_message().1.is_empty());
}

#[test]
fn parts_of_a_file_larger_than_the_cache_are_read_from_others() {
    let small = Config {
        data_bytes_max: 1 << 20,
        ..Config::default()
    };
    let (cluster, clients, file) = cluster_with_caches(&[Config::default(), small]);
    let (holder, reader) = (&clients[0], &clients[1]);
    let part = run_answering(&cluster, &clients, async {
        read(holder, file).await;
        let at = SIZE as u64 / 2;
        reader.read(file, at, READ).await.expect("read")
    });
    assert_eq!(part.bytes(), pattern(SIZE, 1)[SIZE / 2..][..READ as usize]);
    assert_eq!(reader.sharing_counters().bytes_from_servers, 0);
}

/// A client makes a file and writes it. Another one opens it then. Returns both, and the file.
fn written_file(cluster: &Cluster, write_bytes: usize) -> (Vec<User>, FileId) {
    let client = || {
        cluster.sharing_client_of(Config {
            exclusive_after: 1,
            ..Config::default()
        })
    };
    let clients = vec![client(), client()];
    let writer = &clients[0];
    let file = run_answering(cluster, &clients, async {
        let file = make_file(writer, FileId::ROOT, "file").await.attributes.id;
        writer.open(file).await.expect("open");
        for (number, part) in pattern(SIZE, 1).chunks(write_bytes).enumerate() {
            let at = (number * write_bytes) as u64;
            let written = writer.write(file, at, data(part), false).await;
            written.expect("write");
        }
        writer.close(file).await.expect("close");
        file
    });
    (clients, file)
}

async fn find_and_read(client: &User, file: FileId) -> Vec<u8> {
    assert_eq!(exists(client, FileId::ROOT, "file").await, Some(file));
    client.open(file).await.expect("open");
    read(client, file).await
}

/// Writes of so many bytes each. Returns how many bytes the reader gets from the writer.
fn bytes_from_writer(write_bytes: usize) -> u64 {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let (clients, file) = written_file(&cluster, write_bytes);
    let found = run_answering(&cluster, &clients, find_and_read(&clients[1], file));
    assert!(found == pattern(SIZE, 1), "{write_bytes}");
    let [writer, reader] = &counters(&clients)[..] else {
        panic!("two clients");
    };
    assert_eq!(writer.bytes_from_servers, 0, "{write_bytes}");
    assert_eq!(writer.bytes_served, reader.bytes_from_peers);
    reader.bytes_from_peers
}

#[test]
fn what_a_client_has_written_comes_from_its_cache() {
    // Those of up to 128 KiB are buffered.
    for write_bytes in [64 << 10, 100_000, 1 << 20] {
        assert_eq!(bytes_from_writer(write_bytes), SIZE as u64, "{write_bytes}");
    }
    // A block of which a write is a small part is not cached.
    assert!(bytes_from_writer(300_000) > SIZE as u64 / 2);
}

#[test]
fn a_shared_file_that_is_written_again_is_read_anew() {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let (clients, file) = written_file(&cluster, 1 << 20);
    run_answering(&cluster, &clients, find_and_read(&clients[1], file));
    let mut expected = pattern(SIZE, 1);
    for (writer, at) in [(0, 5), (1, 1 << 20), (0, 2 << 20)] {
        let new = pattern(300_000, writer + 7);
        run_answering(&cluster, &clients, write(&clients[writer], file, at, &new));
        expected[at as usize..at as usize + new.len()].copy_from_slice(&new);
        for reader in [1, 0] {
            let found = run_answering(&cluster, &clients, read(&clients[reader], file));
            assert!(found == expected, "{writer} {reader}");
        }
    }
}
