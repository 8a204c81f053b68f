//! Losses of power: what was synchronized is there, whatever part of the rest the disk has.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod batches;

use batches::batch;
use futago_base::{Batch, ChunkId, DataChange, FileId, Incarnation, Moment, ServerId, Store, Time};
use futago_store::{
    Dropped, Identity, ServerStore, SimulatedDirectory, StoreConfig, StoreError, Sync,
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{cell::Cell, sync::Arc};

const IDENTITY: Identity = Identity {
    cluster: 3,
    server: ServerId(2),
    incarnation: Incarnation(77),
};
/// Files take a few batches, and are cleaned all the time.
const CONFIG: StoreConfig = StoreConfig {
    memory_bytes: 1 << 30,
    sharing: 1,
    sync: Sync::Process,
    file_bytes: 600,
    slack_bytes: 600,
    direct_bytes: 40,
};

fn open(directory: &Arc<SimulatedDirectory>) -> Result<ServerStore, StoreError> {
    let directory = Arc::clone(directory);
    Ok(ServerStore::on_disk(directory, IDENTITY, CONFIG)?.0)
}

fn at(number: u64) -> Moment {
    Moment {
        steady: Time(number),
        stamp: Time(number),
    }
}

/// The state, as text, or why some of it cannot be read.
fn state(store: &mut ServerStore) -> Result<String, String> {
    let memory = store.memory();
    let records: Vec<_> = memory.records().collect();
    let chunks = memory.chunks().map(|(chunk, data)| {
        let pieces = data.read(0, u32::MAX).into_iter();
        let bytes: Vec<_> = pieces
            .flat_map(|(offset, payload)| (offset..).zip(payload.bytes()))
            .collect();
        (chunk, bytes)
    });
    let text = format!("{records:?} {:?}", chunks.collect::<Vec<_>>());
    match store.take_unreadable() {
        true => Err(format!("{:?}", store.read_failures())),
        false => Ok(text),
    }
}

/// A write of data that has a file of its own kind.
fn write_of_data() -> Batch {
    let (file, bytes) = (FileId::ROOT, vec![7; CONFIG.direct_bytes]);
    Batch {
        data: vec![DataChange::Write {
            chunk: ChunkId { file, index: 0 },
            offset: 0,
            payload: bytes::Bytes::from(bytes).into(),
        }],
        ..Batch::default()
    }
}

/// Some batches that are persisted together, and whether they are synchronized then.
#[derive(Clone, Debug)]
struct Step {
    batches: Vec<Batch>,
    synchronizes: bool,
}

/// Some steps of a server, and then its process ends, perhaps in the middle of one, and most times
/// the power is out.
#[derive(Clone, Debug)]
struct Life {
    steps: Vec<Step>,
    /// Whether everything is synchronized in the end.
    closes: bool,
    /// After so many changes of the disk.
    changes: u64,
    /// After so many synchronizations one fails and drops what it should have written.
    drops: Option<(u64, Dropped)>,
    /// Decides what is left of what was not synchronized; all of it if the power stays.
    seed: Option<u64>,
}

fn step() -> impl Strategy<Value = Step> {
    let batches = prop::collection::vec(batch(), 1..4);
    (batches, prop::bool::weighted(0.4)).prop_map(|(batches, synchronizes)| Step {
        batches,
        synchronizes,
    })
}

fn life() -> impl Strategy<Value = Life> {
    let steps = prop::collection::vec(step(), 1..12);
    let dropped = prop_oneof![Just(Dropped::Cached), Just(Dropped::Gone)];
    let drops = prop::option::weighted(0.3, (0..6_u64, dropped));
    let seed = prop::option::weighted(0.8, any::<u64>());
    let life = (steps, any::<bool>(), 0..150_u64, drops, seed);
    life.prop_map(|(steps, closes, changes, drops, seed)| Life {
        steps,
        closes,
        // A process that ends in the moment between the failure and its note leaves none.
        changes: drops.map_or(changes, |_| u64::MAX),
        drops,
        seed,
    })
}

/// The states that may be found, the oldest first.
#[derive(Default)]
struct Allowed {
    states: Vec<String>,
    /// The first one that survives the end of the process.
    persisted: usize,
    /// Whether the power was out since, or a synchronization has failed.
    had_loss: bool,
}

impl Allowed {
    /// The latest state is the oldest that a loss of power leaves.
    fn note_durable(&mut self) {
        self.states.drain(..self.states.len() - 1);
        self.persisted = 0;
    }

    fn note_persisted(&mut self) {
        self.persisted = self.states.len() - 1;
    }

    /// The store was opened with this state.
    fn meet(&mut self, found: String) -> Result<(), String> {
        let least = if self.had_loss { 0 } else { self.persisted };
        let states = &mut self.states;
        let place = states.iter().rposition(|state| *state == found);
        match place.filter(|&place| place >= least) {
            Some(place) => states.truncate(place + 1),
            None if states.is_empty() => states.push(found),
            None => {
                let allowed = &states[least..];
                return Err(format!("found {found}, and none of {allowed:?}"));
            }
        }
        self.had_loss = false;
        self.note_persisted();
        Ok(())
    }
}

/// Lives one after the other, on one disk.
fn live(lives: &[Life], ignores_sync: bool) -> Result<(), String> {
    let directory = Arc::new(SimulatedDirectory::default());
    if ignores_sync {
        directory.ignore_sync();
    }
    let mut allowed = Allowed::default();
    for life in lives {
        directory.fail_after(life.changes);
        let (syncs, dropped) = life.drops.unwrap_or((u64::MAX, Dropped::Cached));
        directory.fail_sync_after(syncs, dropped);
        if let Ok(mut store) = open(&directory) {
            allowed.meet(state(&mut store)?)?;
            run(store, life, &mut allowed)?;
        }
        allowed.had_loss |= life.drops.is_some();
        directory.fail_sync_after(u64::MAX, dropped);
        match life.seed {
            Some(seed) => {
                lose_power(&directory, seed);
                allowed.had_loss = true;
            }
            None => directory.fail_after(u64::MAX),
        }
    }
    let mut store = open(&directory).map_err(|error| error.to_string())?;
    allowed.meet(state(&mut store)?)
}

fn lose_power(directory: &SimulatedDirectory, seed: u64) {
    let mut random = seed | 1;
    directory.restart(&mut |below| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    });
}

