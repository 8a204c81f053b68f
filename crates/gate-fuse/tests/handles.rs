//! File handles, as servers use them that hand a mount on.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::Twins;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Room for the handles of any file system.
const HANDLE_BYTES: usize = 128;

/// A handle as the kernel knows it.
#[repr(C)]
struct Handle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    data: [u8; HANDLE_BYTES],
}

impl Handle {
    fn of(path: &Path) -> io::Result<Self> {
        let path = format!("{}\0", path.display());
        let mut handle = Self {
            bytes: HANDLE_BYTES as libc::c_uint,
            kind: 0,
            data: [0; HANDLE_BYTES],
        };
        let mut mount = 0;
        // SAFETY: the path ends with NUL, and the handle has as much room as it says.
        let result = unsafe {
            let handle = (&raw mut handle).cast();
            libc::name_to_handle_at(
                libc::AT_FDCWD,
                path.as_ptr().cast(),
                handle,
                &raw mut mount,
                0,
            )
        };
        match result {
            0 => Ok(handle),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn open(&mut self, mount: &File) -> io::Result<File> {
        let handle = (&raw mut *self).cast();
        // SAFETY: the handle is one of the kernel's; a descriptor that is not negative is nobody's.
        unsafe {
            match libc::open_by_handle_at(mount.as_raw_fd(), handle, libc::O_RDONLY) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(File::from_raw_fd(descriptor)),
            }
        }
    }
}

/// Has the kernel forget all nodes that are not in use; whether it may be asked to.
fn drop_caches() -> bool {
    let dropped = fs::write("/proc/sys/vm/drop_caches", "2");
    if dropped.is_err() {
        println!("skipped: only root has the kernel drop its caches");
    }
    dropped.is_ok()
}

#[test]
fn a_handle_leads_to_its_file_after_the_kernel_has_forgotten_it() {
    let Some(twins) = Twins::start() else { return };
    fs::create_dir_all(twins.path(0, "a/b")).expect("made");
    fs::write(twins.path(0, "a/b/file"), "content").expect("written");
    for mount in [0, 1] {
        let root = File::open(twins.points[mount].path()).expect("open");
        let path = twins.path(mount, "a/b/file");
        let mut handle = Handle::of(&path).expect("a handle");
        if !drop_caches() {
            return;
        }
        let mut text = String::new();
        let mut file = handle.open(&root).expect("open");
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, "content");
        assert_eq!(fs::read_to_string(path).expect("read"), "content");
    }
}

#[test]
fn a_handle_leads_to_its_directory_after_the_kernel_has_forgotten_it() {
    let Some(twins) = Twins::start() else { return };
    fs::create_dir_all(twins.path(0, "a/b/c")).expect("made");
    for mount in [0, 1] {
        let root = File::open(twins.points[mount].path()).expect("open");
        let path = twins.path(mount, "a/b");
        let mut handle = Handle::of(&path).expect("a handle");
        let number = fs::metadata(&path).expect("attributes").ino();
        if !drop_caches() {
            return;
        }
        let directory = handle.open(&root).expect("open");
        assert_eq!(directory.metadata().expect("attributes").ino(), number);
        let place = fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        assert_eq!(place.expect("a place"), path);
        // It is the same node as the one that is found by its path.
        fs::create_dir(path.join("new")).expect("made");
        let names = rustix::fs::Dir::read_from(&directory).expect("a directory");
        let names = names.map(|entry| entry.expect("an entry").file_name().to_owned());
        assert_eq!(
            names
                .filter(|name| !name.as_bytes().starts_with(b"."))
                .count(),
            2
        );
        fs::remove_dir(path.join("new")).expect("removed");
        fs::rename(&path, twins.path(mount, "a/d")).expect("moved");
        fs::rename(twins.path(mount, "a/d"), &path).expect("moved back");
    }
}

#[test]
fn a_handle_of_what_is_gone_is_stale() {
    let Some(twins) = Twins::start() else { return };
    let root = File::open(twins.points[0].path()).expect("open");
    for remover in [0, 1] {
        fs::write(twins.path(0, "file"), "").expect("written");
        fs::create_dir(twins.path(0, "directory")).expect("made");
        let handles = ["file", "directory"].map(|name| Handle::of(&twins.path(0, name)));
        fs::remove_file(twins.path(remover, "file")).expect("removed");
        fs::remove_dir(twins.path(remover, "directory")).expect("removed");
        if !drop_caches() {
            return;
        }
        for handle in handles {
            let opened = handle.expect("a handle").open(&root);
            let error = opened.expect_err("gone").raw_os_error();
            assert_eq!(error, Some(libc::ESTALE));
        }
    }
}
