//! A reader that follows a growing file sees the written data, and never zeros in its place.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{ClusterMap, Duration, FileId, Name, Payload, map::Policy};
use futago_client::{Client, Config, Context as _, CreateFlags};
use futago_driver::AdmissionConfig;
use futago_twin::cluster::{Cluster, Network, SimulatedContext};
use futago_twin::random::Random;
use futago_twin::sequential::World;
use futago_wire::{NewContent, NewNode};
use std::cell::RefCell;
use std::rc::Rc;

const CHUNK_BYTES: u32 = 4096;
const PIECES: u64 = 12;
/// A reader that keeps what it has read asks nobody, and would read for ever without it.
const PAUSE: Duration = Duration::from_micros(20);
const END: Duration = Duration::from_secs(100);

type Core = Rc<Client<SimulatedContext>>;

/// How a writer makes its file longer.
#[derive(Clone, Copy, Debug)]
enum Growth {
    Writes,
    Appends,
}

async fn make(core: Core) -> FileId {
    let node = NewNode {
        content: NewContent::File {
            chunk_bytes: CHUNK_BYTES,
        },
        mode: 0o644,
        uid: 0,
        gid: 0,
    };
    let name = Name::new("file").unwrap();
    let made = core.create(
        FileId::ROOT,
        &name,
        node,
        CreateFlags::EXCLUSIVE_OPEN,
        Payload::empty(),
    );
    made.await.unwrap().0.attributes.id
}

async fn grow(core: Core, file: FileId, growth: Growth, seed: u64) {
    let mut random = Random::new(seed, 11);
    let mut end = 0;
    core.open(file).await.unwrap();
    for _ in 0..PIECES {
        let length = 1 + random.below(6000);
        let piece = Payload::from(Bytes::from(vec![7; length as usize]));
        match growth {
            Growth::Writes => drop(core.write(file, end, piece, false).await.unwrap()),
            Growth::Appends => drop(core.append(file, piece, false).await.unwrap()),
        }
        end += length;
    }
    core.close(file).await.unwrap();
}

/// Reads the file from its start to its end, again and again, until no writer is left.
async fn follow(
    core: Core,
    file: FileId,
    writers: Rc<RefCell<u32>>,
    seen: Rc<RefCell<Vec<usize>>>,
) {
    loop {
        let is_last = *writers.borrow() == 0;
        let data = core.read(file, 0, 1 << 20).await.unwrap().bytes();
        let zero = data.iter().position(|&byte| byte == 0);
        assert_eq!(zero, None, "of {}", data.len());
        seen.borrow_mut().push(data.len());
        if is_last {
            return;
        }
        core.context().sleep(PAUSE).await;
    }
}

/// A cluster with clients of one kind.
struct Scene {
    world: World,
    config: Config,
    seed: u64,
}

impl Scene {
    fn new(seed: u64, leases_max: usize) -> Self {
        let map = ClusterMap::new(1, Policy::Modular, 64, 3).unwrap();
        let servers = futago_server::Config::default();
        let cluster = Cluster::new(
            map,
            &servers,
            1 << 40,
            AdmissionConfig::default(),
            Network::new(seed),
            None,
        );
        let config = Config {
            chunk_bytes: CHUNK_BYTES,
            lease_trust: (leases_max > 0).then_some(Duration::from_secs(10)),
            leases_max,
            ..Config::default()
        };
        Self {
            world: World::new(cluster),
            config,
            seed,
        }
    }

    /// Has a new client do something, and returns the client.
    fn spawn<F: Future<Output = ()> + 'static>(&mut self, task: impl FnOnce(Core) -> F) -> usize {
        let World { cluster, now, .. } = &mut self.world;
        let client = cluster.add_client(self.config, self.seed, *now);
        let node = &mut cluster.clients[client];
        node.spawn(task(node.core.clone()));
        self.world.run_client(client);
        client
    }

    fn make_file(&mut self) -> FileId {
        let made = Rc::new(RefCell::new(None));
        let result = made.clone();
        self.spawn(|core| async move { *result.borrow_mut() = Some(make(core).await) });
        self.world.run(END, |_| made.borrow().is_some());
        made.take().unwrap()
    }
}

/// How long the file was whenever it was read.
fn follow_growing_file(seed: u64, growth: Growth, writers: u32, leases_max: usize) -> Vec<usize> {
    let mut scene = Scene::new(seed, leases_max);
    let file = scene.make_file();
    let left = Rc::new(RefCell::new(writers));
    let seen = Rc::new(RefCell::new(Vec::new()));
    for writer in 0..writers {
        let left = left.clone();
        scene.spawn(|core| async move {
            grow(core, file, growth, seed + u64::from(writer)).await;
            *left.borrow_mut() -= 1;
        });
    }
    let reader = scene.spawn(|core| follow(core, file, left, seen.clone()));
    let is_over = |cluster: &Cluster| cluster.clients[reader].is_idle();
    assert!(scene.world.run(END, is_over), "it does not end");
    seen.take()
}

fn follow_all(growth: Growth, writers: u32) {
    for seed in 0..60 {
        for leases in [0, 100] {
            let seen = follow_growing_file(seed, growth, writers, leases);
            assert!(seen.is_sorted(), "{seed}: {seen:?}");
            assert!(seen.last() > Some(&(CHUNK_BYTES as usize * 4)), "{seen:?}");
        }
    }
}

#[test]
fn a_file_that_is_written_on_has_no_zeros() {
    follow_all(Growth::Writes, 1);
}

#[test]
fn a_file_that_is_appended_to_has_no_zeros() {
    follow_all(Growth::Appends, 1);
}

#[test]
fn a_file_that_several_append_to_has_no_zeros() {
    follow_all(Growth::Appends, 3);
}