/// Runs the steps as long as there is power.
fn run(mut store: ServerStore, life: &Life, allowed: &mut Allowed) -> Result<(), String> {
    for (number, step) in life.steps.iter().enumerate() {
        for batch in &step.batches {
            store.commit(batch.clone(), at(number as u64));
            allowed.states.push(state(&mut store)?);
        }
        if store.persist().is_err() {
            return Ok(());
        }
        allowed.note_persisted();
        if step.synchronizes {
            match synchronize(&mut store) {
                Ok(()) => allowed.note_durable(),
                Err(_) => return Ok(()),
            }
        }
    }
    if life.closes && store.close().is_ok() {
        allowed.note_durable();
    }
    Ok(())
}

fn synchronize(store: &mut ServerStore) -> Result<(), StoreError> {
    if let Some(synchronization) = store.begin_synchronization()? {
        synchronization.run()?;
        store.end_synchronization(&synchronization);
    }
    assert_eq!(store.durable(), store.position());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, ..ProptestConfig::default() })]
    #[test]
    fn what_was_synchronized_survives_losses_of_power(lives in prop::collection::vec(life(), 1..4)) {
        prop_assert_eq!(live(&lives, false), Ok(()));
    }
}

/// The process that makes the log ends before its name is synchronized. The next one does that.
#[test]
fn a_new_log_of_a_process_that_ended_is_there_after_a_loss_of_power() {
    for seed in 0..100 {
        let directory = Arc::new(SimulatedDirectory::default());
        directory.fail_after(2);
        open(&directory).unwrap_err();
        directory.fail_after(u64::MAX);
        let mut store = open(&directory).unwrap();
        store.commit(write_of_data(), at(1));
        store.persist().unwrap();
        drop(store);
        lose_power(&directory, seed);
        open(&directory).unwrap();
    }
}

/// Clients have seen what a process has not synchronized, and rely on it although the next process
/// synchronizes before it confirms.
#[test]
fn the_next_mode_does_not_hide_what_the_former_one_has_confirmed() {
    for seed in 0..100 {
        let directory = Arc::new(SimulatedDirectory::default());
        let mut store = open(&directory).unwrap();
        store.commit(write_of_data(), at(1));
        store.persist().unwrap();
        let before = state(&mut store).unwrap();
        drop(store);
        let always = StoreConfig {
            sync: Sync::Always,
            ..CONFIG
        };
        drop(ServerStore::on_disk(directory.clone(), IDENTITY, always).unwrap());
        lose_power(&directory, seed);
        let (mut store, recovered) =
            ServerStore::on_disk(directory.clone(), IDENTITY, always).unwrap();
        assert!(recovered.may_have_lost || state(&mut store).unwrap() == before);
    }
}

/// The note of how a directory is used survives a process that ends while it changes it.
#[test]
fn a_process_that_ends_at_once_does_not_seem_to_have_lost_anything() {
    let always = StoreConfig {
        sync: Sync::Always,
        ..CONFIG
    };
    for changes in 0..20 {
        let directory = Arc::new(SimulatedDirectory::default());
        let open = || ServerStore::on_disk(directory.clone(), IDENTITY, always);
        let mut store = open().unwrap().0;
        store.persist().unwrap();
        store.close().unwrap();
        lose_power(&directory, changes);
        directory.fail_after(changes);
        drop(open());
        lose_power(&directory, changes);
        directory.fail_after(changes);
        drop(open().map(|(mut store, _)| store.persist()));
        directory.fail_after(u64::MAX);
        assert!(!open().unwrap().1.may_have_lost, "after {changes} changes");
    }
}

/// The first test would notice a store that does not synchronize.
#[test]
fn a_disk_that_lies_is_noticed() {
    let noticed = Cell::new(false);
    let mut runner = TestRunner::deterministic();
    let lives = prop::collection::vec(life(), 1..3);
    runner
        .run(&lives, |lives| {
            noticed.set(noticed.get() || live(&lives, true).is_err());
            Ok(())
        })
        .unwrap();
    assert!(noticed.get());
}
