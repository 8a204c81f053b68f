//! A program with caches of its own, whose invalidations the client queues.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod one_server;

use futago_node::{
    Cluster, Invalidation, Options,
    blocking::{FileSystem, OpenOptions},
    server::Servers,
};
use std::thread;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

struct Running {
    cluster: Cluster,
    _servers: Servers,
    _directory: TempDir,
}

/// One server and an empty file.
fn start() -> Running {
    let directory = tempfile::tempdir().unwrap();
    let config = one_server::config(directory.path());
    let servers = Servers::start(&config);
    let running = Running {
        cluster: config.cluster,
        _servers: servers.unwrap(),
        _directory: directory,
    };
    let new = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    other(&running).open(b"/f", new).unwrap().close().unwrap();
    running
}

fn other(running: &Running) -> FileSystem {
    FileSystem::connect(&running.cluster, Options::default()).unwrap()
}

/// A program that caches what its client has leases on.
fn caching(running: &Running) -> (FileSystem, UnboundedReceiver<Invalidation>) {
    let (invalidations, queue) = unbounded_channel();
    let options = Options {
        leases: true,
        invalidations: Some(invalidations),
        ..Options::default()
    };
    let program = FileSystem::connect(&running.cluster, options).unwrap();
    program.metadata(b"/f", true).unwrap();
    (program, queue)
}

#[test]
fn a_lease_is_returned_when_its_invalidation_ends() {
    let running = start();
    let (_program, mut queue) = caching(&running);
    let other = other(&running);
    thread::scope(|scope| {
        let change = scope.spawn(|| other.rename(b"/f", b"/g"));
        let invalidation = queue.blocking_recv().unwrap();
        // The server replies to this, and could have replied to the change before.
        other.metadata(b"/", true).unwrap();
        assert!(!change.is_finished(), "the program may still use the name");
        drop(invalidation);
        while !change.is_finished() {
            drop(queue.try_recv());
            thread::yield_now();
        }
        change.join().unwrap().unwrap();
    });
}

#[test]
fn a_program_that_has_stopped_keeps_no_lease() {
    let running = start();
    let (_program, queue) = caching(&running);
    drop(queue);
    other(&running).rename(b"/f", b"/g").unwrap();
}
