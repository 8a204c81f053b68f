//! Operations through a mount with several threads are recorded once, as operations of their
//! callers.

mod fixture;

use fixture::{GIVE_UP_SECONDS, Twins};
use futago_node::Recorder;
use futago_trace::{Operation, Record};
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

/// The mount with several threads.
const MANY: usize = 1;
const CALLERS: u64 = 3;
/// Pieces that each caller writes: so many that each of the mount's threads gets some of them.
const PIECES: u64 = 40;
/// A chunk and a half.
const PIECE_BYTES: u64 = 6144;

/// Writes a file and reads it, and returns the number of the thread that did.
fn write_and_read(path: &Path, caller: u64) -> u64 {
    let file = File::create_new(path).expect("made");
    let piece = vec![caller as u8; PIECE_BYTES as usize];
    for index in 0..PIECES {
        let offset = index * PIECE_BYTES;
        file.write_all_at(&piece, offset).expect("written");
    }
    let whole = fs::read(path).expect("read");
    assert!(whole == vec![caller as u8; (PIECES * PIECE_BYTES) as usize]);
    // SAFETY: gettid has no preconditions.
    let thread = unsafe { libc::gettid() };
    thread as u64
}

fn records(text: &str) -> Vec<Record> {
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// How often a thread did something.
fn count(records: &[Record], process: u64, what: impl Fn(&Operation) -> bool) -> u64 {
    let own = records.iter().filter(|record| record.process == process);
    own.filter(|record| what(&record.operation)).count() as u64
}

#[test]
fn each_caller_is_a_process_that_did_what_it_did() {
    let directory = tempfile::tempdir().expect("folder");
    let path = directory.path().join("trace.jsonl");
    let recorder = Recorder::create(&path).expect("a recorder");
    let Some(twins) = Twins::start_with(Some(recorder.clone()), GIVE_UP_SECONDS) else {
        return;
    };
    let callers: Vec<u64> = thread::scope(|scope| {
        let callers = (0..CALLERS).map(|caller| {
            let path = twins.path(MANY, &format!("file-{caller}"));
            scope.spawn(move || write_and_read(&path, caller))
        });
        let callers: Vec<_> = callers.collect();
        let threads = callers.into_iter().map(|caller| caller.join());
        threads.map(|thread| thread.expect("a caller")).collect()
    });
    drop(twins);
    recorder.end().expect("recorded");
    let text = fs::read_to_string(&path).expect("a trace");
    let records = records(&text);
    assert!(
        records
            .iter()
            .all(|record| record.error.is_none_or(|errno| errno.name() == "ENOENT"))
    );
    let closes = records
        .iter()
        .filter(|record| matches!(record.operation, Operation::Close { .. }));
    // The end of the mount may come before the last of them.
    assert!(closes.count() as u64 <= 2 * CALLERS);
    for caller in callers {
        let count = |what: fn(&Operation) -> bool| count(&records, caller, what);
        let made = count(|operation| matches!(operation, Operation::Create { open: true, .. }));
        let opened = count(|operation| matches!(operation, Operation::Open { .. }));
        assert_eq!((made, opened), (1, 1));
        let mut written = BTreeMap::new();
        for record in records.iter().filter(|record| record.process == caller) {
            if let Operation::Write { offset, length, .. } = record.operation {
                written.insert(offset, length);
            }
        }
        let expected = (0..PIECES).map(|index| (index * PIECE_BYTES, PIECE_BYTES));
        assert_eq!(written, expected.collect());
        assert_eq!(
            count(|operation| matches!(operation, Operation::Write { .. })),
            PIECES
        );
    }
    let last = text.lines().last().expect("lines");
    let expected = format!(
        r#"{{"end":{{"operations":{},"left_out":0}}}}"#,
        records.len()
    );
    assert_eq!(last, expected);
}
