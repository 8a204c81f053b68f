//! Losses of power of a whole cluster: what was synchronized is there, and all servers agree.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::{ClusterMap, Payload, ServerId};
use futago_client::Context;
use futago_lab::check::{Finding, Listing, Records, check};
use futago_node::{
    Cluster, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers, Status, Surroundings},
};
use futago_store::{Directory, SimulatedDirectory, StoreError, Sync};
use futago_transport::Address;
use futago_wire::{Reply, Request};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const SERVERS: usize = 3;
const CLIENTS: usize = 3;
/// After so many operations the work ends.
const END: u64 = 1 << 32;
const NEW: OpenOptions = OpenOptions {
    create: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// The disks of the servers, by directory.
#[derive(Clone, Default)]
struct Disks(Arc<Mutex<BTreeMap<PathBuf, Arc<SimulatedDirectory>>>>);

impl Disks {
    fn open(&self, path: &Path) -> Result<Arc<dyn Directory>, StoreError> {
        let mut disks = self.0.lock().unwrap();
        let disk = disks.entry(path.into()).or_default();
        Ok(Arc::<SimulatedDirectory>::clone(disk))
    }

    fn each(&self, mut action: impl FnMut(&SimulatedDirectory)) {
        self.0
            .lock()
            .unwrap()
            .values()
            .for_each(|disk| action(disk));
    }

    fn switch_off(&self) {
        self.each(|disk| disk.fail_after(0));
    }

    fn switch_on(&self, random: &mut Random) {
        self.each(|disk| disk.restart(&mut |below| random.below(below)));
    }
}

/// Numbers from a seed (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }
}

/// A cluster whose servers have disks that may lose power.
struct Room {
    cluster: Cluster,
    disks: Disks,
    tick: futago_base::Duration,
    _sockets: TempDir,
}

impl Room {
    fn new(sync: Sync, give_up_seconds: f64) -> Self {
        let sockets = tempfile::tempdir().unwrap();
        let entry = |number| ServerEntry {
            address: Address::Unix(sockets.path().join(format!("{number}.sock"))),
            host: None,
            process: 0,
        };
        let mut cluster = Cluster::new("test", (0..SERVERS).map(entry).collect()).unwrap();
        cluster.data = Some("data".into());
        cluster.sync = sync;
        cluster.chunk_bytes = 16 << 10;
        cluster.limits.give_up_seconds = give_up_seconds;
        Self {
            cluster,
            disks: Disks::default(),
            tick: Surroundings::default().tick,
            _sockets: sockets,
        }
    }

    fn start(&self) -> Servers {
        self.start_these(self.cluster.servers_of_process(0))
    }

    fn start_these(&self, servers: Vec<ServerId>) -> Servers {
        let config = Config {
            cluster: self.cluster.clone(),
            servers,
            memory_bytes: 1 << 30,
            root_owner: (0, 0),
        };
        let disks = self.disks.clone();
        let surroundings = Surroundings {
            open_directory: Arc::new(move |path| disks.open(path)),
            // No client of a server that was set back lives on.
            grace: futago_base::Duration(0),
            tick: self.tick,
            ..Surroundings::default()
        };
        Servers::start_in(&config, &surroundings).unwrap()
    }

    fn client(&self) -> FileSystem {
        let options = Options {
            leases: true,
            ..Options::default()
        };
        FileSystem::connect(&self.cluster, options).unwrap()
    }
}

/// The states of a path that a loss of power may leave; `None` is a missing file.
type Allowed = Vec<Option<Vec<u8>>>;

/// The knowledge of a client about the files in its directory.
struct Work {
    files: FileSystem,
    directory: String,
    random: Random,
    /// A path without an entry may be in any state.
    allowed: BTreeMap<String, Allowed>,
    operations: Arc<AtomicU64>,
    /// Whether all that has returned survives.
    is_always: bool,
}

impl Work {
    /// Works until the servers are gone, or this is the end.
    fn run(mut self) -> Self {
        while self.operations.load(Ordering::Relaxed) < END && self.step().is_ok() {
            self.operations.fetch_add(1, Ordering::Relaxed);
        }
        self
    }

    fn step(&mut self) -> io::Result<()> {
        let path = format!("{}/f{}", self.directory, self.random.below(8));
        match self.random.below(8) {
            0 => self.write_loosely(&path),
            1 => self.remove(&path),
            2 => self.move_away(&path),
            3..5 => self.write_in_place(&path),
            _ => self.replace(&path),
        }
    }

    fn text(&mut self) -> Vec<u8> {
        let length = [10, 3000, 40_000, 100_000][self.random.below(4) as usize];
        let word = format!("{} ", self.random.below(1 << 40));
        word.bytes().cycle().take(length).collect()
    }

    fn write(&mut self, path: &str, text: &[u8], synchronizes: bool) -> io::Result<()> {
        let file = self.files.open(path.as_bytes(), NEW)?;
        file.set_size(0)?;
        file.write_at(0, text.to_vec().into())?;
        if synchronizes {
            file.synchronize()?;
        }
        file.close()
    }

