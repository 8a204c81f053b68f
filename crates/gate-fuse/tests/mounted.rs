//! Two mounts of one cluster of four servers, used through system calls.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::{Twins, client, unnamed};
use futago_gate_fuse::{MountFailure, Options, mount};
use rustix::fs::{RawDir, SeekFrom};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

#[test]
fn what_one_mount_changes_the_other_sees_at_once() {
    let Some(twins) = Twins::start() else { return };
    let (one, other) = (twins.path(0, "file"), twins.path(1, "file"));
    let data: Vec<u8> = (0..100_000_u32).map(|index| (index % 251) as u8).collect();
    fs::write(&one, &data).expect("written");
    assert!(fs::read(&other).expect("read") == data);
    File::options()
        .write(true)
        .open(&other)
        .expect("open")
        .set_len(5)
        .expect("cut");
    assert_eq!(fs::read(&one).expect("read"), &data[..5]);
    fs::create_dir(twins.path(1, "directory")).expect("made");
    fs::rename(&one, twins.path(0, "directory/moved")).expect("renamed");
    assert_eq!(
        fs::metadata(&other).expect_err("gone").kind(),
        io::ErrorKind::NotFound
    );
    assert_eq!(
        fs::read(twins.path(1, "directory/moved")).expect("read"),
        &data[..5]
    );
}

/// Both in one chunk and in several, with pages that the kernel of the reader has, and although
/// nothing but the data and the change time tells of it.
#[test]
fn what_is_read_again_is_what_was_written_last() {
    let Some(twins) = Twins::start() else { return };
    for (reader, writer) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        for length in [4000, 40_000] {
            let name = format!("{reader}{writer}{length}");
            let (read, written) = (twins.path(reader, &name), twins.path(writer, &name));
            fs::write(&read, vec![0; length]).expect("written");
            let reads = File::open(&read).expect("open");
            let writes = OpenOptions::new().write(true).open(&written);
            let writes = writes.expect("open");
            let time = writes.metadata().expect("attributes").modified();
            let time = time.expect("a time");
            for round in 1..20 {
                let mut seen = vec![0; length];
                for _ in 0..2 {
                    reads.read_exact_at(&mut seen, 0).expect("read");
                }
                assert!(seen == vec![round - 1; length], "{name} {round}");
                writes.write_all_at(&vec![round; length], 0).expect("write");
                writes.set_modified(time).expect("set back");
            }
        }
    }
}

/// A mount keeps small writes; every reader, in every way, finds them.
#[test]
fn what_a_mount_keeps_of_its_writes_everybody_finds() {
    const PIECE: &[u8] = b"a piece of the file";
    const PIECES: usize = 20;
    let Some(twins) = Twins::start() else { return };
    let whole = || PIECE.repeat(PIECES);
    type Look = fn(&Path, &File) -> Vec<u8>;
    let looks: [(&str, Look); 5] = [
        ("read", |path, _| fs::read(path).expect("read")),
        ("size", |path, _| {
            let size = fs::metadata(path).expect("attributes").len();
            assert_eq!(size, (PIECE.len() * PIECES) as u64);
            fs::read(path).expect("read")
        }),
        ("list", |path, _| {
            let directory = fs::read_dir(path.parent().expect("a directory"));
            let mut sizes = directory.expect("list").map(|entry| {
                let entry = entry.expect("entry");
                (entry.path() == path).then(|| entry.metadata().expect("attributes").len())
            });
            assert_eq!(
                sizes.find_map(|size| size),
                Some((PIECE.len() * PIECES) as u64)
            );
            fs::read(path).expect("read")
        }),
        ("same", |_, file| {
            let mut seen = vec![0; PIECE.len() * PIECES];
            file.read_exact_at(&mut seen, 0).expect("read");
            seen
        }),
        ("moved", |path, _| {
            let moved = path.with_extension("moved");
            fs::rename(path, &moved).expect("moved");
            fs::read(moved).expect("read")
        }),
    ];
    for (name, look) in looks {
        for mount in [0, 1] {
            let name = format!("{name}{mount}");
            let open = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(twins.path(0, &name));
            let file = open.expect("made");
            for piece in 0..PIECES {
                let at = (piece * PIECE.len()) as u64;
                file.write_all_at(PIECE, at).expect("written");
            }
            assert!(look(&twins.path(mount, &name), &file) == whole(), "{name}");
            file.sync_all().expect("synchronized");
        }
    }
}

