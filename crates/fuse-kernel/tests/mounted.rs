//! System calls on real mounts: as the user of the test run, and if that is root, once more as an
//! ordinary user through fusermount3.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

#[path = "../examples/passthrough/file_system.rs"]
mod file_system;
mod fixture;
#[path = "../examples/passthrough/inodes.rs"]
mod inodes;
#[path = "../examples/passthrough/locks.rs"]
mod locks;

use file_system::{Passthrough, UNCACHED};
use fixture::Mount;
use futago_fuse_kernel::InitFlags;
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, SeekFrom, copy_file_range, fallocate,
    linkat, open, renameat_with, seek,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use std::sync::{Arc, mpsc};
use tempfile::TempDir;

/// A directory mirrored at `mount`.
struct Twin {
    mount: Mount,
    file_system: Arc<Passthrough>,
    source: TempDir,
}

impl Twin {
    fn new() -> Self {
        let source = tempfile::tempdir().expect("source");
        let name = source.path().to_str().expect("UTF-8");
        let file_system = Arc::new(Passthrough::new(name, UNCACHED).expect("source"));
        Self {
            mount: Mount::of(Arc::clone(&file_system)),
            file_system,
            source,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.mount.path(name)
    }

    fn count(&self, operation: &str) -> u64 {
        self.file_system
            .counts()
            .get(operation)
            .copied()
            .unwrap_or(0)
    }
}

#[test]
fn statx_tells_the_birth_time() {
    mountable_or_return!();
    let twin = Twin::new();
    fs::write(twin.path("a"), "x").expect("write");
    let seen = fs::metadata(twin.path("a"))
        .expect("stat")
        .created()
        .expect("birth time");
    let real = fs::metadata(twin.source.path().join("a"))
        .expect("stat")
        .created();
    assert_eq!(seen, real.expect("birth time"));
    let is_old_kernel = twin.mount.session().granted().kernel_minor < 39;
    assert!(is_old_kernel || twin.count("statx") > 0);
}

#[test]
fn renames_without_replacing_and_by_exchange() {
    mountable_or_return!();
    let twin = Twin::new();
    let (a, b) = (twin.path("a"), twin.path("b"));
    fs::write(&a, "a").expect("write");
    fs::write(&b, "b").expect("write");
    let refused = renameat_with(CWD, &a, CWD, &b, RenameFlags::NOREPLACE);
    assert_eq!(refused, Err(Errno::EXIST));
    renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).expect("exchange");
    assert_eq!(fs::read(&a).expect("read"), b"b");
    assert_eq!(fs::read(&b).expect("read"), b"a");
}

#[test]
fn a_temporary_file_can_be_given_a_name() {
    mountable_or_return!();
    let twin = Twin::new();
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let file = match open(twin.mount.point.path(), flags, Mode::from_raw_mode(0o600)) {
        Err(Errno::OPNOTSUPP) => return println!("skipped: this kernel has no FUSE_TMPFILE"),
        file => File::from(file.expect("temporary file")),
    };
    (&file).write_all(b"text").expect("write");
    assert_eq!(fs::read_dir(twin.source.path()).expect("list").count(), 0);
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, path, CWD, twin.path("named"), AtFlags::SYMLINK_FOLLOW).expect("link");
    assert_eq!(fs::read(twin.path("named")).expect("read"), b"text");
}

#[test]
fn holes_are_made_and_found() {
    mountable_or_return!();
    let twin = Twin::new();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(twin.path("a"));
    let file = file.expect("create");
    file.write_all_at(&[1; 3 << 16], 0).expect("write");
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&file, punch, 1 << 16, 1 << 16).expect("punch");
    assert_eq!(seek(&file, SeekFrom::Hole(0)), Ok(1 << 16));
    assert_eq!(seek(&file, SeekFrom::Data(1 << 16)), Ok(2 << 16));
    let mut bytes = [9; 2];
    file.read_exact_at(&mut bytes, (1 << 17) - 1).expect("read");
    assert_eq!(bytes, [0, 1]);
}

