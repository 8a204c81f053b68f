//! The start and end of mounts, and unanswered requests.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::Mount;
use futago_fuse_kernel::{
    Attributes, Connection, DirectoryList, Entry, Forget, Handler, MountOptions, Operation, Reply,
    Request, Timestamp, Wanted, abi, clean_dead_mount, mounts,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const FILE: u64 = 2;
const CHILD: &str = "FUTAGO_FUSE_TEST_MOUNT_POINT";
const CHILD_AUTO: &str = "FUTAGO_FUSE_TEST_AUTO_UNMOUNT";
const SUBTYPE: &str = "futago-test";

/// A root with one file "a", of size `size`. The kernel may cache it, and the absence of "none",
/// for an hour.
#[derive(Default)]
struct OneFile {
    size: AtomicU64,
    /// The number of lookups of "none".
    asked_for_none: AtomicU64,
}

impl OneFile {
    fn attributes(&self, node: u64) -> Attributes {
        let mode = if node == FILE {
            libc::S_IFREG | 0o644
        } else {
            libc::S_IFDIR | 0o777
        };
        Attributes {
            inode: node,
            size: self.size.load(Ordering::SeqCst),
            mtime: Timestamp {
                seconds: -5,
                nanoseconds: 7,
            },
            mode,
            links: 1,
            ..Attributes::default()
        }
    }
}

impl Handler for OneFile {
    fn handle(&self, request: Request, reply: Reply) {
        let node = request.header.node;
        match request.operation {
            Operation::Lookup { name } if &name[..] == b"a" => reply.entry(&Entry {
                node: FILE,
                attributes: self.attributes(FILE),
                entry_valid: HOUR,
                attributes_valid: HOUR,
                ..Entry::default()
            }),
            Operation::Lookup { name } if &name[..] == b"none" => {
                self.asked_for_none.fetch_add(1, Ordering::SeqCst);
                reply.absent(HOUR);
            }
            Operation::Lookup { .. } => reply.error(libc::ENOENT),
            Operation::GetAttributes { .. } => reply.attributes(&self.attributes(node), HOUR),
            // The kernel requests attributes without birth time instead.
            Operation::Statx { .. } => reply.error(libc::ENOSYS),
            // Larger than any requested size, so that the kernel refuses it.
            Operation::ReadLink | Operation::StatFs => reply.data(&[0; 8192]),
            Operation::ReadDirectory { size, .. } => reply.directory(&DirectoryList::new(size)),
            Operation::Read(_) => reply.error(-3),
            Operation::Open { .. } => reply.opened(1, futago_fuse_kernel::OpenFlags::DIRECT_IO),
            Operation::Symlink { .. } => panic!("on purpose"),
            // Dropped without a reply.
            _ => drop(reply),
        }
    }

    fn interrupt(&self, _unique: u64) {}

    fn forget(&self, _nodes: &[Forget]) {}
}

#[test]
fn a_dropped_reply_is_eio() {
    mountable_or_return!();
    let mount = Mount::of(Arc::new(OneFile::default()));
    let error = fs::create_dir(mount.path("d")).expect_err("dropped");
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
}

#[test]
fn a_panic_spoils_one_request_alone() {
    mountable_or_return!();
    let mount = Mount::of(Arc::new(OneFile::default()));
    // More requests than there are readers.
    for name in ["b", "c", "d", "e"] {
        let error = std::os::unix::fs::symlink("target", mount.path(name)).expect_err("panicked");
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
    }
    fs::metadata(mount.path("a")).expect("still served");
}

#[test]
fn an_answer_that_the_kernel_refuses_is_eio_rather_than_a_hang() {
    mountable_or_return!();
    let mount = Mount::of(Arc::new(OneFile::default()));
    let error = rustix::fs::statfs(mount.point.path()).expect_err("too large");
    assert_eq!(error, rustix::io::Errno::IO);
}

#[test]
fn an_errno_out_of_range_is_eio() {
    mountable_or_return!();
    let mount = Mount::of(Arc::new(OneFile {
        size: AtomicU64::new(9),
        ..OneFile::default()
    }));
    let error = fs::read(mount.path("a")).expect_err("not an errno");
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
}

#[test]
fn the_kernel_asks_once_for_a_name_that_does_not_exist() {
    mountable_or_return!();
    let one = Arc::new(OneFile::default());
    let mount = Mount::of(Arc::clone(&one));
    for _ in 0..3 {
        let error = fs::metadata(mount.path("none")).expect_err("there is none");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
    assert_eq!(one.asked_for_none.load(Ordering::SeqCst), 1);
}

#[test]
fn cached_attributes_live_until_they_are_invalidated() {
    mountable_or_return!();
    let one = Arc::new(OneFile::default());
    let mount = Mount::of(Arc::clone(&one));
    let size = || fs::metadata(mount.path("a")).expect("stat").len();
    assert_eq!(size(), 0);
    one.size.store(5, Ordering::SeqCst);
    assert_eq!(size(), 0);
    mount
        .session()
        .notifier()
        .invalidate_inode(FILE, 0, 0)
        .expect("notified");
    assert_eq!(size(), 5);
    one.size.store(6, Ordering::SeqCst);
    mount
        .session()
        .notifier()
        .invalidate_entry(abi::ROOT_NODE, b"a")
        .expect("notified");
    assert_eq!(size(), 6);
    let unknown = mount
        .session()
        .notifier()
        .invalidate_entry(abi::ROOT_NODE, b"unknown");
    unknown.expect("a name that the kernel does not know is fine");
}

#[test]
fn times_before_1970_come_through() {
    mountable_or_return!();
    use std::os::unix::fs::MetadataExt;
    let mount = Mount::of(Arc::new(OneFile::default()));
    let stat = fs::metadata(mount.path("a")).expect("stat");
    assert_eq!((stat.mtime(), stat.mtime_nsec()), (-5, 7));
}

#[test]
fn the_mount_table_tells_source_and_type() {
    mountable_or_return!();
    let mount = Mount::of(Arc::new(OneFile::default()));
    let path = fs::canonicalize(mount.point.path()).expect("path");
    let found = mounts()
        .expect("table")
        .into_iter()
        .find(|entry| entry.path == path);
    let found = found.expect("mounted");
    assert_eq!(found.kind, "fuse.futago");
    assert_eq!(found.source, "a, test");
    assert!(!clean_dead_mount(&path).expect("looked at"));
}

/// Not a test by itself: `start_server` runs it until it is killed.
#[test]
fn serve_until_killed() {
    let Some(point) = std::env::var_os(CHILD) else {
        return;
    };
    let options = MountOptions {
        subtype: SUBTYPE.into(),
        auto_unmount: std::env::var_os(CHILD_AUTO).is_some(),
        ..MountOptions::default()
    };
    let connection = Connection::mount(&options, &Wanted::default(), point).expect("mount");
    let session = connection
        .serve(Arc::new(OneFile::default()), 1)
        .expect("serve");
    println!("\nserving");
    session.join().expect("served");
}

/// Starts another process that serves a mount.
fn start_server(point: &Path, auto_unmount: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "serve_until_killed", "--nocapture"])
        .env(CHILD, point);
    if auto_unmount {
        command.env(CHILD_AUTO, "1");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let serves = lines.map_while(Result::ok).any(|line| line == "serving");
    assert!(serves, "the server ended before it served");
    child
}

fn kill(mut server: Child) {
    server.kill().expect("killed");
    server.wait().expect("ended");
}

#[test]
fn what_a_killed_server_left_is_found_and_cleaned() {
    mountable_or_return!();
    let point = tempfile::tempdir().expect("mount point");
    let path = fs::canonicalize(point.path()).expect("path");
    kill(start_server(&path, false));
    let error = fs::metadata(&path).expect_err("nobody answers");
    assert_eq!(error.raw_os_error(), Some(libc::ENOTCONN));
    assert!(clean_dead_mount(&path).expect("cleaned"));
    assert!(!clean_dead_mount(&path).expect("nothing left"));
    assert_eq!(
        fs::read_dir(&path)
            .expect("an ordinary folder again")
            .count(),
        0
    );
}

#[test]
fn a_new_mount_replaces_a_dead_one() {
    mountable_or_return!();
    let point = tempfile::tempdir().expect("mount point");
    let path = fs::canonicalize(point.path()).expect("path");
    kill(start_server(&path, false));
    kill(start_server(&path, false));
    assert!(clean_dead_mount(&path).expect("cleaned"));
    assert_eq!(
        mounts()
            .expect("table")
            .iter()
            .filter(|entry| entry.path == path)
            .count(),
        0
    );
}

#[test]
fn a_watched_mount_goes_with_its_server() {
    mountable_or_return!();
    let point = tempfile::tempdir().expect("mount point");
    let path = fs::canonicalize(point.path()).expect("path");
    let table = fs::File::open("/proc/self/mountinfo").expect("table");
    kill(start_server(&path, true));
    let deadline_after = Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    while mounts()
        .expect("table")
        .iter()
        .any(|entry| entry.path == path)
    {
        // The table's file reports a change of the mounts as an exceptional condition.
        let mut changed = [PollFd::new(&table, PollFlags::PRI)];
        assert_eq!(
            poll(&mut changed, Some(&deadline_after)),
            Ok(1),
            "still mounted"
        );
    }
}

#[test]
fn a_mount_point_that_is_not_there_is_named() {
    let error = Connection::mount(
        &MountOptions::default(),
        &Wanted::default(),
        "/nowhere/at/all",
    );
    let message = error.expect_err("refused").to_string();
    assert!(
        message.contains("/nowhere/at/all") && message.contains("No such file"),
        "{message}"
    );
}

/// Runs this whole file again as `nobody`, whose mounts go through fusermount3.
#[test]
fn everything_again_as_an_ordinary_user() {
    mountable_or_return!();
    fixture::run_again_as_nobody("a_new_mount_replaces_a_dead_one");
}