/// Mount 1 has looked at `from/d`, mount 0 moves it, and mount 1 moves it on without a look.
#[test]
fn a_directory_that_the_other_mount_has_moved_is_moved_on() {
    let Some(twins) = Twins::start() else { return };
    for name in ["from", "to", "from/d", "from/d/e"] {
        fs::create_dir(twins.path(0, name)).expect("made");
    }
    let number = fs::metadata(twins.path(1, "from/d")).expect("there").ino();
    fs::rename(twins.path(0, "from/d"), twins.path(0, "to/d")).expect("moved");
    fs::rename(twins.path(1, "to/d"), twins.path(1, "from/again")).expect("moved on");
    for mount in [0, 1] {
        let moved = fs::metadata(twins.path(mount, "from/again")).expect("there");
        assert_eq!(moved.ino(), number, "through mount {mount}");
        assert!(twins.path(mount, "from/again/e").is_dir());
        assert!(!twins.path(mount, "to/d").exists());
    }
}

/// A process works in a directory that the other mount moves, into one that was below it before.
#[test]
fn a_directory_in_use_stays_usable_when_the_other_mount_moves_it() {
    let Some(twins) = Twins::start() else { return };
    fs::create_dir_all(twins.path(0, "top/middle/low")).expect("made");
    let inside = File::open(twins.path(1, "top/middle")).expect("open");
    let within = |name: &str| PathBuf::from(format!("/proc/self/fd/{}/{name}", inside.as_raw_fd()));
    fs::rename(twins.path(0, "top/middle/low"), twins.path(0, "low")).expect("moved");
    fs::rename(twins.path(0, "top"), twins.path(0, "low/top")).expect("moved");
    fs::write(within("file"), b"made where it is now").expect("written");
    let seen = fs::read(twins.path(0, "low/top/middle/file")).expect("read");
    assert_eq!(seen, b"made where it is now");
    let here = fs::read_dir(twins.path(1, "low/top/middle")).expect("list");
    let names: Vec<_> = here
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    assert_eq!(names, ["file"]);
    assert!(!within("low").exists());
    fs::rename(within("file"), twins.path(1, "low/file")).expect("moved out");
    assert!(twins.path(0, "low/file").exists());
}

/// Mount 1 moves the directory above one that is open through mount 0, and that is looked at by its
/// new path, too.
#[test]
fn a_directory_that_a_mount_knows_in_two_places_is_one() {
    let Some(twins) = Twins::start() else { return };
    fs::create_dir_all(twins.path(0, "top/low")).expect("made");
    let held = File::open(twins.path(0, "top/low")).expect("open");
    File::create(twins.path(0, "top/low/old")).expect("made");
    fs::rename(twins.path(1, "top"), twins.path(1, "moved")).expect("moved");
    let within = PathBuf::from(format!("/proc/self/fd/{}/.", held.as_raw_fd()));
    let again = twins.path(0, "moved/low");
    for _ in 0..2 {
        for (one, other) in [(&within, &again), (&again, &within)] {
            let exists = |name| fs::exists(other.join(name)).expect("looked at");
            let links = || fs::metadata(other).expect("attributes").nlink();
            let listed = || fs::read_dir(other).expect("list").count();
            assert_eq!((exists("old"), exists("new")), (true, false));
            assert_eq!((links(), listed()), (2, 1));
            fs::rename(one.join("old"), one.join("new")).expect("renamed");
            fs::create_dir(one.join("directory")).expect("made");
            assert_eq!((exists("old"), exists("new")), (false, true));
            assert_eq!((links(), listed()), (3, 2));
            fs::rename(one.join("new"), one.join("old")).expect("renamed");
            fs::remove_dir(one.join("directory")).expect("removed");
        }
    }
}