#[test]
fn ranges_are_copied_by_the_server() {
    mountable_or_return!();
    let twin = Twin::new();
    fs::write(twin.path("a"), "0123456789").expect("write");
    let (from, to) = (
        File::open(twin.path("a")).expect("open"),
        File::create(twin.path("b")),
    );
    let to = to.expect("create");
    let copied = copy_file_range(&from, Some(&mut 2), &to, Some(&mut 1), 5);
    assert_eq!((copied, twin.count("copy_file_range")), (Ok(5), 1));
    assert_eq!(fs::read(twin.path("b")).expect("read"), b"\x0023456");
}

#[test]
fn a_mebibyte_is_one_request() {
    mountable_or_return!();
    let twin = Twin::new();
    let (mut buffer, mut back) = (Aligned::new(), Aligned::new());
    let content = buffer.bytes();
    for (index, byte) in content.iter_mut().enumerate() {
        *byte = (index / 7 % 251) as u8;
    }
    let mut file = File::create(twin.path("a")).expect("create");
    assert_eq!(file.write(content).expect("write"), 1 << 20);
    let largest = twin.file_system.largest_write_bytes();
    assert_eq!((twin.count("write"), largest), (1, 1 << 20));
    let mut file = File::open(twin.path("a")).expect("open");
    assert_eq!(file.read(back.bytes()).expect("read"), 1 << 20);
    assert_eq!(twin.count("read"), 1);
    assert!(back.bytes() == content);
}

/// A mebibyte that begins on a page boundary. Elsewhere it would span 257 pages, and the kernel
/// limits a request to 256 unless `fs.fuse.max_pages_limit` was raised.
struct Aligned(Vec<u8>);

impl Aligned {
    fn new() -> Self {
        Self(vec![0; (1 << 20) + 4096])
    }

    fn bytes(&mut self) -> &mut [u8] {
        let start = self.0.as_ptr().align_offset(4096);
        &mut self.0[start..start + (1 << 20)]
    }
}

#[test]
fn names_need_not_be_text() {
    mountable_or_return!();
    let twin = Twin::new();
    let name = OsStr::from_bytes(b"\xff\xfe \x80caf\xe9");
    fs::write(twin.mount.point.path().join(name), "x").expect("write");
    let listed = fs::read_dir(twin.mount.point.path()).expect("list");
    let names: Vec<_> = listed
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    assert_eq!(names, [name]);
}

#[test]
fn an_append_goes_to_the_true_end() {
    mountable_or_return!();
    let twin = Twin::new();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(twin.path("a"))
        .expect("open");
    file.write_all(b"one ").expect("write");
    // The kernel of the mount does not learn that the file grew.
    let mut other = OpenOptions::new()
        .append(true)
        .open(twin.source.path().join("a"));
    other
        .as_mut()
        .expect("open")
        .write_all(b"two ")
        .expect("write");
    file.write_all(b"three").expect("write");
    assert_eq!(fs::read(twin.path("a")).expect("read"), b"one two three");
}

/// With `HANDLE_KILLPRIV_V2` the file system clears the bits on the kernel's request.
#[test]
fn writing_and_truncating_clear_setuid() {
    mountable_or_return!();
    let twin = Twin::new();
    if !twin
        .mount
        .session()
        .granted()
        .features
        .contains(InitFlags::HANDLE_KILLPRIV_V2)
    {
        return println!("skipped: this kernel has no FUSE_HANDLE_KILLPRIV_V2");
    }
    for change in ["echo x >> p", ": > p", "truncate -s 3 p"] {
        fs::write(twin.path("p"), "program").expect("write");
        fs::set_permissions(twin.path("p"), fs::Permissions::from_mode(0o6775)).expect("chmod");
        let mut command = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            command.arg("--bounding-set=-fsetid");
        }
        let status = command
            .args(["sh", "-c", change])
            .current_dir(twin.mount.point.path());
        assert!(
            status
                .status()
                .expect("setpriv (util-linux) runs")
                .success()
        );
        let mode = fs::metadata(twin.path("p"))
            .expect("stat")
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o775, "{change}");
    }
}

