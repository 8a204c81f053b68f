//! Released files: their data is elsewhere until a client needs it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{CHUNK_BYTES, Cluster, User, data, exists, file, name, pattern};
use futago_base::{Duration, Errno, FileId, Payload, ServerId};
use futago_client::{AllocateMode, Context, CreateFlags};
use futago_wire::{AttributeChange, FileState, NewContent, NewNode, Restored};
use std::future::Future;

const SERVERS: u16 = 4;

/// How long a restorer waits before it asks again.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a server believes that there is a restorer.
const LEASE: Duration = Duration::from_secs(8);

/// Bytes of the released files: some chunks, the last of them in part.
const BYTES: usize = 5 * CHUNK_BYTES as usize + 100;

fn cluster() -> Cluster {
    let config = futago_server::Config {
        lease: LEASE,
        ..futago_server::Config::default()
    };
    Cluster::new(SERVERS.into(), config)
}

async fn release(client: &User, text: &str, size: usize) -> FileState {
    let node = NewNode {
        content: NewContent::ReleasedFile {
            default_chunk_bytes: CHUNK_BYTES,
            size: size as u64,
        },
        ..file()
    };
    let (name, flags) = (name(text), CreateFlags::EXCLUSIVE);
    let made = client.create(FileId::ROOT, &name, node, flags, Payload::empty());
    made.await.unwrap().0
}

/// Asks all servers once, and restores what is wanted. Returns the restored files.
async fn restore_wanted(restorer: &User) -> Vec<FileId> {
    let mut all = Vec::new();
    for server in (0..SERVERS).map(ServerId) {
        let wanted = restorer.next_restorations(server, &[], 8).await.unwrap();
        for &file in &wanted {
            let ended = Restored {
                file,
                error: restore(restorer, file).await.err(),
            };
            restorer
                .next_restorations(server, &[ended], 0)
                .await
                .unwrap();
        }
        all.extend(wanted);
    }
    restorer.context().sleep(PAUSE).await;
    all
}

async fn restore(restorer: &User, file: FileId) -> Result<(), Errno> {
    restorer.open(file).await?;
    let all = pattern(BYTES, 3);
    // In two pieces, the last one first.
    let half = BYTES / 2;
    restorer
        .write(file, half as u64, data(&all[half..]), false)
        .await?;
    restorer.write(file, 0, data(&all[..half]), false).await?;
    restorer.close(file).await
}

/// An operation, while a restorer does its work.
async fn while_restoring<T>(restorer: &User, operation: impl Future<Output = T>) -> T {
    let restoring = async {
        loop {
            restore_wanted(restorer).await;
        }
    };
    let mut operation = std::pin::pin!(operation);
    let mut restoring = std::pin::pin!(restoring);
    std::future::poll_fn(|task| {
        let _: std::task::Poll<()> = restoring.as_mut().poll(task);
        operation.as_mut().poll(task)
    })
    .await
}

#[test]
fn a_client_that_needs_data_gets_it_and_nothing_else_changes() {
    for client in [Cluster::caching_client, Cluster::client] {
        let cluster = cluster();
        let (client, restorer) = (client(&cluster), cluster.client());
        cluster.run(async {
            restore_wanted(&restorer).await;
            let before = release(&client, "file", BYTES).await.attributes;
            assert_eq!(
                (before.size, before.allocated_bytes),
                (BYTES as u64, Some(0))
            );
            let read = client.read(before.id, 0, BYTES as u32);
            let read = while_restoring(&restorer, read).await.unwrap();
            assert!(read.bytes() == pattern(BYTES, 3));
            let after = client.attributes(before.id).await.unwrap().attributes;
            assert_eq!(after.allocated_bytes, Some(BYTES as u64));
            let allocated_bytes = Some(0);
            assert_eq!(
                futago_base::Attributes {
                    allocated_bytes,
                    accessed: before.accessed,
                    ..after
                },
                before
            );
        });
    }
}

