//! Buffered writes that are lost.
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod fixture;

use fixture::Twins;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

const GIVE_UP_SECONDS: f64 = 1.0;

fn code<T>(result: io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

#[test]
fn a_loss_is_reported_to_every_writer() {
    let Some(mut twins) = Twins::start_with(None, GIVE_UP_SECONDS) else {
        return;
    };
    let path = twins.path(0, "file");
    let mut one = File::create(&path).expect("a file");
    let mut options = File::options();
    options.write(true).custom_flags(libc::O_DSYNC);
    let mut other = options.open(&path).expect("an open file");
    for _ in 0..8 {
        one.write_all(b"buffered").expect("written");
    }
    twins.servers = None;
    assert_eq!(code(other.write(b"sent at once")), Some(libc::EIO));
    assert_eq!(code(one.sync_all()), Some(libc::EIO));
    assert_eq!(code(one.sync_all()), None, "it has been told");
}

#[test]
fn a_synchronous_append_is_stored_when_it_returns() {
    let Some(mut twins) = Twins::start_with(None, GIVE_UP_SECONDS) else {
        return;
    };
    let mut options = File::options();
    options.append(true).create(true);
    options.custom_flags(libc::O_DSYNC);
    let mut log = options.open(twins.path(0, "log")).expect("an open file");
    for _ in 0..8 {
        log.write_all(b"line").expect("written");
    }
    twins.servers = None;
    assert_eq!(code(log.sync_all()), None, "nothing is left to be lost");
}
