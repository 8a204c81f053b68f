//! Holes, as programs that copy and count files see them.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::Twins;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

/// More than any chunk of these clusters.
const PIECE_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 512;

/// How much of a file is data, as `stat` says.
fn allocated(path: &Path) -> u64 {
    fs::metadata(path).expect("attributes").blocks() * BLOCK_BYTES
}

/// How much of a file is data, as `SEEK_DATA` and `SEEK_HOLE` say.
fn found(path: &Path) -> u64 {
    let file = File::open(path).expect("a file");
    let seek = |from, whence| {
        // SAFETY: the descriptor is open, and lseek touches no memory.
        let at = unsafe { libc::lseek(file.as_raw_fd(), from, whence) };
        (at >= 0).then_some(at)
    };
    let mut sum = 0;
    let mut at = 0;
    while let Some(data) = seek(at, libc::SEEK_DATA) {
        at = seek(data, libc::SEEK_HOLE).expect("an end of the data");
        sum += at - data;
    }
    sum.cast_unsigned()
}

/// A file of `pieces` pieces of which every second one is data.
fn every_second(path: &Path, pieces: u64) {
    let file = File::create(path).expect("a file");
    let piece = vec![7; PIECE_BYTES as usize];
    for number in (1..pieces).step_by(2) {
        file.write_all_at(&piece, number * PIECE_BYTES)
            .expect("a write");
    }
}

#[test]
fn stat_tells_what_seeking_for_holes_finds() {
    let Some(twins) = Twins::start() else { return };
    let written = twins.path(0, "sparse");
    every_second(&written, 8);
    for path in [written, twins.path(1, "sparse")] {
        assert_eq!(allocated(&path), 4 * PIECE_BYTES);
        assert_eq!(found(&path), 4 * PIECE_BYTES);
    }
}

#[test]
fn a_file_written_in_order_has_no_holes_and_a_longer_one_has() {
    let Some(twins) = Twins::start() else { return };
    let path = twins.path(0, "dense");
    fs::write(&path, vec![1; 5 * PIECE_BYTES as usize]).expect("a write");
    assert_eq!(allocated(&path), 5 * PIECE_BYTES);
    let file = File::options().write(true).open(&path).expect("a file");
    file.set_len(100 * PIECE_BYTES).expect("a longer file");
    assert_eq!(allocated(&path), 5 * PIECE_BYTES);
    file.set_len(PIECE_BYTES).expect("a shorter file");
    assert_eq!(allocated(&path), PIECE_BYTES);
}

#[test]
fn punched_pieces_are_given_back() {
    let Some(twins) = Twins::start() else { return };
    let path = twins.path(0, "punched");
    fs::write(&path, vec![1; 5 * PIECE_BYTES as usize]).expect("a write");
    let file = File::options().write(true).open(&path).expect("a file");
    let (mode, piece) = (
        libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        PIECE_BYTES.cast_signed(),
    );
    // SAFETY: the descriptor is open, and fallocate touches no memory.
    let result = unsafe { libc::fallocate(file.as_raw_fd(), mode, piece, 2 * piece) };
    assert_eq!(result, 0);
    assert_eq!(allocated(&path), 3 * PIECE_BYTES);
    assert_eq!(allocated(&twins.path(1, "punched")), 3 * PIECE_BYTES);
    assert_eq!(found(&path), 3 * PIECE_BYTES);
}

#[test]
fn holes_stay_holes_in_copies() {
    let Some(twins) = Twins::start() else { return };
    every_second(&twins.path(0, "image"), 16);
    let copied = Command::new("cp")
        .arg("--sparse=auto")
        .args([twins.path(1, "image"), twins.path(1, "copy")])
        .status()
        .expect("cp");
    assert!(copied.success());
    let (image, copy) = (twins.path(0, "image"), twins.path(0, "copy"));
    assert_eq!(allocated(&copy), allocated(&image));
    assert_eq!(
        fs::read(&copy).expect("a copy"),
        fs::read(&image).expect("an image")
    );
}
