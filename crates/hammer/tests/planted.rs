//! Whether the hammer detects mistakes: rounds of a cluster in this process, correct ones and ones
//! with planted mistakes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::{FileId, ServerId};
use futago_hammer::actor::Actor;
use futago_hammer::journal::{Doing, Journal};
use futago_hammer::library::Library;
use futago_hammer::round::{self, Plan};
use futago_node::{
    Cluster, ServerEntry,
    server::{Config, Servers},
};
use futago_transport::Address;
use futago_twin::check::{Setting, Verdict};
use futago_twin::fuzz::{Known, remove_entries};
use futago_twin::model::{Observed, Operation, Tree};
use std::collections::BTreeMap;
use std::time::Instant;
use tempfile::TempDir;

struct Running {
    cluster: Cluster,
    _servers: Vec<Servers>,
    _directory: TempDir,
}

fn start() -> Running {
    let directory = tempfile::tempdir().unwrap();
    let entry = |n| ServerEntry {
        address: Address::Unix(directory.path().join(format!("{n}.sock"))),
        host: None,
        process: n,
    };
    let cluster = Cluster::new("test", (0..2).map(entry).collect()).unwrap();
    let server = |n| {
        let config = Config {
            cluster: cluster.clone(),
            servers: vec![ServerId(n)],
            memory_bytes: 1 << 30,
            root_owner: (0, 0),
        };
        Servers::start(&config).unwrap()
    };
    Running {
        _servers: (0..2).map(server).collect(),
        cluster,
        _directory: directory,
    }
}

/// A client that caches its first observation of names or attributes for ever: a cache without
/// invalidations.
struct Forgetful {
    client: Library,
    seen: BTreeMap<String, Observed>,
}

impl Actor for Forgetful {
    fn known(&self) -> &Known {
        self.client.known()
    }

    fn perform(&mut self, operation: &Operation, journal: &mut Journal) -> Option<Observed> {
        if !matches!(
            operation,
            Operation::Lookup { .. } | Operation::Attributes(_) | Operation::Read { .. }
        ) {
            return self.client.perform(operation, journal);
        }
        let key = format!("{operation:?}");
        if let Some(seen) = self.seen.get(&key) {
            return journal.observe(operation, || seen.clone(), Some);
        }
        let observed = self.client.perform(operation, journal)?;
        self.seen.insert(key, observed.clone());
        Some(observed)
    }

    fn rest(&mut self) {
        self.seen.clear();
        self.client.rest();
    }
}

/// The number of explained rounds.
fn explained(running: &Running, mut actors: Vec<Box<dyn Actor>>, rounds: u64) -> u64 {
    let cleaner = Library::connect(&running.cluster, false).unwrap();
    let root = cleaner
        .futago()
        .run_blocking(async |client| client.core().attributes(FileId::ROOT).await);
    let root = root.unwrap().unwrap().attributes;
    let setting = Setting {
        chunk_bytes: running.cluster.chunk_bytes.into(),
        limited: false,
        kernels: 0,
        grace: futago_base::Duration::from_secs(2),
    };
    let doing: Vec<_> = actors.iter().map(|_| Doing::default()).collect();
    let mut explained = 0;
    for seed in 0..rounds {
        // Odd seeds leave the attributes of the root directory alone.
        let seed = 2 * seed + 1;
        let plan = Plan { seed, steps: 12 };
        let (history, _) = round::run(&mut actors, &doing, plan, Instant::now());
        for actor in &mut actors {
            actor.rest();
        }
        let cleaned = cleaner
            .futago()
            .run_blocking(async |client| remove_entries(client.core(), FileId::ROOT).await);
        cleaned.unwrap().unwrap();
        let before = Tree::new(root.mode, root.uid, root.gid);
        let verdict = round::judge(&history, &before, setting);
        explained += u64::from(matches!(verdict, Verdict::Explained));
    }
    explained
}

#[test]
fn what_clients_see_is_explained() {
    let running = start();
    let library =
        || -> Box<dyn Actor> { Box::new(Library::connect(&running.cluster, false).unwrap()) };
    assert_eq!(
        explained(&running, vec![library(), library(), library()], 6),
        6
    );
}

#[test]
fn a_cache_without_invalidations_is_detected() {
    let running = start();
    let forgetful = Forgetful {
        client: Library::connect(&running.cluster, false).unwrap(),
        seen: BTreeMap::new(),
    };
    let honest = Library::connect(&running.cluster, false).unwrap();
    let rounds = 6;
    let actors: Vec<Box<dyn Actor>> = vec![Box::new(honest), Box::new(forgetful)];
    assert!(explained(&running, actors, rounds) < rounds);
}
