//! Extended attributes of nodes that a caching client has made.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, User, make_directory, make_file, name};
use futago_base::{Errno, FileId, XattrName};
use futago_client::XattrMode;

const VALUE: &[u8] = b"value";

fn attribute() -> XattrName {
    XattrName::new(&b"user.x"[..]).unwrap()
}

/// A cluster, and a caching client that has made a file and a directory.
fn two_nodes() -> (Cluster, User, [FileId; 2]) {
    let cluster = Cluster::new(1, futago_server::Config::default());
    let client = cluster.caching_client();
    let made = cluster.run(async {
        let file = make_file(&client, FileId::ROOT, "file").await.attributes.id;
        [
            file,
            make_directory(&client, FileId::ROOT, "directory").await,
        ]
    });
    (cluster, client, made)
}

async fn set(client: &User, node: FileId) {
    let (attribute, value) = (attribute(), Bytes::from_static(VALUE));
    let set = client.set_xattr(node, &attribute, value, XattrMode::Set);
    set.await.unwrap();
}

#[test]
fn new_nodes_have_none_and_nobody_is_asked() {
    let (cluster, client, nodes) = two_nodes();
    let ((), sent) = cluster.traced(async {
        for node in nodes {
            let got = client.get_xattr(node, &attribute()).await;
            assert_eq!(got, Err(Errno::ENODATA));
            assert_eq!(client.list_xattrs(node).await, Ok(vec![]));
        }
    });
    assert_eq!(sent, []);
}

#[test]
fn attributes_that_are_set_are_found() {
    let (cluster, client, nodes) = two_nodes();
    let other = cluster.caching_client();
    for (node, setter) in nodes.into_iter().zip([&client, &other]) {
        cluster.run(cluster.answering(&client, set(setter, node)));
        cluster.run(async {
            let got = client.get_xattr(node, &attribute()).await;
            assert_eq!(got, Ok(Bytes::from_static(VALUE)));
            assert_eq!(client.list_xattrs(node).await, Ok(vec![attribute()]));
        });
    }
}

#[test]
fn a_removed_node_has_no_answer() {
    let (cluster, client, [file, directory]) = two_nodes();
    cluster.run(async {
        let names = [name("file"), name("directory")];
        client.unlink(FileId::ROOT, &names[0]).await.unwrap();
        let removed = client.remove_directory(FileId::ROOT, &names[1]);
        removed.await.unwrap();
        for node in [file, directory] {
            let got = client.get_xattr(node, &attribute()).await;
            assert_eq!(got, Err(Errno::ESTALE));
            assert_eq!(client.list_xattrs(node).await, Err(Errno::ESTALE));
        }
    });
}