    /// Leaves the file in any state, unless all that returns survives.
    fn write_loosely(&mut self, path: &str) -> io::Result<()> {
        self.allowed.remove(path);
        let text = self.text();
        self.write(path, &text, false)?;
        if self.is_always {
            self.allowed.insert(path.into(), vec![Some(text)]);
        }
        Ok(())
    }

    fn write_in_place(&mut self, path: &str) -> io::Result<()> {
        self.allowed.remove(path);
        let text = self.text();
        self.write(path, &text, true)?;
        self.allowed.insert(path.into(), vec![Some(text)]);
        Ok(())
    }

    /// Replaces a file by a new one, so that there is always a whole one.
    fn replace(&mut self, path: &str) -> io::Result<()> {
        let text = self.text();
        let new = format!("{path}.new");
        self.write(&new, &text, true)?;
        self.become_possible(path, Some(text.clone()));
        self.files.rename(new.as_bytes(), path.as_bytes())?;
        self.perhaps_synchronize(path, Some(text))
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        self.become_possible(path, None);
        match self.files.remove_file(path.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.perhaps_synchronize(path, None),
        }
    }

    /// Renames a file into the root directory and back, which other servers have a part in.
    fn move_away(&mut self, path: &str) -> io::Result<()> {
        self.allowed.remove(path);
        let away = format!("/{}", path.replace('/', "-"));
        let text = self.text();
        self.write(path, &text, true)?;
        self.files.rename(path.as_bytes(), away.as_bytes())?;
        self.files.rename(away.as_bytes(), path.as_bytes())?;
        self.perhaps_synchronize(path, Some(text))
    }

    /// An operation that may survive or not begins.
    fn become_possible(&mut self, path: &str, state: Option<Vec<u8>>) {
        if let Some(allowed) = self.allowed.get_mut(path) {
            allowed.push(state);
        }
    }

    fn perhaps_synchronize(&mut self, path: &str, state: Option<Vec<u8>>) -> io::Result<()> {
        if self.random.below(2) == 0 {
            self.files
                .synchronize_directory(self.directory.as_bytes())?;
            self.allowed.insert(path.into(), vec![state]);
        }
        Ok(())
    }

    fn check(&self, files: &FileSystem) {
        for (path, allowed) in &self.allowed {
            let found = read(files, path);
            let short = |state: &Option<Vec<u8>>| {
                let text = state.as_ref();
                text.map(|text| {
                    (
                        text.len(),
                        String::from_utf8_lossy(&text[..10]).into_owned(),
                    )
                })
            };
            let shown: Vec<_> = allowed.iter().map(short).collect();
            assert!(
                allowed.contains(&found),
                "{path}: {:?}, not {shown:?}",
                short(&found)
            );
        }
    }
}

fn read(files: &FileSystem, path: &str) -> Option<Vec<u8>> {
    match files.open(path.as_bytes(), OpenOptions::default()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        opened => Some(opened.unwrap().read_at(0, 1 << 20).unwrap().to_vec()),
    }
}

/// The faults of the records that last.
fn findings(files: &FileSystem, map: &ClusterMap) -> Vec<Finding> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let records = map.servers().map(|server| {
            let request = Request::Inspect {
                after: None,
                records_max: u32::MAX,
            };
            let asked = files.futago().run_blocking(async |client| {
                let (context, none) = (client.context(), Payload::empty());
                let sequence = context.next_sequence();
                context.call(server, sequence, request, none).await
            });
            let (Reply::Records { records, .. }, _) = asked.unwrap().unwrap() else {
                panic!("no records");
            };
            Listing { server, records }
        });
        let listings: Vec<Listing> = records.collect();
        let found = check(&Records::new(map, &listings));
        if found.is_empty() || Instant::now() > deadline {
            return found;
        }
        thread::yield_now();
    }
}

/// The beginning of a client's work on a cluster.
fn begin(room: &Room) -> Vec<BTreeMap<String, Allowed>> {
    let files = room.client();
    for number in 0..CLIENTS {
        let path = format!("/c{number}");
        files.create_directory(path.as_bytes(), 0o755).unwrap();
    }
    files.synchronize_directory(b"/").unwrap();
    vec![BTreeMap::new(); CLIENTS]
}

fn start_working(
    room: &Room,
    seed: u64,
    known: Vec<BTreeMap<String, Allowed>>,
    operations: &Arc<AtomicU64>,
) -> Vec<JoinHandle<Work>> {
    let work = |(number, allowed)| {
        let work = Work {
            files: room.client(),
            directory: format!("/c{number}"),
            random: Random(seed * 100 + number as u64),
            allowed,
            operations: Arc::clone(operations),
            is_always: room.cluster.sync == Sync::Always,
        };
        thread::spawn(move || work.run())
    };
    known.into_iter().enumerate().map(work).collect()
}

fn wait_for(operations: &AtomicU64, count: u64, workers: &[JoinHandle<Work>]) {
    while operations.load(Ordering::Relaxed) < count {
        assert!(!workers.iter().any(JoinHandle::is_finished), "an error");
        thread::yield_now();
    }
}

