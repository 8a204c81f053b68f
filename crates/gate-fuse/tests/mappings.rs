//! Files that are mapped and written to while their sizes change.

mod fixture;

use fixture::Twins;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Much longer than anything here takes.
const END_MAX: Duration = Duration::from_secs(30);
/// The files' size in bytes: several pages, and several chunks.
const FILE_BYTES: usize = 64 << 10;

/// A shared mapping of a whole file.
struct Mapping(*mut u8);

impl Mapping {
    fn of(file: &File) -> Self {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses where; nobody else knows of the mapping.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                FILE_BYTES,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        Self(start.cast())
    }

    /// Reads the byte at this offset anew.
    fn load(&self, offset: usize) -> u8 {
        assert!(offset < FILE_BYTES);
        // SAFETY: it is mapped, and no longer than the file.
        unsafe { self.0.add(offset).read_volatile() }
    }

    /// Stores into the byte at this offset.
    fn store_at(&self, offset: usize, value: u8) {
        assert!(offset < FILE_BYTES);
        // SAFETY: it is mapped, and no longer than the file.
        unsafe { self.0.add(offset).write_volatile(value) };
    }

    /// Has the kernel write back what was stored.
    fn synchronize(&self) {
        // SAFETY: it is mapped.
        let result = unsafe { libc::msync(self.0.cast(), FILE_BYTES, libc::MS_SYNC) };
        assert_eq!(result, 0);
    }

    /// Stores into the first so many bytes.
    fn store(&mut self, bytes: usize, value: u8) {
        // SAFETY: they are mapped, and no longer than the file.
        unsafe { slice::from_raw_parts_mut(self.0, bytes) }.fill(value);
    }
}

// SAFETY: the memory belongs to no thread; while several threads use it, each byte is accessed by
// one of them alone.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is mapped, and nobody uses it any more.
        unsafe { libc::munmap(self.0.cast(), FILE_BYTES) };
    }
}

fn open(path: &PathBuf) -> File {
    let file = File::options().read(true).write(true).open(path);
    file.expect("open")
}

/// Does something with files of two mounts that must come to an end.
fn comes_to_an_end(work: impl FnOnce(PathBuf, PathBuf) + Send + 'static) {
    let Some(twins) = Twins::start() else { return };
    let (own, other) = (twins.path(0, "file"), twins.path(1, "file"));
    fs::write(&own, vec![1; FILE_BYTES]).expect("written");
    let (end, ended) = mpsc::channel();
    let working = thread::spawn(move || {
        work(own, other);
        end.send(()).expect("heard");
    });
    let outcome = ended.recv_timeout(END_MAX);
    assert_ne!(outcome, Err(mpsc::RecvTimeoutError::Timeout));
    working.join().expect("no error");
}

#[test]
fn a_file_is_cut_whose_mapping_was_written_to() {
    comes_to_an_end(|path, _| {
        let file = open(&path);
        let mut mapping = Mapping::of(&file);
        for size in [57_344, 4096, 5000, 0] {
            mapping.store(size, 7);
            file.set_len(size as u64).expect("cut");
            assert_eq!(fs::read(&path).expect("read"), vec![7; size]);
            file.set_len(FILE_BYTES as u64).expect("extended");
            let mut whole = vec![7; size];
            whole.resize(FILE_BYTES, 0);
            assert!(fs::read(&path).expect("read") == whole, "{size}");
        }
    });
}

#[test]
fn a_file_is_emptied_on_opening_whose_mapping_was_written_to() {
    comes_to_an_end(|path, _| {
        let file = open(&path);
        let mut mapping = Mapping::of(&file);
        mapping.store(FILE_BYTES, 7);
        File::create(&path).expect("emptied");
        assert_eq!(file.metadata().expect("attributes").len(), 0);
        file.set_len(FILE_BYTES as u64).expect("extended");
        assert!(fs::read(&path).expect("read") == vec![0; FILE_BYTES]);
    });
}