/// A reply of a chunk's server from before the end of the restoration may come together with one of
/// the home from after it.
#[test]
fn no_chunk_is_asked_for_before_the_data_is_there() {
    let cluster = cluster();
    let (client, restorer) = (cluster.client(), cluster.client());
    let id = cluster.run(async {
        restore_wanted(&restorer).await;
        release(&client, "file", BYTES).await.attributes.id
    });
    let read = client.read(id, 0, BYTES as u32);
    let (read, sent) = cluster.traced(while_restoring(&restorer, read));
    assert!(read.unwrap().bytes() == pattern(BYTES, 3));
    let names = sent.iter().map(|(_, name)| name.as_str());
    let home = names.clone().rposition(|name| name == "Read").unwrap();
    let chunk = names.clone().position(|name| name == "ReadChunk").unwrap();
    assert!(home < chunk, "{:?}", names.collect::<Vec<_>>());
}

#[test]
fn every_change_of_data_waits_for_the_data() {
    let cluster = cluster();
    let (client, restorer) = (cluster.caching_client(), cluster.client());
    cluster.run(async {
        restore_wanted(&restorer).await;
        let all = pattern(BYTES, 3);
        let contents = async |id| client.read(id, 0, 2 * BYTES as u32).await.unwrap().bytes();

        let id = release(&client, "written", BYTES).await.attributes.id;
        let write = client.write(id, 5000, data(b"new"), false);
        while_restoring(&restorer, write).await.unwrap();
        assert!(contents(id).await == [&all[..5000], b"new", &all[5003..]].concat());

        let id = release(&client, "appended", BYTES).await.attributes.id;
        let append = client.append(id, data(b"new"), false);
        assert_eq!(while_restoring(&restorer, append).await, Ok(BYTES as u64));
        assert!(contents(id).await == [&all[..], b"new"].concat());

        let id = release(&client, "cut", BYTES).await.attributes.id;
        let cut = AttributeChange {
            size: Some(9000),
            ..AttributeChange::default()
        };
        while_restoring(&restorer, client.set_attributes(id, cut))
            .await
            .unwrap();
        assert!(contents(id).await == all[..9000]);

        let id = release(&client, "punched", BYTES).await.attributes.id;
        let punch = client.allocate(id, AllocateMode::PunchHole, 4000, 1000);
        while_restoring(&restorer, punch).await.unwrap();
        assert!(contents(id).await == [&all[..4000], &[0; 1000], &all[5000..]].concat());

        let id = release(&client, "source", BYTES).await.attributes.id;
        let target = release(&client, "target", 0).await.attributes.id;
        let copy = client.copy_range(id, 0, target, 0, BYTES as u64);
        assert_eq!(while_restoring(&restorer, copy).await, Ok(BYTES as u64));
        assert!(contents(target).await == all);

        let id = release(&client, "sought", BYTES).await.attributes.id;
        let seek = client.seek_data(id, 4100);
        assert_eq!(while_restoring(&restorer, seek).await, Ok(4100));
    });
}

#[test]
fn names_and_attributes_need_no_data() {
    let cluster = cluster();
    let (client, restorer) = (cluster.caching_client(), cluster.client());
    cluster.run(async {
        restore_wanted(&restorer).await;
        let id = release(&client, "file", BYTES).await.attributes.id;
        client
            .link(id, FileId::ROOT, &name("second"))
            .await
            .unwrap();
        let mode = AttributeChange {
            mode: Some(0o600),
            ..AttributeChange::default()
        };
        client.set_attributes(id, mode).await.unwrap();
        client.unlink(FileId::ROOT, &name("file")).await.unwrap();
        assert_eq!(
            client
                .attributes(id)
                .await
                .unwrap()
                .attributes
                .allocated_bytes,
            Some(0)
        );
        assert_eq!(exists(&client, FileId::ROOT, "second").await, Some(id));
        assert!(restore_wanted(&restorer).await.is_empty());
        client.unlink(FileId::ROOT, &name("second")).await.unwrap();
        assert_eq!(cluster.held().1, 0);
    });
}

