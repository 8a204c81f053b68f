//! Two mounts of one cluster of four servers, used through system calls.

use futago_base::ServerId;
use futago_gate_fuse::{MountFailure, Mounted, Options, UnmountMode, mount};
use futago_node::server::{Config, Servers};
use futago_node::{Cluster, Futago, ServerEntry};
use futago_transport::Address;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Small chunks, so that files of a few pages lie on all servers.
const CHUNK_BYTES: u32 = 4096;
const SERVERS: u16 = 4;

struct Twins {
    mounted: Vec<Mounted>,
    points: Vec<TempDir>,
    cluster: Cluster,
    // Dropped after the mounts, and before its sockets.
    servers: Option<Servers>,
    _sockets: TempDir,
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
        let sockets = TempDir::new().expect("folder");
        let (cluster, servers) = start_servers(sockets.path());
        let points: Vec<TempDir> = (0..2).map(|_| TempDir::new().expect("folder")).collect();
        let mounted = points
            .iter()
            .map(|point| mount(client(&cluster), point.path(), &Options::default()))
            .collect::<Result<_, _>>()
            .expect("mounts");
        Some(Self {
            mounted,
            points,
            cluster,
            servers: Some(servers),
            _sockets: sockets,
        })
    }

    fn path(&self, mount: usize, name: &str) -> PathBuf {
        self.points[mount].path().join(name)
    }
}

fn start_servers(sockets: &Path) -> (Cluster, Servers) {
    let entry = |number: u16| ServerEntry {
        address: Address::Unix(sockets.join(format!("{number}.sock"))),
        host: None,
        process: 0,
    };
    let mut cluster = Cluster::new("test", (0..SERVERS).map(entry).collect()).expect("a cluster");
    cluster.chunk_bytes = CHUNK_BYTES;
    // SAFETY: geteuid and getegid have no preconditions.
    let root_owner = unsafe { (libc::geteuid(), libc::getegid()) };
    let servers = Servers::start(&Config {
        cluster: cluster.clone(),
        servers: (0..SERVERS).map(ServerId).collect(),
        memory_bytes: 1 << 30,
        root_owner,
    });
    (cluster, servers.expect("servers"))
}

fn client(cluster: &Cluster) -> Futago {
    Futago::connect(cluster, futago_node::Options::default()).expect("a client")
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
    let client = client(&twins.cluster);
    let again = mount(client, twins.points[0].path(), &Options::default());
    assert!(matches!(again, Err(MountFailure::Busy { .. })), "{again:?}");
}

extern "C" fn take_notice(_: libc::c_int) {}

/// The servers end while a thread waits for a lock that the other mount holds.
#[test]
fn a_signal_ends_the_wait_for_a_lock_at_a_server_that_is_gone() {
    let Some(mut twins) = Twins::start() else {
        return;
    };
    let holder = File::create(twins.path(0, "file")).expect("made");
    holder.lock().expect("locked");
    let waiter = File::open(twins.path(1, "file")).expect("open");
    // SAFETY: the handler does nothing; without SA_RESTART it ends system calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = take_notice as *const () as usize;
        assert_eq!(
            libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()),
            0
        );
    }
    let servers = twins.servers.take().expect("servers");
    let (tell, told) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        // SAFETY: pthread_self has no preconditions.
        tell.send(unsafe { libc::pthread_self() }).expect("heard");
        // SAFETY: the descriptor is open.
        match unsafe { libc::flock(waiter.as_raw_fd(), libc::LOCK_EX) } {
            0 => None,
            _ => io::Error::last_os_error().raw_os_error(),
        }
    });
    let thread = told.recv().expect("told");
    servers.stop().expect("stopped");
    while !waiting.is_finished() {
        // SAFETY: the thread has not been joined.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
        std::thread::yield_now();
    }
    assert_eq!(waiting.join().expect("joined"), Some(libc::EINTR));
}
