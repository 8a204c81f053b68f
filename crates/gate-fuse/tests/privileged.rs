//! Tests for root: an overlay file system whose changes are on a mount, and programs' capabilities.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::Twins;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, StatxFlags, XattrFlags, renameat_with, statx,
};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use tempfile::TempDir;

/// Two mounts; `None`, with a word about why, where this cannot be tried.
fn start() -> Option<Twins> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: this is not root");
        return None;
    }
    Twins::start()
}

fn is_whiteout(path: &Path) -> bool {
    let metadata = fs::symlink_metadata(path).expect("attributes");
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

fn names(path: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path).expect("a listing");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    entries
        .map(|entry| name(entry).into_string().expect("text"))
        .collect()
}

#[test]
fn a_rename_leaves_a_whiteout_that_both_mounts_see() {
    let Some(twins) = start() else { return };
    for (one, other) in [(0, 1), (1, 0)] {
        let (from, to) = (format!("from{one}"), format!("to{one}"));
        fs::write(twins.path(one, &from), "text").expect("written");
        assert!(twins.path(other, &from).exists() && !twins.path(other, &to).exists());
        let (old, new) = (twins.path(one, &from), twins.path(one, &to));
        renameat_with(CWD, &old, CWD, &new, RenameFlags::WHITEOUT).expect("renamed");
        for mount in [one, other] {
            assert!(is_whiteout(&twins.path(mount, &from)), "{mount}");
            assert_eq!(fs::read(twins.path(mount, &to)).expect("read"), b"text");
        }
        let flags = RenameFlags::WHITEOUT | RenameFlags::NOREPLACE;
        let refused = renameat_with(CWD, &old, CWD, &new, flags);
        assert_eq!(refused, Err(Errno::EXIST));
    }
}

/// A mounted overlay file system.
struct Overlay(PathBuf);

impl Overlay {
    fn mount(point: &Path, lower: &Path, upper: &Path, work: &Path) -> io::Result<Self> {
        let (lower, upper, work) = (lower.display(), upper.display(), work.display());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let (options, target) = (CString::new(options)?, c_path(point));
        // SAFETY: all are C strings that outlive the call.
        let mounted = unsafe {
            let kind = c"overlay".as_ptr();
            libc::mount(kind, target.as_ptr(), kind, 0, options.as_ptr().cast())
        };
        if mounted == 0 {
            Ok(Self(point.to_owned()))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let target = c_path(&self.0);
        // SAFETY: the path is a C string that outlives the call.
        unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("a path")
}

const OVERLAY_ROUNDS: usize = 10;

/// The lower directory of the overlay.
fn lower() -> TempDir {
    let lower = TempDir::new().expect("folder");
    for name in ["changed", "moved", "removed"] {
        fs::write(lower.path().join(name), "below").expect("written");
    }
    fs::create_dir(lower.path().join("d")).expect("made");
    fs::write(lower.path().join("d/inside"), "below").expect("written");
    lower
}

fn change_overlay(overlay: &Overlay) {
    let mut changed = File::options()
        .append(true)
        .open(overlay.path("changed"))
        .expect("open");
    changed.write_all(b" and above").expect("written");
    fs::rename(overlay.path("moved"), overlay.path("d/moved")).expect("renamed");
    fs::remove_file(overlay.path("removed")).expect("removed");
    fs::remove_file(overlay.path("d/inside")).expect("removed");
    fs::write(overlay.path("new"), "above").expect("written");
    let unnamed = rustix::fs::open(&overlay.0, OFlags::TMPFILE | OFlags::RDWR, Mode::RUSR);
    assert!(unnamed.is_ok(), "{unnamed:?}");
}

fn check_overlay(overlay: &Overlay) {
    let text = |name| fs::read_to_string(overlay.path(name)).expect("read");
    assert_eq!(text("changed"), "below and above");
    assert_eq!(
        (text("d/moved"), text("new")),
        ("below".into(), "above".into())
    );
    let expected = ["changed", "d", "new"].map(String::from);
    assert_eq!(names(&overlay.0), BTreeSet::from(expected));
    assert_eq!(names(&overlay.path("d")), BTreeSet::from(["moved".into()]));
}

#[test]
fn an_overlay_file_system_keeps_its_changes_on_a_mount() {
    let Some(twins) = start() else { return };
    let (point, lower) = (TempDir::new().expect("folder"), lower());
    let (upper, work) = (twins.path(0, "upper"), twins.path(0, "work"));
    for directory in [&upper, &work] {
        fs::create_dir(directory).expect("made");
    }
    for is_first in [true, false] {
        let overlay = match Overlay::mount(point.path(), lower.path(), &upper, &work) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                return println!("skipped: this kernel has no overlay file system");
            }
            overlay => overlay.expect("an overlay"),
        };
        if is_first {
            change_overlay(&overlay);
        }
        check_overlay(&overlay);
    }
    for name in ["upper/removed", "upper/moved", "upper/d/inside"] {
        assert!(is_whiteout(&twins.path(1, name)), "{name}");
    }
}