#[test]
fn an_open_file_outlives_its_name_that_the_other_mount_removes() {
    let Some(twins) = Twins::start() else { return };
    fs::write(twins.path(0, "file"), b"still here").expect("written");
    let open = File::open(twins.path(0, "file")).expect("open");
    fs::remove_file(twins.path(1, "file")).expect("removed");
    let mut data = [0; 10];
    open.read_exact_at(&mut data, 0).expect("read");
    assert_eq!(
        (&data, open.metadata().expect("metadata").nlink()),
        (b"still here", 0)
    );
}

/// The home of a file need not know that it is open, but hears of it before the last name goes,
/// through any client and in any way.
#[test]
fn an_open_file_outlives_its_name_through_any_client() {
    type Remove = fn(&Path, &Path) -> io::Result<()>;
    let unlink: Remove = |path, _| fs::remove_file(path);
    let replace: Remove =
        |path, beside| fs::write(beside, b"new").and_then(|()| fs::rename(beside, path));
    let Some(twins) = Twins::start() else { return };
    for (index, (opener, remover)) in [(0, 1), (1, 0), (0, 0), (1, 1)].into_iter().enumerate() {
        for (number, remove) in [unlink, replace].into_iter().enumerate() {
            let name = format!("file-{index}-{number}");
            let (path, beside) = (twins.path(remover, &name), twins.path(remover, "beside"));
            let mut made = File::create_new(twins.path(opener, &name)).expect("made");
            made.write_all(b"still here").expect("written");
            let opened = || File::open(twins.path(opener, &name)).expect("open");
            let (first, second) = (opened(), opened());
            drop((made, first));
            remove(&path, &beside).expect("removed");
            let mut data = [0; 10];
            second.read_exact_at(&mut data, 0).expect("read");
            assert_eq!(&data, b"still here", "{name}");
            assert_eq!(second.metadata().expect("metadata").nlink(), 0, "{name}");
        }
    }
}

#[test]
fn appends_through_two_mounts_never_overlap() {
    let Some(twins) = Twins::start() else { return };
    let mut ends: Vec<File> = (0..2)
        .map(|mount| {
            let options = OpenOptions::new().append(true).create(true).clone();
            options.open(twins.path(mount, "log")).expect("open")
        })
        .collect();
    for _ in 0..100 {
        ends[0].write_all(b"one line\n").expect("appended");
        ends[1].write_all(b"the other\n").expect("appended");
    }
    let text = fs::read_to_string(twins.path(0, "log")).expect("read");
    assert_eq!(text, "one line\nthe other\n".repeat(100));
}

/// The kernel knows the size if it has asked for it since others have changed it.
#[test]
fn the_position_after_an_append_is_the_end_that_was_looked_at() {
    let Some(twins) = Twins::start() else { return };
    type Ask = fn(&mut File) -> u64;
    let asks: [Ask; 2] = [
        |file| file.metadata().expect("attributes").len(),
        |file| file.seek(io::SeekFrom::End(0)).expect("the end"),
    ];
    for (number, ask) in asks.into_iter().enumerate() {
        let name = format!("log-{number}");
        let open = |mount| {
            let mut log = OpenOptions::new();
            log.append(true).create(true).open(twins.path(mount, &name))
        };
        let (mut own, mut other) = (open(0).expect("open"), open(1).expect("open"));
        own.write_all(&[1; 1000]).expect("appended");
        other.set_len(0).expect("cut");
        for expected in [10, 30] {
            assert_eq!(ask(&mut own), expected - 10);
            own.write_all(&[1; 10]).expect("appended");
            assert_eq!(own.stream_position().expect("a position"), expected);
            other.write_all(&[1; 10]).expect("appended");
        }
    }
}