#[test]
fn a_file_is_read_changed_and_removed_whose_mapping_was_written_to() {
    comes_to_an_end(|path, _| {
        let file = open(&path);
        let mut mapping = Mapping::of(&file);
        let reader = File::open(&path).expect("open");
        for value in 2..20 {
            mapping.store(FILE_BYTES, value);
            reader.metadata().expect("attributes");
            fs::write(path.with_extension("copy"), fs::read(&path).expect("read")).expect("copied");
            rustix::io::pwrite(&file, &[value], 10_000).expect("written");
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 70_000)
                .expect("allocated");
        }
        fs::remove_file(&path).expect("removed");
    });
}

#[test]
fn a_mapping_shows_what_a_write_through_another_descriptor_wrote_as_soon_as_it_has_returned() {
    comes_to_an_end(|path, _| {
        let (file, mapped) = (open(&path), open(&path));
        let mapping = Mapping::of(&mapped);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            // This one takes the pages back in while they are written to.
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    (0..FILE_BYTES).step_by(4096).for_each(|at| {
                        mapping.load(at);
                    });
                }
            });
            let shown = write_and_load(&file, &mapping);
            ended.store(true, Ordering::Relaxed);
            assert_eq!(shown, (1..=100).collect::<Vec<u8>>());
        });
    });
}

/// Writes every value to the ends of three pages, and tells what the mapping shows of the last.
fn write_and_load(file: &File, mapping: &Mapping) -> Vec<u8> {
    (1..=100)
        .map(|value| {
            rustix::io::pwrite(file, &[value; 8193], 4095).expect("written");
            mapping.load(4095 + 8192)
        })
        .collect()
}

#[test]
fn a_store_and_a_write_to_different_bytes_of_one_page_at_once_both_stay() {
    comes_to_an_end(|path, other| {
        let (file, mapped) = (open(&path), open(&path));
        // Nothing stays with the client: the writes are under way for a while.
        let _far = open(&other);
        let mapping = Mapping::of(&mapped);
        for value in 2..=14 {
            store_beside_writes(&mapping, &file, value);
            mapping.synchronize();
            let whole = fs::read(&other).expect("read");
            assert_eq!(whole[4096..4096 + 17], [value; 17]);
        }
    });
}

/// Stores the value to the first byte of a page while it is written to the next 16, one by one.
fn store_beside_writes(mapping: &Mapping, file: &File, value: u8) {
    let is_written = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for offset in 4097..4097 + 16 {
                rustix::io::pwrite(file, &[value], offset).expect("written");
            }
            is_written.store(true, Ordering::Relaxed);
        });
        while !is_written.load(Ordering::Relaxed) {
            mapping.store_at(4096, value);
        }
    });
}

#[test]
fn another_mount_cuts_and_reads_a_file_whose_mapping_was_written_to() {
    comes_to_an_end(|path, other| {
        let (file, far) = (open(&path), open(&other));
        let mut mapping = Mapping::of(&file);
        let reader = File::open(&path).expect("open");
        for value in 2..8 {
            // The kernel does not ask for the size when a page is stored into.
            reader.metadata().expect("attributes");
            mapping.store(FILE_BYTES, value);
            far.set_len(4096).expect("cut");
            far.set_len(FILE_BYTES as u64).expect("extended");
            assert_eq!(fs::read(&other).expect("read").len(), FILE_BYTES);
        }
        fs::remove_file(&other).expect("removed");
    });
}

#[test]
fn both_mounts_cut_a_file_that_both_have_mapped_and_written_to() {
    comes_to_an_end(|path, other| {
        let cut = |path: PathBuf| {
            let file = open(&path);
            let mut mapping = Mapping::of(&file);
            for value in 2..8 {
                // Beyond its first page the other one may have cut it just now.
                mapping.store(4096, value);
                file.set_len(57_344).expect("cut");
                file.set_len(FILE_BYTES as u64).expect("extended");
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| cut(path));
            scope.spawn(|| cut(other));
        });
    });
}
