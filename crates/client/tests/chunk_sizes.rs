//! The chunk size that directories pass on.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use bytes::Bytes;
use cluster::{CHUNK_BYTES, Cluster, User, data, make_directory, make_file, name, pattern};
use cluster::{file, splitting_early};
use futago_base::{Errno, FileId, XattrName};
use futago_client::{CreateFlags, XattrMode};
use futago_wire::{NewContent, NewNode};

/// A file with the chunk size of its directory; by default larger than that of other tests.
fn inheriting() -> NewNode {
    NewNode {
        content: NewContent::InheritingFile {
            default_chunk_bytes: 4 * CHUNK_BYTES,
        },
        ..file()
    }
}

async fn set(client: &User, id: FileId, value: &str) -> Result<(), Errno> {
    let value = Bytes::copy_from_slice(value.as_bytes());
    let attribute = XattrName::of_chunk_size();
    client
        .set_xattr(id, &attribute, value, XattrMode::Set)
        .await
}

async fn get(client: &User, id: FileId) -> Result<Bytes, Errno> {
    client.get_xattr(id, &XattrName::of_chunk_size()).await
}

/// Makes a file with data, and returns its chunk size and what it holds.
async fn chunk_bytes_of_new(client: &User, directory: FileId, text: &str, bytes: usize) -> u32 {
    let (flags, contents, name) = (CreateFlags::EXCLUSIVE, pattern(bytes, 1), name(text));
    let node = inheriting();
    let made = client.create(directory, &name, node, flags, data(&contents));
    let attributes = made.await.unwrap().0.attributes;
    assert_eq!(attributes.size, bytes as u64);
    let read = client.read(attributes.id, 0, bytes as u32).await.unwrap();
    assert!(read.bytes() == contents, "{text}");
    attributes.chunk_bytes
}

#[test]
fn new_files_and_directories_inherit_it() {
    for client in [Cluster::caching_client, Cluster::client] {
        let cluster = Cluster::new(4, futago_server::Config::default());
        let client = client(&cluster);
        cluster.run(async {
            let directory = make_directory(&client, FileId::ROOT, "directory").await;
            assert_eq!(get(&client, directory).await, Err(Errno::ENODATA));
            set(&client, directory, "8192").await.unwrap();
            let below = make_directory(&client, directory, "below").await;
            for (parent, text) in [(directory, "here"), (below, "there")] {
                assert_eq!(get(&client, parent).await.unwrap(), "8192");
                // The client sends more first data than the first chunk holds.
                assert_eq!(
                    chunk_bytes_of_new(&client, parent, text, 40_000).await,
                    8192
                );
            }
            let other = chunk_bytes_of_new(&client, FileId::ROOT, "other", 40_000).await;
            assert_eq!(other, 4 * CHUNK_BYTES);
        });
    }
}

#[test]
fn all_buckets_of_a_wide_directory_have_it() {
    let cluster = splitting_early(4);
    let client = cluster.client();
    cluster.run(async {
        let wide = make_directory(&client, FileId::ROOT, "wide").await;
        for number in 0..100 {
            make_file(&client, wide, &format!("file{number}")).await;
        }
        set(&client, wide, "65536").await.unwrap();
        for number in 0..50 {
            let text = format!("new{number}");
            assert_eq!(chunk_bytes_of_new(&client, wide, &text, 10).await, 65_536);
        }
    });
}

#[test]
fn a_file_has_the_one_that_it_was_made_with() {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let client = cluster.caching_client();
    cluster.run(async {
        let file = make_file(&client, FileId::ROOT, "file").await.attributes.id;
        assert_eq!(get(&client, file).await.unwrap(), CHUNK_BYTES.to_string());
        assert_eq!(set(&client, file, "8192").await, Err(Errno::ENOTDIR));
        assert_eq!(client.list_xattrs(file).await, Ok(vec![]));
    });
}

#[test]
fn only_chunk_sizes_are_accepted_and_it_can_be_removed() {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let client = cluster.client();
    cluster.run(async {
        for wrong in ["5000", "1024", "", "64k"] {
            assert_eq!(set(&client, FileId::ROOT, wrong).await, Err(Errno::EINVAL));
        }
        set(&client, FileId::ROOT, "16384").await.unwrap();
        let attribute = XattrName::of_chunk_size();
        client.remove_xattr(FileId::ROOT, &attribute).await.unwrap();
        let again = client.remove_xattr(FileId::ROOT, &attribute).await;
        assert_eq!(again, Err(Errno::ENODATA));
        assert_eq!(get(&client, FileId::ROOT).await, Err(Errno::ENODATA));
    });
}