fn finish(workers: Vec<JoinHandle<Work>>) -> Vec<Work> {
    workers.into_iter().map(|it| it.join().unwrap()).collect()
}

fn check_all(room: &Room, done: &[Work]) -> FileSystem {
    let files = room.client();
    done.iter().for_each(|work| work.check(&files));
    assert_eq!(findings(&files, &room.cluster.map().unwrap()), []);
    files
}

/// Some lives of servers and clients, each of which ends with a loss of power.
fn lose_everything(seed: u64, disks_lie: bool) {
    let mut random = Random(seed);
    let room = Room::new(Sync::Process, 2.0);
    let mut servers = room.start();
    if disks_lie {
        room.disks.each(SimulatedDirectory::ignore_sync);
    }
    let mut known = begin(&room);
    for _ in 0..3 {
        let operations = Arc::default();
        let workers = start_working(&room, seed, known, &operations);
        wait_for(&operations, 20 + random.below(100), &workers);
        room.disks.switch_off();
        let done = finish(workers);
        // They may have ended for want of a disk.
        let _ = servers.stop();
        room.disks.switch_on(&mut random);
        servers = room.start();
        let files = check_all(&room, &done);
        known = done.into_iter().map(|work| work.allowed).collect();
        // The next life begins with this state.
        files.synchronize().unwrap();
    }
    servers.stop().unwrap();
}

/// Servers lose power again and again, and clients work on.
fn lose_servers(seed: u64) {
    let mut random = Random(seed);
    let room = Room::new(Sync::Always, 60.0);
    let mut servers = room.start();
    let known = begin(&room);
    let operations = Arc::default();
    let workers = start_working(&room, seed, known, &operations);
    for life in 1..5 {
        wait_for(&operations, life * 60 + random.below(40), &workers);
        room.disks.switch_off();
        let _ = servers.stop();
        room.disks.switch_on(&mut random);
        servers = room.start();
    }
    operations.fetch_add(END, Ordering::Relaxed);
    check_all(&room, &finish(workers));
    servers.stop().unwrap();
}

#[test]
fn what_was_synchronized_survives_losses_of_power() {
    (0..4).for_each(|seed| lose_everything(seed, false));
}

/// The test above would notice a disk, or a server, that does not synchronize.
#[test]
#[should_panic(expected = "unwrap")]
fn disks_that_lie_are_noticed() {
    (0..4).for_each(|seed| lose_everything(seed, true));
}

#[test]
fn with_sync_always_nothing_that_returned_is_lost_and_clients_go_on() {
    (4..7).for_each(lose_servers);
}

/// Removes files under names that other servers have. Those servers tell the files' homes.
fn remove_moved_files(files: &FileSystem) -> io::Result<()> {
    for number in 0..8 {
        let path = format!("/f{number}");
        files.open(path.as_bytes(), NEW)?.close()?;
        let directory = format!("/d{number}");
        files.create_directory(directory.as_bytes(), 0o755)?;
        let moved = format!("{directory}/f");
        files.rename(path.as_bytes(), moved.as_bytes())?;
        files.remove_file(moved.as_bytes())?;
    }
    Ok(())
}

#[test]
fn what_waits_for_the_disk_leaves_when_it_is_there() {
    let mut room = Room::new(Sync::Process, 2.0);
    // The next tick would come too late.
    room.tick = futago_base::Duration::from_secs(3600);
    // Servers of one thread need no connections.
    let apart = |id| room.start_these(vec![id]);
    let servers: Vec<Servers> = room
        .cluster
        .servers_of_process(0)
        .into_iter()
        .map(apart)
        .collect();
    remove_moved_files(&room.client()).unwrap();
    servers.into_iter().for_each(|it| it.stop().unwrap());
}

/// The number of times that servers were asked to synchronize.
fn synchronizations(files: &FileSystem) -> u64 {
    let count = |server| {
        let asked = files.futago().run_blocking(async |client| {
            let (context, none) = (client.context(), Payload::empty());
            let sequence = context.next_sequence();
            let asked = context.call(server, sequence, Request::GetStatus, none);
            asked.await
        });
        let (Reply::Bytes(json), _) = asked.unwrap().unwrap() else {
            panic!("no status");
        };
        let status = serde_json::from_slice::<Status>(&json).unwrap();
        status.requests.get("synchronize").copied().unwrap_or(0)
    };
    (0..SERVERS as u16).map(ServerId).map(count).sum()
}

#[test]
fn fsync_waits_for_the_disk_and_close_does_not() {
    let room = Room::new(Sync::Process, 20.0);
    let servers = room.start();
    let files = room.client();
    let file = files.open(b"/file", NEW).unwrap();
    file.write_at(0, b"data".to_vec().into()).unwrap();
    file.close().unwrap();
    assert_eq!(synchronizations(&files), 0);
    let file = files.open(b"/file", NEW).unwrap();
    file.synchronize().unwrap();
    assert_eq!(synchronizations(&files), 1);
    servers.stop().unwrap();
}
