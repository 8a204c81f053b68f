//! The search for an order refuses histories that no file system may show, and accepts effects of a
//! kernel.

use bytes::Bytes;
use futago_base::{Duration, Errno, FileId, Name, Time};
use futago_client::RenameFlags;
use futago_twin::check::{History, Record, Setting, Verdict, linearize};
use futago_twin::model::{NewKind, Observed, Operation, Outcome, Tree};

const FILE: FileId = FileId(7);
const OTHER: FileId = FileId(8);

fn name(text: &'static str) -> Name {
    Name::new(text).unwrap_or(Name::least())
}

/// An operation of a client between two times, and what came of it.
fn record(client: usize, times: (u64, u64), operation: Operation, observed: Observed) -> Record {
    Record {
        client,
        operation,
        called: Time(times.0),
        returned: Some((Time(times.1), observed)),
    }
}

fn create(at: u64, text: &'static str, id: FileId) -> Record {
    let operation = Operation::Create {
        directory: FileId::ROOT,
        name: name(text),
        kind: NewKind::File(0),
        mode: 0o644,
        exclusive: true,
        open: false,
        tag: 0,
    };
    record(0, (at, at + 1), operation, Ok(Outcome::Identity(id)))
}

fn write(times: (u64, u64), tag: u8) -> Record {
    let operation = Operation::Write {
        id: FILE,
        offset: 0,
        length: 3,
        tag,
    };
    record(0, times, operation, Ok(Outcome::Done))
}

fn read(times: (u64, u64), bytes: &'static [u8]) -> Record {
    let operation = Operation::Read {
        id: FILE,
        offset: 0,
        length: 10,
    };
    let read = Ok(Outcome::Bytes(Bytes::from_static(bytes)));
    record(1, times, operation, read)
}

fn lookup(times: (u64, u64), text: &'static str, observed: Observed) -> Record {
    let operation = Operation::Lookup {
        directory: FileId::ROOT,
        name: name(text),
    };
    record(1, times, operation, observed)
}

fn rename(
    client: usize,
    times: (u64, u64),
    from: &'static str,
    to: &'static str,
    observed: Observed,
) -> Record {
    let operation = Operation::Rename {
        directory: FileId::ROOT,
        name: name(from),
        new_directory: FileId::ROOT,
        new_name: name(to),
        flags: RenameFlags::default(),
    };
    record(client, times, operation, observed)
}

/// Whether the history is explained if the first `kernels` clients ask through a kernel.
fn is_explained(history: &[Record], kernels: usize) -> bool {
    let setting = Setting {
        chunk_bytes: 4096,
        limited: false,
        kernels,
        grace: Duration::from_secs(2),
    };
    let history: History = history.to_vec();
    let before = Tree::new(0o755, 0, 0);
    matches!(
        linearize(&history, &before, None, setting),
        Verdict::Explained
    )
}

#[test]
fn a_read_shows_the_last_write_before_it() {
    let history = |bytes| {
        let writes = [write((10, 11), 1), write((20, 21), 2)];
        let read = read((30, 31), bytes);
        [vec![create(0, "a", FILE)], writes.to_vec(), vec![read]].concat()
    };
    assert!(is_explained(&history(&[2, 2, 2]), 0));
    assert!(!is_explained(&history(&[1, 1, 1]), 0));
    assert!(!is_explained(&history(&[2, 2, 1]), 0));
    assert!(!is_explained(&history(&[]), 0));
}

#[test]
fn a_read_beside_a_write_shows_it_or_not_but_does_not_alternate() {
    let begin = [create(0, "a", FILE), write((10, 11), 1), write((20, 90), 2)];
    let history = |reads: [&'static [u8]; 2]| {
        let reads = [read((30, 31), reads[0]), read((40, 41), reads[1])];
        [begin.to_vec(), reads.to_vec()].concat()
    };
    assert!(is_explained(&history([&[1, 1, 1], &[2, 2, 2]]), 0));
    assert!(!is_explained(&history([&[2, 2, 2], &[1, 1, 1]]), 0));
}

#[test]
fn a_name_that_was_removed_is_not_found() {
    let unlink = Operation::Unlink {
        directory: FileId::ROOT,
        name: name("a"),
    };
    let begin = [
        create(0, "a", FILE),
        record(0, (10, 11), unlink, Ok(Outcome::Done)),
    ];
    let history = |observed| [begin.to_vec(), vec![lookup((20, 21), "a", observed)]].concat();
    assert!(is_explained(&history(Err(Errno::ENOENT)), 0));
    assert!(!is_explained(&history(Ok(Outcome::Identity(FILE))), 0));
}