#[test]
fn a_shared_mapping_is_written_back() {
    mountable_or_return!();
    let twin = Twin::new();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(twin.path("a"));
    let file = file.expect("create");
    file.set_len(8192).expect("extend");
    use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
    let both = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping of a file that no other thread changes, used within its 8192 bytes
    // and unmapped once.
    let mapped = unsafe {
        mmap(ptr::null_mut(), 8192, both, MapFlags::SHARED, &file, 0).map(|address| {
            address.cast::<u8>().add(5000).write(7);
            msync(address, 8192, MsyncFlags::SYNC).expect("msync");
            munmap(address, 8192).expect("munmap");
        })
    };
    let is_old_kernel = twin.mount.session().granted().kernel_minor < 39;
    if is_old_kernel {
        return assert_eq!(mapped, Err(Errno::NODEV));
    }
    mapped.expect("mmap");
    assert_eq!(
        fs::read(twin.source.path().join("a")).expect("read")[5000],
        7
    );
}

#[test]
fn a_signal_ends_waiting_for_a_lock() {
    mountable_or_return!();
    let twin = Twin::new();
    let holder = File::create(twin.path("a")).expect("create");
    let waiter = OpenOptions::new()
        .write(true)
        .open(twin.path("a"))
        .expect("open");
    assert_eq!(lock(&holder, libc::F_OFD_SETLK), Ok(()));
    catch_signals();
    let (sender, receiver) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        // SAFETY: pthread_self has no preconditions.
        sender.send(unsafe { libc::pthread_self() }).expect("sent");
        lock(&waiter, libc::F_SETLKW)
    });
    let thread = receiver.recv().expect("started");
    twin.file_system.locks.await_waiter();
    // SAFETY: the thread is not joined yet, so its name is valid.
    assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
    assert_eq!(waiting.join().expect("joined"), Err(libc::EINTR));
}

/// The kernel sends no unlock for these: they end with RELEASE.
#[test]
fn a_lock_of_an_open_file_ends_with_it() {
    mountable_or_return!();
    let twin = Twin::new();
    let holder = File::create(twin.path("a")).expect("create");
    let other = OpenOptions::new()
        .write(true)
        .open(twin.path("a"))
        .expect("open");
    assert_eq!(lock(&holder, libc::F_OFD_SETLK), Ok(()));
    assert_eq!(lock(&other, libc::F_OFD_SETLK), Err(libc::EAGAIN));
    drop(holder);
    assert_eq!(lock(&other, libc::F_OFD_SETLKW), Ok(()));
}

/// Locks the whole file for writing, or returns the errno.
fn lock(file: &File, command: i32) -> Result<(), i32> {
    // SAFETY: all-zero is a valid flock: the whole file, of no process.
    let mut flock: libc::flock = unsafe { std::mem::zeroed() };
    flock.l_type = libc::F_WRLCK as i16;
    // SAFETY: the record outlives the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut flock) };
    let error = || std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    if result == 0 { Ok(()) } else { Err(error()) }
}

/// Installs a handler of SIGUSR1 that does nothing and does not restart system calls.
fn catch_signals() {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the action is fully initialised and its handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
        assert_eq!(
            libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()),
            0
        );
    }
}

#[test]
fn an_external_unmount_ends_the_session() {
    mountable_or_return!();
    let mut twin = Twin::new();
    let unmounter = twin.mount.session().unmounter();
    assert!(unmounter.is_mounted().expect("table"));
    let open = File::create(twin.path("a")).expect("create");
    let busy = unmounter
        .unmount(futago_fuse_kernel::UnmountMode::IfUnused)
        .expect_err("in use");
    assert_eq!(busy.raw_os_error(), Some(libc::EBUSY));
    drop(open);
    unmounter
        .unmount(futago_fuse_kernel::UnmountMode::Lazy)
        .expect("unmount");
    assert!(!unmounter.is_mounted().expect("table"));
    twin.mount.end().expect("once more is harmless");
}

/// Runs this whole file again as `nobody`, whose mounts go through fusermount3.
#[test]
fn everything_again_as_an_ordinary_user() {
    mountable_or_return!();
    fixture::run_again_as_nobody("a_signal_ends_waiting_for_a_lock");
}