#[test]
fn a_file_without_a_name_gets_one() {
    let Some(twins) = Twins::start() else { return };
    let Some(mut file) = unnamed(twins.points[0].path()) else {
        return println!("skipped: this kernel does not ask FUSE for O_TMPFILE");
    };
    file.write_all(b"content").expect("written");
    assert_eq!(
        fs::read_dir(twins.points[1].path()).expect("list").count(),
        0
    );
    let (from, to) = (
        format!("/proc/self/fd/{}\0", file.as_raw_fd()),
        twins.path(0, "named\0"),
    );
    let to = to.to_str().expect("text");
    // SAFETY: both paths end with NUL and outlive the call.
    let linked = unsafe {
        let follow = libc::AT_SYMLINK_FOLLOW;
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr().cast(),
            libc::AT_FDCWD,
            to.as_ptr().cast(),
            follow,
        )
    };
    assert_eq!(linked, 0, "{}", io::Error::last_os_error());
    assert_eq!(fs::read(twins.path(1, "named")).expect("read"), b"content");
}

#[test]
fn a_listing_has_every_name_once() {
    let Some(twins) = Twins::start() else { return };
    let mut names: Vec<String> = (0..1500).map(|number| format!("name-{number}")).collect();
    for name in &names {
        File::create(twins.path(0, name)).expect("made");
    }
    let entries = fs::read_dir(twins.points[1].path()).expect("list");
    let mut listed: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.sort();
    listed.sort();
    assert!(listed == names);
}