#[test]
fn without_a_restorer_the_data_cannot_be_had() {
    let cluster = cluster();
    let (client, restorer) = (cluster.client(), cluster.client());
    cluster.run(async {
        let id = release(&client, "file", BYTES).await.attributes.id;
        assert_eq!(client.open(id).await, Err(Errno::EREMOTEIO));
        // One that comes later, and leaves while a client waits.
        restore_wanted(&restorer).await;
        assert_eq!(client.read(id, 0, 1).await, Err(Errno::EREMOTEIO));
        let read = client.read(id, 0, BYTES as u32);
        assert!(while_restoring(&restorer, read).await.unwrap().bytes() == pattern(BYTES, 3));
    });
}

#[test]
fn a_failed_restoration_fails_once_and_is_tried_again() {
    let cluster = cluster();
    let (client, restorer) = (cluster.client(), cluster.client());
    cluster.run(async {
        restore_wanted(&restorer).await;
        let id = release(&client, "file", BYTES).await.attributes.id;
        let failing = async {
            loop {
                for server in (0..SERVERS).map(ServerId) {
                    for file in restorer.next_restorations(server, &[], 8).await.unwrap() {
                        let ended = Restored {
                            file,
                            error: Some(Errno::ENOSPC),
                        };
                        restorer
                            .next_restorations(server, &[ended], 0)
                            .await
                            .unwrap();
                    }
                }
            }
        };
        let mut failing = Box::pin(failing);
        let mut open = std::pin::pin!(client.open(id));
        let opened = std::future::poll_fn(|task| {
            let _: std::task::Poll<()> = failing.as_mut().poll(task);
            open.as_mut().poll(task)
        });
        assert_eq!(opened.await, Err(Errno::ENOSPC));
        while_restoring(&restorer, client.open(id)).await.unwrap();
    });
}

#[test]
fn another_restorer_takes_over_when_a_session_ends() {
    let cluster = cluster();
    let (client, dead, restorer) = (cluster.client(), cluster.client(), cluster.client());
    cluster.run(async {
        restore_wanted(&dead).await;
        let id = release(&client, "file", BYTES).await.attributes.id;
        let taking = async {
            loop {
                for server in (0..SERVERS).map(ServerId) {
                    // It takes the file, and is never heard of again.
                    if !dead
                        .next_restorations(server, &[], 8)
                        .await
                        .unwrap()
                        .is_empty()
                    {
                        return;
                    }
                }
            }
        };
        let read = client.read(id, 0, BYTES as u32);
        let restored = async {
            taking.await;
            loop {
                restore_wanted(&restorer).await;
            }
        };
        let mut restored = Box::pin(restored);
        let mut read = std::pin::pin!(read);
        let read = std::future::poll_fn(|task| {
            let _: std::task::Poll<()> = restored.as_mut().poll(task);
            read.as_mut().poll(task)
        });
        assert!(read.await.unwrap().bytes() == pattern(BYTES, 3));
    });
}

#[test]
fn a_file_that_is_removed_meanwhile_is_gone() {
    let cluster = cluster();
    let (client, other, restorer) = (cluster.client(), cluster.client(), cluster.client());
    cluster.run(async {
        restore_wanted(&restorer).await;
        let id = release(&client, "file", BYTES).await.attributes.id;
        let mut open = Box::pin(client.open(id));
        let first = std::future::poll_fn(|task| std::task::Poll::Ready(open.as_mut().poll(task)));
        assert!(first.await.is_pending());
        other.unlink(FileId::ROOT, &name("file")).await.unwrap();
        assert_eq!(while_restoring(&restorer, open).await, Err(Errno::ESTALE));
    });
}
