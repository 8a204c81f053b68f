//! The amount of data in files with holes, whose chunks are on several servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, User, make_file};
use futago_base::{FileId, Payload};

const STEP: u64 = 1 << 20;
const PIECES: u64 = 8;

/// Writes a byte at the begin of each step.
async fn write_pieces(client: &User, file: FileId, byte: u8) {
    for piece in 0..PIECES {
        let data = Payload::from(Bytes::from(vec![byte]));
        let written = client.write(file, piece * STEP, data, false).await;
        written.unwrap();
    }
}

async fn data_bytes(client: &User, file: FileId) -> Option<u64> {
    client
        .attributes(file)
        .await
        .unwrap()
        .attributes
        .allocated_bytes
}

#[test]
fn the_data_of_a_leased_file_is_summed_once() {
    let cluster = Cluster::new(4, futago_server::Config::default());
    let client = cluster.caching_client();
    let asked = |future: std::pin::Pin<Box<dyn Future<Output = Option<u64>>>>| {
        let (sum, sent) = cluster.traced(cluster.answering(&client, future));
        let names = sent.into_iter().map(|(_, name)| name);
        (sum, names.filter(|name| name == "SumData").count())
    };
    let file = cluster.run(cluster.answering(&client, async {
        let file = make_file(&client, FileId::ROOT, "sparse")
            .await
            .attributes
            .id;
        write_pieces(&client, file, 1).await;
        client.lease_data(file).await.unwrap();
        file
    }));
    let sum = || async { data_bytes(&client, file).await };
    let (first, sums) = asked(Box::pin(sum()));
    assert_eq!(first, Some(PIECES));
    assert_ne!(sums, 0);
    assert_eq!(asked(Box::pin(sum())), (Some(PIECES), 0));
    let other = cluster.client();
    cluster.run(cluster.answering(&client, async {
        let data = Payload::from(Bytes::from(vec![2; 9]));
        other.write(file, STEP, data, false).await.unwrap();
    }));
    let (changed, sums) = asked(Box::pin(sum()));
    assert_eq!(changed, Some(PIECES + 8));
    assert_ne!(sums, 0);
}
