//! Two mounts of one cluster of four servers, used through system calls.

mod loopback;

use futago_gate_fuse::{MountFailure, Mounted, Options, UnmountMode, mount};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Small chunks, so that files of a few pages lie on all servers.
const CHUNK_BYTES: u32 = 4096;

struct Twins {
    mounted: Vec<Mounted>,
    points: Vec<TempDir>,
}

impl Twins {
    /// Two mounts; `None`, with a word about why, where nothing can be mounted.
    fn start() -> Option<Self> {
        if File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .is_err()
        {
            println!("skipped: /dev/fuse is missing or closed to this user");
            return None;
        }
        let points: Vec<TempDir> = (0..2).map(|_| TempDir::new().expect("folder")).collect();
        let mounted = loopback::start(4, 2, CHUNK_BYTES)
            .into_iter()
            .zip(&points)
            .map(|(client, point)| mount(client, point.path(), &Options::default()))
            .collect::<Result<_, _>>()
            .expect("mounts");
        Some(Self { mounted, points })
    }

    fn path(&self, mount: usize, name: &str) -> PathBuf {
        self.points[mount].path().join(name)
    }
}

impl Drop for Twins {
    fn drop(&mut self) {
        for mounted in self.mounted.drain(..) {
            let ended = mounted.unmount(UnmountMode::Lazy);
            assert!(ended.is_ok() || std::thread::panicking(), "{ended:?}");
        }
    }
}

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

fn unnamed(directory: &Path) -> Option<File> {
    let path = format!("{}\0", directory.display());
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path ends with NUL; a non-negative result is a descriptor that nobody owns.
    unsafe {
        let fd = libc::open(path.as_ptr().cast(), flags, 0o600);
        (fd >= 0).then(|| File::from_raw_fd(fd))
    }
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

#[test]
fn a_directory_is_mounted_on_once() {
    let Some(twins) = Twins::start() else { return };
    let client = loopback::start(1, 1, CHUNK_BYTES).remove(0);
    let again = mount(client, twins.points[0].path(), &Options::default());
    assert!(matches!(again, Err(MountFailure::Busy { .. })), "{again:?}");
}
