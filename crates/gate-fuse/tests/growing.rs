//! Files that grow through one mount while another one reads them on.

mod fixture;

use fixture::Twins;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const APPENDS: usize = 100;

/// A file through both mounts: opened to append through the first, read to its end through the
/// second.
fn opened(twins: &Twins) -> (File, File) {
    let (own, other) = (twins.path(0, "log"), twins.path(1, "log"));
    let mut appends = create(&own);
    append(&mut appends);
    let mut reads = File::open(other).expect("open");
    assert_eq!(read(&mut reads), 10);
    (appends, reads)
}

fn create(path: &Path) -> File {
    let options = File::options().append(true).create(true).clone();
    options.open(path).expect("made")
}

fn append(file: &mut File) {
    assert_eq!(file.write(b"ten bytes\n").expect("appended"), 10);
}

fn read(file: &mut File) -> usize {
    file.read(&mut [0; 8192]).expect("read")
}

#[test]
fn what_was_appended_is_read_at_once() {
    let Some(twins) = Twins::start() else { return };
    let (mut appends, mut reads) = opened(&twins);
    let found = (0..APPENDS).map(|_| {
        append(&mut appends);
        read(&mut reads)
    });
    assert_eq!(found.collect::<Vec<_>>(), [10; APPENDS]);
}

/// The attributes in a reply for a read are not visible to programs.
#[test]
fn times_stay_those_of_the_file_while_it_is_read_on() {
    let Some(twins) = Twins::start() else { return };
    let (mut appends, mut reads) = opened(&twins);
    for _ in 0..APPENDS {
        append(&mut appends);
        read(&mut reads);
        let times = [&appends, &reads].map(|file| {
            let shown = file.metadata().expect("attributes");
            (shown.mtime(), shown.mtime_nsec(), shown.size())
        });
        assert_eq!(times[0], times[1]);
    }
}