/// Names of a directory that is open, listed from the start.
fn names(directory: &File) -> BTreeSet<String> {
    let mut listed =
        rustix::fs::Dir::new(directory.try_clone().expect("a descriptor")).expect("a directory");
    listed.rewind();
    let names = listed.map(|entry| {
        entry
            .expect("entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    names.filter(|name| name != "." && name != "..").collect()
}

/// Although mounts keep listings, and nothing but the change time tells of what has happened.
#[test]
fn what_is_listed_again_is_what_is_there() {
    let Some(twins) = Twins::start() else { return };
    for (reader, writer) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        for round in 0..8 {
            let name = format!("{reader}{writer}{round}");
            let (read, written) = (twins.path(reader, &name), twins.path(writer, &name));
            fs::create_dir(&read).expect("made");
            File::create(read.join("first")).expect("made");
            let time = fs::metadata(&read).expect("attributes").modified();
            let time = time.expect("a time");
            let open = File::open(&read).expect("open");
            let mut expected = BTreeSet::from([String::from("first")]);
            for change in 0..4 {
                for _ in 0..2 {
                    assert_eq!(names(&open), expected, "{name} {change}");
                    let anew = File::open(&read).expect("open");
                    assert_eq!(names(&anew), expected, "{name} {change}");
                }
                let file = format!("file-{}", change / 2);
                if expected.insert(file.clone()) {
                    File::create(written.join(&file)).expect("made");
                } else {
                    fs::remove_file(written.join(&file)).expect("removed");
                    expected.remove(&file);
                }
                let directory = File::open(&written).expect("open");
                directory.set_modified(time).expect("set back");
                let is_there = fs::exists(read.join(&file)).expect("looked up");
                assert_eq!(is_there, expected.contains(&file), "{name} {change}");
            }
        }
    }
}

/// Names of a directory from a place on, each with the place after it.
fn names_from(directory: &File, place: u64) -> Vec<(String, u64)> {
    rustix::fs::seek(directory, SeekFrom::Start(place)).expect("a place");
    let mut room = Vec::with_capacity(4096);
    let mut listed = RawDir::new(directory, room.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = listed.next() {
        let entry = entry.expect("entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        names.push((name, entry.next_entry_cookie()));
    }
    names
}

/// As a server does that hands a mount on: who goes on somewhere in a listing asks for no
/// attributes before.
#[test]
fn who_goes_on_with_a_listing_finds_what_is_there() {
    let Some(twins) = Twins::start() else { return };
    for (reader, writer) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        let name = format!("{reader}{writer}");
        let (read, written) = (twins.path(reader, &name), twins.path(writer, &name));
        fs::create_dir(&read).expect("made");
        let open = || File::open(&read).expect("open");
        let from_the_start = open();
        for number in 0..4 {
            File::create(read.join(format!("first-{number}"))).expect("made");
        }
        let places_of = |all: Vec<(String, u64)>| all.into_iter().map(|(_, after)| after).collect();
        let mut places: Vec<u64> = places_of(names_from(&open(), 0));
        for round in 0..8 {
            File::create(written.join(format!("file-{round}"))).expect("made");
            let held = places
                .iter()
                .rev()
                .map(|&place| names_from(&from_the_start, place));
            let held: Vec<_> = held.collect();
            let anew = places.iter().rev().map(|&place| names_from(&open(), place));
            assert_eq!(held, anew.collect::<Vec<_>>(), "{name} {round}");
            let all = names_from(&open(), 0);
            assert_eq!(all.len(), round + 7, "{name}");
            for (place, mut rest) in places.iter().rev().zip(held) {
                let before = all.iter().filter(|(_, after)| after <= place);
                rest.splice(0..0, before.cloned());
                assert_eq!(rest, all, "{name} {round} {place}");
            }
            places = places_of(all);
        }
    }
}

/// Although kernels keep that a name does not exist.
#[test]
fn what_a_mount_makes_everybody_finds_who_has_looked_for_it() {
    type Make = fn(&Path, &Path) -> io::Result<()>;
    let makes: [(&str, Make); 5] = [
        ("file", |path, _| File::create_new(path).map(drop)),
        ("directory", |path, _| fs::create_dir(path)),
        ("symlink", |path, _| std::os::unix::fs::symlink("t", path)),
        ("link", |path, beside| fs::hard_link(beside, path)),
        ("rename", |path, beside| fs::rename(beside, path)),
    ];
    let Some(twins) = Twins::start() else { return };
    for (looker, maker) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        for (how, make) in makes {
            let place = format!("{looker}{maker}{how}");
            fs::create_dir(twins.path(looker, &place)).expect("made");
            let beside = twins.path(maker, &place).join("beside");
            for round in 0..4 {
                let name = format!("name-{round}");
                let looked = twins.path(looker, &place).join(&name);
                let is_there = || fs::symlink_metadata(&looked).is_ok();
                assert!(!is_there() && !is_there(), "{place} {round}");
                fs::write(&beside, b"").expect("written");
                make(&twins.path(maker, &place).join(&name), &beside).expect("made");
                assert!(is_there() && is_there(), "{place} {round}");
            }
        }
    }
}

#[test]
fn a_directory_is_mounted_on_once() {
    let Some(twins) = Twins::start() else { return };
    let client = client(&twins.cluster);
    let again = mount(client, twins.points[0].path(), &Options::default());
    assert!(matches!(again, Err(MountFailure::Busy { .. })), "{again:?}");
}

/// The servers end while a thread waits for a lock that the other mount holds.
#[test]
fn a_signal_ends_the_wait_for_a_lock_at_a_server_that_is_gone() {
    let Some(mut twins) = Twins::start() else {
        return;
    };
    let holder = File::create(twins.path(0, "file")).expect("made");
    holder.lock().expect("locked");
    let waiter = File::open(twins.path(1, "file")).expect("open");
    fixture::let_signals_interrupt();
    let servers = twins.servers.take().expect("servers");
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        // SAFETY: pthread_self has no preconditions.
        sender.send(unsafe { libc::pthread_self() }).expect("heard");
        // SAFETY: the descriptor is open.
        match unsafe { libc::flock(waiter.as_raw_fd(), libc::LOCK_EX) } {
            0 => None,
            _ => io::Error::last_os_error().raw_os_error(),
        }
    });
    let thread = receiver.recv().expect("sent");
    servers.stop().expect("stopped");
    while !waiting.is_finished() {
        // SAFETY: the thread has not been joined.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
        std::thread::yield_now();
    }
    assert_eq!(waiting.join().expect("joined"), Some(libc::EINTR));
}
