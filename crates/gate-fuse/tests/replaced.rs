//! Names that soon lead somewhere else, and directories that are gone while they are open.

mod fixture;

use fixture::Twins;
use rustix::fs::{self as raw, AtFlags, CWD, Mode, OFlags, RenameFlags, Timestamps, XattrFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// How often a path is used while others rename over its last name.
const ROUNDS: usize = 60;

/// Does something by path.
type Use = fn(&Path) -> rustix::io::Result<()>;

/// Operations that only need an existing name.
const USES: [(&str, Use); 9] = [
    ("stat", |path| raw::stat(path).map(drop)),
    ("lstat", |path| raw::lstat(path).map(drop)),
    ("open", |path| {
        let file = raw::open(path, OFlags::RDONLY, Mode::empty())?;
        let mut text = [0; 8];
        let read = rustix::io::read(&file, &mut text[..])?;
        assert_eq!(&text[..read], b"content");
        Ok(())
    }),
    ("create", |path| {
        raw::open(path, OFlags::RDWR | OFlags::CREATE, Mode::RUSR).map(drop)
    }),
    ("chmod", |path| raw::chmod(path, Mode::from_raw_mode(0o600))),
    ("utimens", |path| {
        let times = raw::statx(CWD, path, AtFlags::empty(), raw::StatxFlags::MTIME)?.stx_mtime;
        let time = raw::Timespec {
            tv_sec: times.tv_sec,
            tv_nsec: times.tv_nsec.into(),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        raw::utimensat(CWD, path, &times, AtFlags::empty())
    }),
    ("setxattr", |path| {
        raw::setxattr(path, "user.name", b"value", XattrFlags::empty())
    }),
    ("listxattr", |path| {
        raw::listxattr(path, &mut [0; 100][..]).map(drop)
    }),
    ("access", |path| raw::access(path, raw::Access::READ_OK)),
];

/// Uses `name` through one mount while another one renames over it.
fn use_beside_a_renamer((user, renamer): (usize, usize), replace: impl Fn(&Path)) {
    let Some(twins) = Twins::start() else { return };
    let (name, new) = (twins.path(renamer, "name"), twins.path(renamer, "new"));
    let renames = || {
        replace(&new);
        fs::rename(&new, &name).expect("renamed");
    };
    renames();
    let used = twins.path(user, "name");
    thread::scope(|scope| {
        let using = scope.spawn(|| USES.map(|(what, work)| (what, failures(&used, work))));
        while !using.is_finished() {
            renames();
        }
        let failed = using.join().expect("joined").into_iter();
        let failed: Vec<_> = failed.filter(|(_, errors)| !errors.is_empty()).collect();
        assert!(failed.is_empty(), "{user} {renamer} {failed:?}");
    });
}

fn failures(path: &Path, work: Use) -> Vec<Errno> {
    let results = (0..ROUNDS).map(|_| work(path));
    results.filter_map(Result::err).collect()
}

fn make_file(path: &Path) {
    fs::write(path, "content").expect("written");
}

#[test]
fn a_file_that_is_renamed_over_is_always_there() {
    for mounts in [(0, 1), (1, 0), (1, 1)] {
        use_beside_a_renamer(mounts, make_file);
    }
}

#[test]
fn a_symbolic_link_that_is_renamed_over_always_leads_somewhere() {
    for mounts in [(0, 1), (1, 0), (1, 1)] {
        use_beside_a_renamer(mounts, |new| {
            let target = new.with_file_name("target");
            if !target.exists() {
                make_file(&target);
            }
            symlink("target", new).expect("made");
        });
    }
}

/// Looks a name up without doing anything to what it leads to.
fn look_up(path: &Path) -> OwnedFd {
    raw::open(path, OFlags::PATH, Mode::empty()).expect("found")
}

/// Opens what was looked up, without another look.
fn open(found: &impl AsFd) -> Result<String, Errno> {
    let path = format!("/proc/self/fd/{}", found.as_fd().as_raw_fd());
    let file = raw::open(path, OFlags::RDONLY, Mode::empty())?;
    let mut text = String::new();
    File::from(file).read_to_string(&mut text).expect("read");
    Ok(text)
}

/// As a kernel does that walks a path again, which it does once only.
#[test]
fn a_thread_that_met_a_file_that_was_gone_does_not_meet_another_one() {
    let Some(twins) = Twins::start() else { return };
    for (user, renamer) in [(0, 1), (1, 0)] {
        let (name, new) = (twins.path(renamer, "name"), twins.path(renamer, "new"));
        let replace = |text: &str| {
            fs::write(&new, text).expect("written");
            fs::rename(&new, &name).expect("renamed");
        };
        let used = twins.path(user, "name");
        replace("first");
        let first = look_up(&used);
        replace("second");
        assert_eq!(open(&first), Err(Errno::STALE));
        let second = look_up(&used);
        replace("third");
        assert_eq!(open(&second).as_deref(), Ok("second"));
        let third = look_up(&used);
        replace("fourth");
        assert_eq!(open(&third), Err(Errno::STALE), "it was looked up once");
    }
}

/// A directory that a mount has open is removed, or replaced, through another one.
fn with_a_gone_directory(work: impl Fn(&File, &Path)) {
    type Remove = fn(&Path);
    let removes: [Remove; 2] = [
        |path| fs::remove_dir(path).expect("removed"),
        |path| {
            let new = path.with_extension("new");
            fs::create_dir(&new).expect("made");
            fs::rename(new, path).expect("replaced");
        },
    ];
    let Some(twins) = Twins::start() else { return };
    for (user, remover) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        for (number, remove) in removes.into_iter().enumerate() {
            let name = format!("{user}{remover}{number}");
            let path = twins.path(user, &name);
            fs::create_dir(&path).expect("made");
            fs::write(path.join("file"), "").expect("written");
            let open = File::open(&path).expect("open");
            fs::remove_file(twins.path(remover, &name).join("file")).expect("removed");
            remove(&twins.path(remover, &name));
            work(&open, &path);
        }
    }
}

#[test]
fn a_directory_that_is_gone_shows_its_attributes_and_takes_new_ones() {
    with_a_gone_directory(|open, path| {
        let before = open.metadata().expect("attributes");
        assert_eq!((before.nlink(), before.is_dir()), (0, true), "{path:?}");
        let mode = fs::Permissions::from_mode(0o700);
        open.set_permissions(mode).expect("changed");
        open.set_modified(before.created().expect("a time"))
            .expect("set back");
        raw::fchown(open, Some(rustix::fs::Uid::from_raw(7)), None).expect("changed");
        let after = open.metadata().expect("attributes");
        assert_eq!((after.mode() & 0o7777, after.uid()), (0o700, 7), "{path:?}");
        assert_eq!(after.modified().ok(), before.created().ok(), "{path:?}");
        assert!(after.ctime_nsec() != before.ctime_nsec() || after.ctime() > before.ctime());
    });
}

#[test]
fn a_directory_that_is_gone_has_no_names() {
    with_a_gone_directory(|open, path| {
        let mut listed = raw::Dir::read_from(open).expect("a directory");
        let names: Vec<_> = listed
            .by_ref()
            .map(|entry| entry.expect("a name"))
            .collect();
        assert!(names.is_empty(), "{path:?} {names:?}");
        let gone = |what, result: rustix::io::Result<()>| {
            assert_eq!(result, Err(Errno::NOENT), "{what} in {path:?}");
        };
        let name = path.with_file_name("beside");
        fs::write(&name, "").expect("written");
        gone(
            "stat",
            raw::statat(open, "file", AtFlags::empty()).map(drop),
        );
        gone(
            "open",
            raw::openat(open, "file", OFlags::RDONLY, Mode::empty()).map(drop),
        );
        gone(
            "create",
            raw::openat(open, "new", OFlags::CREATE | OFlags::RDWR, Mode::RUSR).map(drop),
        );
        gone("mkdir", raw::mkdirat(open, "new", Mode::RWXU));
        gone("symlink", raw::symlinkat("target", open, "new"));
        gone("unlink", raw::unlinkat(open, "file", AtFlags::empty()));
        gone("rmdir", raw::unlinkat(open, "file", AtFlags::REMOVEDIR));
        gone(
            "link",
            raw::linkat(CWD, &name, open, "new", AtFlags::empty()),
        );
        gone(
            "move in",
            raw::renameat_with(CWD, &name, open, "new", RenameFlags::empty()),
        );
        gone("move out", raw::renameat(open, "file", CWD, &name));
    });
}

/// A file that is open works whatever has become of its name.
#[test]
fn a_file_that_is_gone_is_used_as_before() {
    let Some(twins) = Twins::start() else { return };
    for (user, remover) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        let name = format!("{user}{remover}");
        fs::write(twins.path(user, &name), "content").expect("written");
        let open = File::options()
            .read(true)
            .write(true)
            .open(twins.path(user, &name));
        let open = open.expect("open");
        fs::remove_file(twins.path(remover, &name)).expect("removed");
        open.set_permissions(fs::Permissions::from_mode(0o640))
            .expect("changed");
        raw::fchown(&open, Some(rustix::fs::Uid::from_raw(7)), None).expect("changed");
        raw::fsetxattr(&open, "user.name", b"value", XattrFlags::empty()).expect("set");
        rustix::io::pwrite(&open, b"longer content", 0).expect("written");
        open.set_len(6).expect("cut");
        open.sync_all().expect("synchronized");
        let is = open.metadata().expect("attributes");
        assert_eq!(
            (is.nlink(), is.len(), is.uid(), is.mode() & 0o7777),
            (0, 6, 7, 0o640)
        );
        let mut text = [0; 20];
        let read = rustix::io::pread(&open, &mut text[..], 0).expect("read");
        assert_eq!(&text[..read], b"longer");
    }
}

/// Removes one tree through both mounts at once.
#[test]
fn two_mounts_remove_one_tree() {
    let Some(twins) = Twins::start() else { return };
    for round in 0..10 {
        let tree = format!("tree-{round}");
        for place in ["a/b/c", "a/d", "e/f", "g"] {
            let directory = twins.path(0, &tree).join(place);
            fs::create_dir_all(&directory).expect("made");
            for file in 0..10 {
                fs::write(directory.join(file.to_string()), "").expect("written");
            }
        }
        let removed: Vec<_> = thread::scope(|scope| {
            let remove = |mount| twins.path(mount, &tree);
            let removers = [0, 1, 1].map(remove).map(|path: PathBuf| {
                scope.spawn(|| Command::new("rm").arg("-rf").arg(path).output())
            });
            let ended = removers.into_iter().map(|it| it.join().expect("joined"));
            ended.map(|output| output.expect("started")).collect()
        });
        for output in removed {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("Stale"), "in round {round}: {said}");
        }
        assert!(!twins.path(0, &tree).exists());
    }
}
