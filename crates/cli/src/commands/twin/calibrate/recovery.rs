//! The time that a server takes for its log when it comes back.

use super::measure::point;
use crate::simulation::local_cluster::{LocalCluster, Way};
use anyhow::Context;
use futago_base::{
    BucketStart, ClusterMap, Duration, FileId, Incarnation, Name, Payload, RequestId, ServerId,
    SessionId, Store as _, Time, map::Policy,
};
use futago_server::{Config, Input, Server};
use futago_store::{Identity, ServerStore, StoreConfig, Sync, SystemDirectory};
use futago_twin::scenario::Point;
use futago_wire::{NewContent, NewNode, Request, Spot};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// How many files the server has: more than a core's own cache holds the records of, many times.
/// A program that is not optimized would take minutes to create them.
const FILES: u64 = if cfg!(debug_assertions) {
    5_000
} else {
    100_000
};
/// How many requests a write of the log serves, as on a busy server.
const FILES_PER_WRITE: u64 = 16;
const MEMORY_BYTES: u64 = 1 << 34;

/// A server with a disk, and nobody who uses it.
const SERVER: &str = "
cluster = { servers = 1, clients = 1, store = 'disk' }
machine = { preset = 'workstation', disk = {} }
workload.phases = [{ mix = { create = 1 }, operations = 1 }]";

/// The time that a server with [`FILES`] empty files takes for each record of its log, in
/// nanoseconds, on the disk of this directory.
///
/// The log is in the directory of a cluster, because that is removed however the measurement ends.
pub fn record_ns(scratch: &Path) -> anyhow::Result<f64> {
    let Point { body, setup, .. } = point(SERVER)?;
    let local = LocalCluster::start(&body, &setup, Way::Memory, scratch)?;
    let data = local.data.as_deref().context("the cluster has no disk")?;
    let log = Log::of_files(data.join("calibration"), FILES).context("cannot write a log")?;
    log.record_ns().context("cannot read a log")
}

/// The directory and the number of records of a store.
struct Log {
    directory: PathBuf,
    records: u64,
}

impl Log {
    /// That of a server with so many files. Nobody has opened it since.
    fn of_files(directory: PathBuf, files: u64) -> anyhow::Result<Self> {
        let mut log = Self {
            directory,
            records: 0,
        };
        let mut store = log.open()?;
        create_files(&mut store, files)?;
        log.records = store.memory().records().count() as u64;
        store.close()?;
        Ok(log)
    }

    fn record_ns(&self) -> anyhow::Result<f64> {
        let began = Instant::now();
        let store = self.open()?;
        let took_ns = began.elapsed().as_nanos() as f64;
        drop(store);
        Ok(took_ns / self.records as f64)
    }

    fn open(&self) -> anyhow::Result<ServerStore> {
        let directory = SystemDirectory::open(&self.directory)?;
        let identity = Identity {
            cluster: 1,
            server: ServerId(0),
            incarnation: Incarnation(1),
        };
        let config = StoreConfig::new(MEMORY_BYTES, 1, Sync::Process);
        Ok(ServerStore::on_disk(Arc::new(directory), identity, config)?.0)
    }
}

/// Lets a server create files in its root.
fn create_files(store: &mut ServerStore, files: u64) -> anyhow::Result<()> {
    let map = ClusterMap::new(1, Policy::Modular, 64, 1)?;
    let server = Server::new(ServerId(0), map, Config::default());
    let mut now = Time(1_000_000_000_000);
    let genesis = server.genesis(store, now);
    store.commit(genesis, now.into());
    for number in 0..files {
        now = now + Duration::from_micros(1);
        let decision = server.handle(store, create(number)?, now);
        store.commit(decision.batch, now.into());
        if number % FILES_PER_WRITE == 0 {
            store.persist()?;
        }
    }
    Ok(store.persist()?)
}

/// The request that creates the file of this number.
fn create(number: u64) -> anyhow::Result<Input> {
    let at = Spot {
        directory: FileId::ROOT,
        bucket: BucketStart(0),
        name: Name::new(format!("file.{number:08}").into_bytes())?,
    };
    let node = NewNode {
        content: NewContent::File {
            chunk_bytes: 1 << 20,
        },
        mode: 0o644,
        uid: 1000,
        gid: 1000,
    };
    Ok(Input::Request {
        id: RequestId {
            session: SessionId(1),
            sequence: number + 1,
        },
        acknowledged: number,
        request: Request::Create {
            at,
            node,
            exclusive: true,
            open: false,
        },
        payload: Payload::empty(),
        leases: false,
        introduces: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_files_is_read_as_often_as_it_is_measured() {
        let parent = tempfile::tempdir().unwrap();
        let log = Log::of_files(parent.path().join("log"), 100).unwrap();
        // A name and an inode for each file, and what the server has besides.
        assert!(log.records >= 200, "{}", log.records);
        for _ in 0..2 {
            assert!(log.record_ns().unwrap() > 0.0);
            let recovered = log.open().unwrap().memory().records().count() as u64;
            assert_eq!(recovered, log.records);
        }
    }
}
