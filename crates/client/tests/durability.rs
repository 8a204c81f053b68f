//! Which servers `fsync` asks to make something survive a loss of power.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, User, data, make_directory, make_file, names, splitting_early};
use futago_base::FileId;
use futago_client::Config;
use std::collections::BTreeSet;

const CHUNK_BYTES: u64 = 4096;

fn client(cluster: &Cluster) -> User {
    cluster.client_of(Config {
        chunk_bytes: CHUNK_BYTES as u32,
        durable_fsync: true,
        ..Config::default()
    })
}

/// The servers that an operation asks.
fn asked<T>(cluster: &Cluster, operation: impl Future<Output = T>) -> BTreeSet<u16> {
    let (_, sent) = cluster.traced(operation);
    let asked = sent.into_iter().filter(|(_, name)| name == "Synchronize");
    asked.map(|(server, _)| server).collect()
}

#[test]
fn a_small_file_is_on_its_home_alone() {
    let cluster = Cluster::new(4, futago_server::Config::default());
    let client = client(&cluster);
    let file = cluster.run(make_file(&client, FileId::ROOT, "small"));
    let id = file.attributes.id;
    cluster
        .run(client.write(id, 0, data(b"data"), false))
        .unwrap();
    let home = BTreeSet::from([client.map().home(id).0]);
    assert_eq!(asked(&cluster, client.make_durable(id)), home);
}

#[test]
fn a_large_file_is_on_the_servers_of_its_chunks() {
    let cluster = Cluster::new(4, futago_server::Config::default());
    let client = client(&cluster);
    let file = cluster.run(make_file(&client, FileId::ROOT, "large"));
    let id = file.attributes.id;
    let bytes = data(&[1; 2 * CHUNK_BYTES as usize]);
    cluster.run(client.write(id, 0, bytes, false)).unwrap();
    let chunk = futago_base::ChunkId { file: id, index: 1 };
    let servers = [client.map().home(id), client.map().chunk_server(chunk)];
    let expected: BTreeSet<u16> = servers.iter().map(|server| server.0).collect();
    assert_eq!(asked(&cluster, client.make_durable(id)), expected);
}

#[test]
fn a_directory_is_on_the_servers_of_its_buckets() {
    let cluster = splitting_early(3);
    let client = client(&cluster);
    let directory = cluster.run(make_directory(&client, FileId::ROOT, "directory"));
    for number in 0..200 {
        cluster.run(make_file(&client, directory, &format!("f{number}")));
    }
    cluster.settle();
    assert_eq!(cluster.run(names(&client, directory)).unwrap().len(), 200);
    let durable = asked(&cluster, client.make_durable(directory));
    assert_eq!(durable, BTreeSet::from([0, 1, 2]));
}

#[test]
fn everything_is_on_all_servers() {
    let cluster = Cluster::new(3, futago_server::Config::default());
    let client = client(&cluster);
    let durable = asked(&cluster, client.make_all_durable());
    assert_eq!(durable, BTreeSet::from([0, 1, 2]));
}

#[test]
fn servers_in_memory_are_not_asked() {
    let cluster = Cluster::new(3, futago_server::Config::default());
    let client = cluster.client();
    let root = FileId::ROOT;
    assert!(asked(&cluster, client.make_durable(root)).is_empty());
    assert!(asked(&cluster, client.make_all_durable()).is_empty());
}
