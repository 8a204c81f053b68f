//! A mount that several threads serve: what one of them begins, another one may have to end.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::{Twins, client, let_signals_interrupt, unnamed};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// The mount with several threads, and the other one.
const MANY: usize = 1;
const ONE: usize = 0;
/// How often something is done: often enough for each thread to get each of its requests.
const ROUNDS: usize = 60;
/// Callers at once.
const CALLERS: usize = 4;
/// A file of several chunks.
const FILE_BYTES: usize = 40_000;

/// Waits until the servers have only so many files.
fn wait_for_files(twins: &Twins, files: u64) {
    let client = client(&twins.cluster);
    let count = || {
        let space = client.run_blocking(async |client| client.space().await);
        space.expect("a client").expect("servers").files
    };
    // A close tells the servers a little later.
    while count() > files {
        thread::yield_now();
    }
}

fn files(twins: &Twins) -> u64 {
    let space = client(&twins.cluster).run_blocking(async |client| client.space().await);
    space.expect("a client").expect("servers").files
}

fn write_and_read(file: &File, seed: usize) {
    let data: Vec<u8> = (0..FILE_BYTES).map(|byte| (byte * seed) as u8).collect();
    for (index, piece) in data.chunks(3000).enumerate() {
        let offset = index as u64 * 3000;
        file.write_all_at(piece, offset).expect("written");
    }
    let mut seen = vec![0; FILE_BYTES];
    file.read_exact_at(&mut seen, 0).expect("read");
    assert!(seen == data);
}

#[test]
fn files_that_are_removed_while_they_are_open_go_with_the_last_close() {
    let Some(twins) = Twins::start() else { return };
    let before = files(&twins);
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let name = twins.path(MANY, &format!("file-{caller}"));
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let file = File::options()
                        .read(true)
                        .write(true)
                        .create_new(true)
                        .open(&name);
                    let file = file.expect("made");
                    let again = File::open(&name).expect("open");
                    fs::remove_file(&name).expect("removed");
                    write_and_read(&file, round);
                    drop(file);
                    let mut text = Vec::new();
                    (&again).read_to_end(&mut text).expect("read");
                    assert_eq!(text.len(), FILE_BYTES);
                }
            });
        }
    });
    wait_for_files(&twins, before);
}

#[test]
fn files_without_a_name_go_with_the_last_close() {
    let Some(twins) = Twins::start() else { return };
    let before = files(&twins);
    for round in 0..ROUNDS {
        let Some(file) = unnamed(twins.points[MANY].path()) else {
            return println!("skipped: this kernel does not ask FUSE for O_TMPFILE");
        };
        write_and_read(&file, round);
    }
    wait_for_files(&twins, before);
}

/// Adds one to the number in the file; nobody must do the same at the same time.
fn count_up(file: &mut File) {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).expect("at the beginning");
    file.read_to_string(&mut text).expect("read");
    let number: usize = text.parse().expect("a number");
    file.seek(SeekFrom::Start(0)).expect("at the beginning");
    write!(file, "{}", number + 1).expect("written");
}

/// A way to lock and to unlock a whole file.
type Change = fn(&File) -> io::Result<()>;

fn lock_and_count(path: &Path, [lock, unlock]: [Change; 2]) {
    for round in 0..ROUNDS {
        let file = File::options().read(true).write(true).open(path);
        let mut file = file.expect("open");
        lock(&file).expect("locked");
        count_up(&mut file);
        // Every other time, closing gives the lock up.
        if round % 2 == 0 {
            unlock(&file).expect("unlocked");
        }
    }
}

fn count_side_by_side(changes: [Change; 2]) {
    let Some(twins) = Twins::start() else { return };
    fs::write(twins.path(ONE, "number"), "0").expect("written");
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let path = twins.path([MANY, ONE][caller % 2], "number");
            scope.spawn(move || lock_and_count(&path, changes));
        }
    });
    let number = fs::read_to_string(twins.path(ONE, "number")).expect("read");
    assert_eq!(number, (CALLERS * ROUNDS).to_string());
}

#[test]
fn a_lock_has_one_holder_whichever_thread_it_was_asked_of() {
    count_side_by_side([File::lock, File::unlock]);
}

#[test]
fn a_lock_on_a_range_of_an_open_file_has_one_holder_too() {
    count_side_by_side([
        |file| change_lock(file, libc::F_OFD_SETLKW, libc::F_WRLCK),
        |file| change_lock(file, libc::F_OFD_SETLK, libc::F_UNLCK),
    ]);
}

/// Takes the `fcntl` lock on a whole file without waiting.
fn try_range_lock(file: &File) -> io::Result<()> {
    change_lock(file, libc::F_SETLK, libc::F_WRLCK)
}

fn change_lock(file: &File, command: libc::c_int, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: the record is plain numbers, and the descriptor is open.
    let result = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = kind as libc::c_short;
        libc::fcntl(file.as_raw_fd(), command, &raw const lock)
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[test]
fn range_locks_are_gone_when_close_returns() {
    let Some(twins) = Twins::start() else { return };
    File::create(twins.path(ONE, "file")).expect("made");
    let open = |mount| {
        let file = File::options().write(true).open(twins.path(mount, "file"));
        file.expect("open")
    };
    for _ in 0..ROUNDS {
        let (held, refused) = (open(MANY), open(ONE));
        try_range_lock(&held).expect("locked");
        let error = try_range_lock(&refused).expect_err("somebody else has it");
        assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
        drop(held);
        try_range_lock(&refused).expect("locked");
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_lock_and_leaves_nobody_waiting() {
    let Some(twins) = Twins::start() else { return };
    let_signals_interrupt();
    let path = twins.path(MANY, "file");
    File::create(&path).expect("made");
    for _ in 0..ROUNDS {
        let holder = File::open(twins.path(ONE, "file")).expect("open");
        holder.lock().expect("locked");
        let waiter = File::open(&path).expect("open");
        assert_eq!(interrupted_wait(&waiter), Some(libc::EINTR));
        holder.unlock().expect("unlocked");
        // Had the wait gone on, the waiter would have it now.
        holder.lock().expect("locked again");
    }
}

/// Waits for a lock until a signal comes. Returns the error.
fn interrupted_wait(file: &File) -> Option<i32> {
    let file = file.try_clone().expect("the same open file");
    let (sender, receiver) = mpsc::channel();
    let waiting = thread::spawn(move || {
        // SAFETY: pthread_self has no preconditions.
        sender.send(unsafe { libc::pthread_self() }).expect("heard");
        // SAFETY: the descriptor is open.
        match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } {
            0 => None,
            _ => io::Error::last_os_error().raw_os_error(),
        }
    });
    let waiter = receiver.recv().expect("sent");
    while !waiting.is_finished() {
        // SAFETY: the thread has not been joined.
        unsafe { libc::pthread_kill(waiter, libc::SIGUSR1) };
        thread::yield_now();
    }
    waiting.join().expect("joined")
}
