//! A mount whose threads change places: one looks for the requests of a single caller, the others
//! sleep until several callers ask.

mod fixture;

use fixture::{can_mount, start_servers};
use futago_gate_fuse::{KernelCaches, Options, UnmountMode, mount};
use futago_node::Futago;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;

/// How often they change places and back.
const ROUNDS: usize = 20;
/// How many threads sleep until requests come.
const WORKERS: usize = 2;

/// Whether a thread of this process sleeps until requests come.
fn has_workers() -> bool {
    let threads = fs::read_dir("/proc/self/task").expect("threads");
    let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm"));
    let mut names = threads.map_while(Result::ok).flat_map(name);
    names.any(|name| name.starts_with("futago-mount-"))
}

/// Asks something that needs no server.
fn ask(directory: &Path) {
    File::open(directory.join("file")).expect("open");
}

/// Several callers ask until workers answer them.
fn have_workers_started(directory: &Path) {
    let are_called = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !are_called.load(Ordering::Relaxed) {
                    ask(directory);
                }
            });
        }
        while !has_workers() {
            thread::yield_now();
        }
        are_called.store(true, Ordering::Relaxed);
    });
}

#[test]
fn threads_sleep_for_several_callers_and_one_looks_for_a_single_one() {
    if !can_mount() {
        return;
    }
    let (sockets, point) = (
        TempDir::new().expect("folder"),
        TempDir::new().expect("folder"),
    );
    let (cluster, _servers) = start_servers(sockets.path());
    let caches = KernelCaches::default();
    let options = Options {
        threads: 1 + WORKERS,
        caches: Some(caches.clone()),
        ..Options::default()
    };
    let client =
        Futago::connect(&cluster, caches.with_leases(Default::default())).expect("a client");
    let mounted = mount(client, point.path(), &options).expect("a mount");
    File::create(point.path().join("file")).expect("made");
    assert!(!has_workers());
    for _ in 0..ROUNDS {
        have_workers_started(point.path());
        while has_workers() {
            ask(point.path());
        }
    }
    have_workers_started(point.path());
    mounted.unmount(UnmountMode::Lazy).expect("unmounted");
}