fn use_overlays(root: &Path, lower: &Path, user: usize) {
    let [point, upper, work] =
        ["point", "upper", "work"].map(|name| root.join(format!("{name}{user}")));
    for _ in 0..OVERLAY_ROUNDS {
        for directory in [&point, &upper, &work] {
            fs::create_dir(directory).expect("made");
        }
        let overlay = match Overlay::mount(&point, lower, &upper, &work) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                return println!("skipped: this kernel has no overlay file system");
            }
            overlay => overlay.expect("an overlay"),
        };
        change_overlay(&overlay);
        check_overlay(&overlay);
        drop(overlay);
        for directory in [&point, &upper, &work] {
            fs::remove_dir_all(directory).expect("removed");
        }
    }
}

/// The kernel drops mounts on directories whose names become invalid. An overlay file system holds
/// locks of directories while it asks for their attributes.
#[test]
fn overlays_on_directories_of_a_mount_stay_mounted() {
    let Some(twins) = start() else { return };
    let lower = lower();
    thread::scope(|scope| {
        for user in 0..3 {
            let (root, lower) = (twins.points[0].path(), lower.path());
            scope.spawn(move || use_overlays(root, lower, user));
        }
    });
}

const CAPABILITY: &str = "security.capability";

/// Sets the attribute of `setcap cap_net_bind_service=ep`.
fn give_capabilities(path: &Path) {
    let mut value = [0; 20];
    value[..6].copy_from_slice(&[1, 0, 0, 2, 0, 4]);
    rustix::fs::setxattr(path, CAPABILITY, &value, XattrFlags::empty()).expect("set");
}

fn has_capabilities(path: &Path) -> bool {
    match rustix::fs::getxattr(path, CAPABILITY, &mut [0; 64]) {
        Ok(length) => length == 20,
        Err(Errno::NODATA) => false,
        Err(errno) => panic!("{errno}"),
    }
}

#[test]
fn a_program_loses_its_capabilities_with_every_change() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("write", |path| {
            let file = File::options().write(true).open(path).expect("open");
            file.write_all_at(b"x", 1).expect("written");
        }),
        ("append", |path| {
            let file = File::options().append(true).open(path);
            file.expect("open").write_all(b"x").expect("written");
        }),
        ("cut", |path| {
            let file = File::options().write(true).open(path).expect("open");
            file.set_len(2).expect("cut");
        }),
        ("replaced", |path| fs::write(path, "x").expect("written")),
        ("owner", |path| chown(path, Some(7), None).expect("given")),
    ];
    let Some(twins) = start() else { return };
    for (what, change) in changes {
        for mount in [0, 1] {
            let path = twins.path(0, what);
            fs::write(&path, "program").expect("written");
            give_capabilities(&path);
            assert!(has_capabilities(&twins.path(1, what)), "{what}");
            change(&twins.path(mount, what));
            for looks in [0, 1] {
                let path = twins.path(looks, what);
                assert!(!has_capabilities(&path), "{what} {mount} {looks}");
            }
        }
    }
}

/// The mount keeps the later ones of several small writes.
#[test]
fn a_write_that_a_mount_keeps_takes_capabilities_away() {
    let Some(twins) = start() else { return };
    for looks in [0, 1] {
        let path = twins.path(0, "file");
        let file = File::create(&path).expect("made");
        let write = |count: u64| (0..count).try_for_each(|at| file.write_all_at(b"x", at));
        write(8).expect("written");
        give_capabilities(&path);
        assert!(has_capabilities(&twins.path(looks, "file")));
        write(8).expect("written");
        assert!(!has_capabilities(&twins.path(looks, "file")), "{looks}");
    }
}

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

/// Has another user than root change a file.
fn as_nobody(script: &str, path: &Path) {
    let changed = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(path)
        .uid(NOBODY)
        .gid(NOBODY)
        .status();
    assert!(changed.expect("a shell").success(), "{script}");
}

#[test]
fn set_user_id_bits_go_with_every_change_of_data_by_others() {
    let Some(twins) = start() else { return };
    for mount in [0, 1] {
        let open = Permissions::from_mode(0o777);
        fs::set_permissions(twins.points[mount].path(), open).expect("an open directory");
    }
    let changes = [
        r#"printf text | dd conv=notrunc of="$1" status=none"#,
        r#"printf text >> "$1""#,
        r#"printf text > "$1""#,
        r#": > "$1""#,
        r#"fallocate --length 20000 "$1""#,
        r#"fallocate --punch-hole --length 4096 "$1""#,
        r#"truncate --size 10 "$1""#,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let name = format!("program{number}");
        let path = twins.path(0, &name);
        fs::write(&path, vec![1; 10_000]).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o6777)).expect("a mode");
        let mode = |mount| mode_alone(&twins.path(mount, &name));
        // The other mount does not know the file yet, or its lease would be called back, and so
        // this one's.
        assert_eq!(mode(0), 0o6777);
        as_nobody(change, &path);
        assert_eq!((mode(0), mode(1)), (0o777, 0o777), "{change}");
    }
}

/// A file's mode as the kernel tells it to those who ask for nothing else: it may know the mode
/// when it has to ask for size and times.
fn mode_alone(path: &Path) -> u32 {
    let (flags, mask) = (AtFlags::empty(), StatxFlags::MODE);
    let found = statx(CWD, path, flags, mask).expect("a file");
    u32::from(found.stx_mode) & 0o7777
}