#[test]
fn what_is_read_once_is_not_unread_by_a_failure() {
    let history = [
        create(0, "a", FILE),
        lookup((10, 11), "a", Err(Errno::ENOENT)),
    ];
    assert!(!is_explained(&history, 0));
}

/// The kernel has found the file under its first name, another client moves it, and the kernel
/// finds it under the second one: for a kernel, there is nothing to do then.
#[test]
fn a_kernel_may_find_one_file_under_both_names() {
    let history = [
        create(0, "a", FILE),
        rename(0, (10, 40), "a", "b", Ok(Outcome::Done)),
        rename(1, (20, 30), "a", "b", Ok(Outcome::Done)),
        lookup((50, 51), "b", Ok(Outcome::Identity(FILE))),
    ];
    assert!(is_explained(&history, 1));
    assert!(!is_explained(&history, 0));
    let alone = [history[0].clone(), history[2].clone(), history[1].clone()];
    let mut alone = alone.to_vec();
    (alone[2].called, alone[2].returned) = (Time(32), Some((Time(40), Ok(Outcome::Done))));
    assert!(!is_explained(&alone, 1));
}

/// A close without a wait leaves the lifetime of the file undecided; a close that a client waits
/// for does not.
#[test]
fn a_released_file_may_be_gone_or_not() {
    let unlink = Operation::Unlink {
        directory: FileId::ROOT,
        name: name("a"),
    };
    let open = record(0, (10, 11), Operation::Open(FILE), Ok(Outcome::Done));
    let unlink = record(0, (20, 21), unlink, Ok(Outcome::Done));
    let ended = |close, observed| {
        let close = record(0, (30, 31), close, Ok(Outcome::Done));
        let write = record(1, (40, 41), write((0, 0), 1).operation, observed);
        let begin = vec![create(0, "a", FILE), open.clone(), unlink.clone()];
        is_explained(&[begin, vec![close, write]].concat(), 1)
    };
    assert!(ended(Operation::Release(FILE), Ok(Outcome::Done)));
    assert!(ended(Operation::Release(FILE), Err(Errno::ESTALE)));
    assert!(ended(Operation::Close(FILE), Err(Errno::ESTALE)));
    assert!(!ended(Operation::Close(FILE), Ok(Outcome::Done)));
    assert!(!ended(Operation::Release(OTHER), Ok(Outcome::Done)));
}

/// A holder of a lease on a file that went with a session may read it until the lease is over.
#[test]
fn a_file_that_went_with_a_session_may_still_be_read() {
    let unlink = Operation::Unlink {
        directory: FileId::ROOT,
        name: name("a"),
    };
    let mut begin = vec![
        create(0, "a", FILE),
        record(0, (2, 3), Operation::Open(FILE), Ok(Outcome::Done)),
        record(0, (4, 5), unlink, Ok(Outcome::Done)),
    ];
    let look = Operation::Attributes(FILE);
    let stale = record(2, (20, 21), look, Err(Errno::ESTALE));
    let history = |begin: &[Record]| [begin, &[stale.clone(), read((30, 30), b"")]].concat();
    assert!(!is_explained(&history(&begin), 0));
    begin.push(Record {
        client: 0,
        operation: Operation::Expire,
        called: Time(6),
        returned: None,
    });
    assert!(is_explained(&history(&begin), 0));
}

/// Far more operations than a burst of the fuzzer has, and all at once.
#[test]
fn many_operations_at_once_are_explained_soon() {
    let reads = (0..600).map(|number| read((100 + number, 10_000), &[2, 2, 2]));
    let mut history = vec![create(0, "a", FILE), write((10, 11), 1), write((20, 21), 2)];
    history.extend(reads);
    assert!(is_explained(&history, 0));
    history.push(read((11_000, 11_001), &[1, 1, 1]));
    assert!(!is_explained(&history, 0));
}

/// Another client appends beyond the first chunk for so long, while a write makes the file longer.
fn passed(append: (u64, u64), read: &'static [u8]) -> Vec<Record> {
    let long = Operation::Append {
        id: FILE,
        length: 5000,
        tag: 9,
    };
    vec![
        create(0, "a", FILE),
        record(1, append, long, Ok(Outcome::Number(0))),
        write((20, 2_100_000_000), 1),
        self::read((2_200_000_000, 2_200_000_001), read),
    ]
}

#[test]
fn an_append_is_passed_after_a_grace_time_only() {
    let late = (10, 2_500_000_000);
    assert!(is_explained(&passed(late, &[1, 1, 1]), 0));
    assert!(!is_explained(&passed((10, 1_900_000_000), &[1, 1, 1]), 0));
}
