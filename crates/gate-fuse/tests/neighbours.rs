//! Names that nobody touches, beside others that are changed.

mod fixture;

use fixture::hold::{do_with, hold, let_go, make_file, name, until_asked_for};
use fixture::{Twins, client};
use futago_base::FileId;
use std::env;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// How often a process asks where it works.
const ROUNDS: usize = 2_000;

/// Where a process's open directory is, as the kernel says.
fn place(directory: &File) -> String {
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    fs::read_link(link).expect("a place").display().to_string()
}

/// Another client changes a directory; while a directory in it is looked up again, who has it open
/// still finds it there.
#[test]
fn a_directory_in_use_keeps_its_place_while_it_is_looked_up_again() {
    let Some(twins) = Twins::start() else { return };
    let path = twins.path(0, "g");
    fs::create_dir(&path).expect("made");
    let used = File::open(&path).expect("open");
    let id = FileId(used.metadata().expect("attributes").ino());
    let other = client(&twins.cluster);
    let held = do_with(&other, async |client| {
        make_file(client, FileId::ROOT, &name("new")).await;
        hold(client, id).await
    });
    thread::scope(|scope| {
        let sought = scope.spawn(|| fs::metadata(&path));
        do_with(&other, async |client| until_asked_for(client, id).await);
        assert_eq!(place(&used), path.display().to_string());
        do_with(&other, async |client| let_go(client, id, held).await);
        sought.join().expect("joined").expect("there");
    });
}

/// Has this thread alone work in a directory and ask where that is.
fn work_in(directory: &Path, is_done: &AtomicBool) {
    // SAFETY: it concerns this thread alone.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_FS) }, 0);
    env::set_current_dir(directory).expect("there");
    let asked = (0..ROUNDS).map(|_| env::current_dir());
    let failed = asked.filter(|place| place.as_deref().ok() != Some(directory));
    let failed = failed.count();
    is_done.store(true, Ordering::Relaxed);
    assert_eq!(failed, 0, "of {ROUNDS}");
}

/// Moves a file to and fro between two directories.
fn move_files([one, other]: &[PathBuf; 2], is_done: &AtomicBool) {
    while !is_done.load(Ordering::Relaxed) {
        fs::rename(one, other).expect("moved");
        fs::rename(other, one).expect("moved back");
    }
}

fn work_beside_a_mover(mover: usize) {
    let Some(twins) = Twins::start() else { return };
    let work = twins.path(0, "g/0/m");
    fs::create_dir_all(&work).expect("made");
    File::create(twins.path(0, "g/0/file")).expect("made");
    let places = ["g/0/file", "g/file"].map(|name| twins.path(mover, name));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| move_files(&places, &is_done));
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    fs::metadata(&work).expect("there");
                }
            });
        }
        scope.spawn(|| work_in(&work, &is_done));
    });
}

#[test]
fn a_working_directory_keeps_its_place_beside_a_busy_neighbour() {
    work_beside_a_mover(0);
}

#[test]
fn a_working_directory_keeps_its_place_beside_another_mount() {
    work_beside_a_mover(1);
}

/// A name is moved to a directory on which its mount has no lease, and replaced there by another
/// client.
#[test]
fn a_moved_name_is_not_found_in_its_new_place_once_it_was_moved_on() {
    let Some(twins) = Twins::start() else { return };
    let (moved, other) = (twins.path(0, "private/file"), twins.path(1, "other"));
    fs::create_dir(twins.path(0, "private")).expect("made");
    for round in 0..100 {
        let place = |mount| twins.path(mount, &round.to_string());
        fs::write(&moved, "first").expect("written");
        fs::write(&other, "second").expect("written");
        fs::rename(&moved, place(0)).expect("moved");
        fs::rename(place(1), twins.path(1, "moved on")).expect("moved on");
        fs::rename(&other, place(1)).expect("replaced");
        let found = fs::read_to_string(place(0)).expect("read");
        assert_eq!(found, "second", "in round {round}");
    }
}
