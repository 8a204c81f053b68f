//! How many requests the kernel sends for a mapped file that is read in order.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

#[path = "../examples/passthrough/file_system.rs"]
mod file_system;
#[allow(dead_code, reason = "this test uses a part of it")]
mod fixture;
#[path = "../examples/passthrough/inodes.rs"]
mod inodes;
#[path = "../examples/passthrough/locks.rs"]
mod locks;

use file_system::{Passthrough, UNCACHED};
use futago_fuse_kernel::{Connection, InitFlags, MountOptions, OpenFlags, Wanted};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{self, File};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

const FILE_BYTES: usize = 8 << 20;
const PAGE_BYTES: usize = 4096;
const WINDOW_BYTES: usize = 1 << 20;

/// The sum of one byte of each page, in the order of the pages.
fn sum_of_pages(path: &Path) -> usize {
    let file = File::open(path).expect("open");
    // SAFETY: a fresh mapping of a file that nobody changes, used within its size and unmapped
    // once.
    unsafe {
        let flags = MapFlags::SHARED;
        let start = mmap(
            ptr::null_mut(),
            FILE_BYTES,
            ProtFlags::READ,
            flags,
            &file,
            0,
        );
        let start = start.expect("mmap");
        let pages = (0..FILE_BYTES).step_by(PAGE_BYTES);
        let sum = pages
            .map(|at| usize::from(start.cast::<u8>().add(at).read_volatile()))
            .sum();
        munmap(start, FILE_BYTES).expect("munmap");
        sum
    }
}

/// The reads for a mapped file under a window, `None` where it cannot be set or mapped.
fn reads(open_flags: OpenFlags, window: Option<usize>) -> Option<u64> {
    let (source, point) = (tempfile::tempdir(), tempfile::tempdir());
    let (source, point) = (source.expect("folder"), point.expect("folder"));
    fs::write(source.path().join("a"), vec![1; FILE_BYTES]).expect("write");
    let name = source.path().to_str().expect("UTF-8");
    let file_system = Arc::new(Passthrough::new(name, open_flags).expect("source"));
    let connection = Connection::mount(&MountOptions::default(), &Wanted::default(), &point);
    let connection = connection.expect("mount");
    let can_map = InitFlags::DIRECT_IO_ALLOW_MMAP;
    if !connection.granted().features.contains(can_map) {
        return None;
    }
    if let Some(bytes) = window {
        connection.set_read_ahead(bytes as u64).ok()?;
    }
    let _session = connection
        .serve(Arc::clone(&file_system), 2)
        .expect("serve");
    let sum = sum_of_pages(&point.path().join("a"));
    assert_eq!(sum, FILE_BYTES / PAGE_BYTES);
    file_system.counts().get("read").copied()
}

#[test]
fn a_mapped_file_is_read_in_order_by_requests_of_the_size_of_the_window() {
    mountable_or_return!();
    for open_flags in [OpenFlags::empty(), UNCACHED] {
        let Some(reads) = reads(open_flags, Some(WINDOW_BYTES)) else {
            return println!("skipped: only root can set the window, from Linux 6.6 on");
        };
        let fewest = (FILE_BYTES / WINDOW_BYTES) as u64;
        assert!((fewest..=fewest + 2).contains(&reads), "{reads}");
    }
}

#[test]
fn by_default_a_mapped_file_is_read_by_requests_of_many_pages() {
    mountable_or_return!();
    let Some(reads) = reads(UNCACHED, None) else {
        return println!("skipped: this kernel maps no such file");
    };
    let pages = (FILE_BYTES / PAGE_BYTES) as u64;
    assert!(reads <= pages / 16, "{reads}");
}
