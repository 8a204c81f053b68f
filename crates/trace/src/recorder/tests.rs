use super::*;
use crate::{End, Ending, ExistingKind, Exists, ROOT, Record};
use futago_base::{Kind, Name};
use proptest::{collection::vec, option, prelude::*};
use serde_json::Value;

/// A file in memory that the tests can read, with limited space.
#[derive(Clone)]
struct Paper {
    text: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Paper {
    fn new(room: usize) -> Self {
        let text = Arc::default();
        Self { text, room }
    }

    /// The lines without the header.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.text.lock().unwrap().clone()).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        assert_eq!(lines.next().unwrap(), "{\"futago_trace\":1}");
        lines.collect()
    }
}

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = self.text.lock().unwrap();
        let fits = bytes.len().min(self.room - text.len());
        text.extend(&bytes[..fits]);
        if fits == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn recorder(paper: &Paper) -> Recorder {
    Recorder::to(paper.clone(), "paper".into()).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text.to_owned()).unwrap()
}

fn stat(directory: u64, text: &str, file: u64) -> Operation {
    Operation::Stat {
        directory,
        name: name(text),
        file: Some(file),
    }
}

fn made(text: &str, file: u64) -> Operation {
    Operation::Create {
        directory: ROOT,
        name: name(text),
        exclusive: true,
        open: true,
        length: 0,
        file: Some(file),
    }
}

fn list() -> Operation {
    Operation::ReadDirectory {
        file: ROOT,
        after: 0,
        entries: 9,
        attributes: false,
    }
}

fn met(directory: u64, text: &str, file: u64, kind: Kind, size: Option<u64>) -> Met {
    Met {
        file,
        directory,
        name: name(text),
        kind,
        size,
    }
}

/// Records operations of process 7 one after the other, and returns the lines without times.
fn recorded(steps: impl IntoIterator<Item = (Operation, Option<Errno>, Vec<Met>)>) -> Vec<String> {
    let paper = Paper::new(1 << 20);
    let recorder = recorder(&paper);
    for (operation, error, met) in steps {
        recorder.begin(Some(7)).unwrap().tell(operation, error, met);
    }
    recorder.end().unwrap();
    timeless(&paper)
}

fn timeless(paper: &Paper) -> Vec<String> {
    let lines = paper.lines().into_iter().map(|line| {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        if let Some(record) = line.as_object_mut() {
            record.remove("begin_ns");
            record.remove("took_ns");
        }
        line.to_string()
    });
    lines.collect()
}

#[test]
fn a_found_file_existed_before_and_a_created_one_did_not() {
    let lines = recorded([
        (
            stat(0, "d", 4),
            None,
            vec![met(0, "d", 4, Kind::Directory, Some(3))],
        ),
        (
            stat(4, "f", 5),
            None,
            vec![met(4, "f", 5, Kind::File, Some(10))],
        ),
        (
            stat(4, "f", 5),
            None,
            vec![met(4, "f", 5, Kind::File, Some(10))],
        ),
        (made("new", 6), None, vec![]),
        (
            stat(0, "new", 6),
            None,
            vec![met(0, "new", 6, Kind::File, Some(0))],
        ),
    ]);
    let expected = [
        r#"{"exists":{"file":4,"in":0,"kind":"directory","name":"d"}}"#,
        r#"{"operation":{"stat":{"file":4,"in":0,"name":"d"}},"process":7}"#,
        r#"{"exists":{"file":5,"in":4,"kind":{"file":{"size":10}},"name":"f"}}"#,
        r#"{"operation":{"stat":{"file":5,"in":4,"name":"f"}},"process":7}"#,
        r#"{"operation":{"stat":{"file":5,"in":4,"name":"f"}},"process":7}"#,
        r#"{"operation":{"create":{"exclusive":true,"file":6,"in":0,"name":"new","open":true}},"process":7}"#,
        r#"{"operation":{"stat":{"file":6,"in":0,"name":"new"}},"process":7}"#,
        r#"{"end":{"left_out":0,"operations":5}}"#,
    ];
    assert_eq!(lines, expected);
}

/// The lookup begins and ends before the end of the creation.
#[test]
fn a_file_that_is_found_while_it_is_created_did_not_exist_before() {
    let paper = Paper::new(1 << 20);
    let recorder = recorder(&paper);
    let mut making = recorder.begin(Some(1)).unwrap();
    let mut finding = recorder.begin(Some(2)).unwrap();
    finding.tell(
        stat(0, "a", 9),
        None,
        vec![met(0, "a", 9, Kind::File, Some(0))],
    );
    drop(finding);
    making.tell(made("a", 9), None, vec![]);
    drop(making);
    recorder.end().unwrap();
    let expected = [
        r#"{"operation":{"create":{"exclusive":true,"file":9,"in":0,"name":"a","open":true}},"process":1}"#,
        r#"{"operation":{"stat":{"file":9,"in":0,"name":"a"}},"process":2}"#,
        r#"{"end":{"left_out":0,"operations":2}}"#,
    ];
    assert_eq!(timeless(&paper), expected);
}

/// A listing does not include sizes; a later stat supplies the size.
#[test]
fn a_listed_file_existed_before() {
    let listed = vec![
        met(0, "a", 4, Kind::File, None),
        met(0, "b", 5, Kind::File, None),
        met(0, "c", 6, Kind::Directory, None),
    ];
    let lines = recorded([
        (list(), None, listed),
        (
            stat(0, "b", 5),
            None,
            vec![met(0, "b", 5, Kind::File, Some(77))],
        ),
    ]);
    let existing: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("exists"))
        .collect();
    let expected = [
        r#"{"exists":{"file":6,"in":0,"kind":"directory","name":"c"}}"#,
        r#"{"exists":{"file":5,"in":0,"kind":{"file":{"size":77}},"name":"b"}}"#,
        r#"{"exists":{"file":4,"in":0,"kind":{"file":{"size":0}},"name":"a"}}"#,
    ];
    assert_eq!(existing, expected);
}

/// A long listing includes files that are created meanwhile.
#[test]
fn a_file_that_is_created_during_a_listing_did_not_exist_before() {
    for size in [None, Some(0)] {
        let paper = Paper::new(1 << 20);
        let recorder = recorder(&paper);
        let mut listing = recorder.begin(Some(1)).unwrap();
        let mut making = recorder.begin(Some(2)).unwrap();
        making.tell(made("a", 9), None, vec![]);
        drop(making);
        listing.tell(list(), None, vec![met(0, "a", 9, Kind::File, size)]);
        drop(listing);
        recorder.end().unwrap();
        let lines = timeless(&paper);
        assert!(
            !lines.iter().any(|line| line.contains("exists")),
            "{lines:?}"
        );
    }
}

/// A rename of a file that was only listed does not change its original location.
#[test]
fn a_file_that_is_listed_and_moved_existed_where_it_was_listed() {
    let rename = Operation::Rename {
        directory: ROOT,
        name: name("a"),
        new_in: ROOT,
        new_name: name("b"),
        no_replace: false,
        exchange: false,
    };
    let lines = recorded([
        (list(), None, vec![met(0, "a", 4, Kind::File, None)]),
        (rename, None, vec![]),
        (
            stat(0, "b", 4),
            None,
            vec![met(0, "b", 4, Kind::File, Some(77))],
        ),
    ]);
    let expected = r#"{"exists":{"file":4,"in":0,"kind":{"file":{"size":77}},"name":"a"}}"#;
    let existing: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("exists"))
        .collect();
    assert_eq!(existing, [expected]);
}

/// A path that leads through a file, and then the file itself.
#[test]
fn a_file_that_is_found_twice_has_the_size_of_the_second_time() {
    let lines = recorded([
        (
            stat(0, "f", 4),
            None,
            vec![met(0, "f", 4, Kind::File, None)],
        ),
        (
            stat(0, "f", 4),
            None,
            vec![met(0, "f", 4, Kind::File, Some(77))],
        ),
    ]);
    let expected = r#"{"exists":{"file":4,"in":0,"kind":{"file":{"size":77}},"name":"f"}}"#;
    assert!(lines.contains(&expected.to_owned()), "{lines:?}");
}

#[test]
fn names_that_nobody_looked_at_have_been_there_if_they_were_used() {
    let unlink = Operation::Unlink {
        directory: ROOT,
        name: name("old"),
    };
    let rename = Operation::Rename {
        directory: ROOT,
        name: name("from"),
        new_in: ROOT,
        new_name: name("to"),
        no_replace: false,
        exchange: false,
    };
    let make = Operation::MakeDirectory {
        directory: ROOT,
        name: name("there"),
        file: None,
    };
    let lines = recorded([
        (unlink, None, vec![]),
        (rename, None, vec![]),
        (
            stat(0, "to", 5),
            None,
            vec![met(0, "to", 5, Kind::Directory, Some(0))],
        ),
        (make, Some(Errno::EEXIST), vec![]),
        (
            stat(0, "there", 6),
            None,
            vec![met(0, "there", 6, Kind::Directory, Some(0))],
        ),
    ]);
    let existing: Vec<String> = lines
        .into_iter()
        .filter(|line| line.contains("exists"))
        .collect();
    let invented = i64::MAX;
    let expected = [
        format!(
            r#"{{"exists":{{"file":{invented},"in":0,"kind":{{"file":{{"size":0}}}},"name":"old"}}}}"#
        ),
        r#"{"exists":{"file":5,"in":0,"kind":"directory","name":"from"}}"#.into(),
        r#"{"exists":{"file":6,"in":0,"kind":"directory","name":"there"}}"#.into(),
    ];
    assert_eq!(existing, expected);
}

/// Kernels close files and write mapped pages on behalf of no process.
#[test]
fn operations_without_a_process_belong_to_the_opener() {
    let paper = Paper::new(1 << 20);
    let recorder = recorder(&paper);
    let one = |process, operation| {
        recorder
            .begin(process)
            .unwrap()
            .tell(operation, None, vec![]);
    };
    one(Some(1), made("a", 9));
    one(Some(2), Operation::Open { file: 9 });
    let (offset, length) = (0, 5);
    one(
        None,
        Operation::Write {
            file: 9,
            offset,
            length,
        },
    );
    one(Some(2), Operation::Close { file: 9 });
    one(Some(77), Operation::Close { file: 9 });
    recorder.end().unwrap();
    let processes: Vec<u64> = records(&paper)
        .iter()
        .map(|record| record.process)
        .collect();
    assert_eq!(processes, [1, 2, 1, 2, 1]);
}

#[test]
fn what_is_about_a_file_without_a_name_is_left_out_and_counted() {
    let lines = recorded([(Operation::Open { file: 8 }, None, vec![])]);
    assert_eq!(lines, [r#"{"end":{"left_out":1,"operations":0}}"#]);
}

fn records(paper: &Paper) -> Vec<Record> {
    let lines = paper.lines();
    let records = lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok());
    records.collect()
}

/// All operations continue, written lines stay, and the line of the end is missing.
#[test]
fn a_full_disk_ends_the_recording() {
    let paper = Paper::new(1000);
    let recorder = recorder(&paper);
    while let Some(mut begun) = recorder.begin(Some(1)) {
        begun.tell(made("a", 9), None, vec![]);
    }
    assert!(recorder.begin(Some(1)).is_none());
    let error = recorder.end().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    let lines = paper.lines();
    assert!(records(&paper).len() >= 5, "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("end")), "{lines:?}");
}

/// A program that crashes after it has waited leaves the operations before the wait.
#[test]
fn operations_are_written_before_the_end() {
    let paper = Paper::new(1 << 20);
    let recorder = recorder(&paper);
    for number in 0..100 {
        let mut begun = recorder.begin(Some(1)).unwrap();
        begun.tell(made("a", 9 + number), None, vec![]);
    }
    while records(&paper).len() < 100 {
        thread::yield_now();
    }
    recorder.end().unwrap();
}

/// The header can be written, and nothing more while the test holds the pen.
struct Stuck {
    paper: Paper,
    pen: Arc<Mutex<()>>,
}

impl io::Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _pen = self.pen.lock().unwrap();
        self.paper.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// No operation waits for a disk that hangs.
#[test]
fn operations_do_not_wait_for_a_slow_recorder() {
    let (paper, pen) = (Paper::new(1 << 30), Arc::default());
    let stuck = Stuck {
        paper: paper.clone(),
        pen: Arc::clone(&pen),
    };
    let recorder = Recorder::to(stuck, "stuck".into()).unwrap();
    let held = pen.lock().unwrap();
    while let Some(mut begun) = recorder.begin(Some(1)) {
        begun.tell(Operation::Open { file: ROOT }, None, vec![]);
    }
    drop(held);
    let error = recorder.end().unwrap_err();
    assert_eq!(
        error.to_string(),
        "operations came faster than they were written"
    );
    assert!(records(&paper).len() >= WAITING_MAX);
    assert!(!paper.lines().iter().any(|line| line.contains("end")));
}

/// One operation never ends, and others continue.
#[test]
fn a_long_operation_does_not_delay_all_others() {
    let paper = Paper::new(1 << 30);
    let recorder = recorder(&paper);
    let endless = recorder.begin(Some(1));
    for _ in 0..order::HELD_MAX + 10 {
        let mut begun = recorder.begin(Some(2)).unwrap();
        begun.tell(Operation::Open { file: ROOT }, None, vec![]);
    }
    while records(&paper).len() < 10 {
        thread::yield_now();
    }
    drop(endless);
    recorder.end().unwrap();
    assert_eq!(records(&paper).len(), order::HELD_MAX + 10);
}

#[test]
fn a_file_that_cannot_be_created_or_written_is_reported() {
    let missing = Recorder::create(Path::new("/nowhere/at/all")).unwrap_err();
    let full = Recorder::create(Path::new("/dev/full")).unwrap_err();
    let text = format!("{missing}\n{full}");
    let expected = "cannot record to /nowhere/at/all: No such file or directory (os error 2)\n\
                    cannot record to /dev/full: No space left on device (os error 28)";
    assert_eq!(text, expected);
}

fn any_name() -> impl Strategy<Value = Name> {
    vec(1u8.., 1..20).prop_filter_map("a name", |bytes| Name::new(bytes).ok())
}

/// The number of an existing file.
fn any_file() -> impl Strategy<Value = u64> {
    1..5u64
}

fn any_operation_on_names() -> impl Strategy<Value = Operation> {
    let place = || (any_file(), any_name(), option::of(10..20u64));
    let create = (place(), any::<(bool, bool, u64)>());
    let rename = (any_file(), any_name(), any_file(), any_name());
    prop_oneof![
        place().prop_map(|(directory, name, file)| Operation::Stat {
            directory,
            name,
            file,
        }),
        create.prop_map(|((directory, name, file), (exclusive, open, length))| {
            Operation::Create {
                directory,
                name,
                exclusive,
                open,
                length,
                file,
            }
        }),
        (rename, any::<(bool, bool)>()).prop_map(
            |((directory, name, new_in, new_name), (no_replace, exchange))| Operation::Rename {
                directory,
                name,
                new_in,
                new_name,
                no_replace,
                exchange,
            }
        ),
    ]
}

fn any_operation_on_files() -> impl Strategy<Value = Operation> {
    let change = (
        any_file(),
        option::of(any::<u64>()),
        option::of(any::<u16>()),
    );
    let copy = (any_file(), any_file(), any::<(u64, u64, u64)>());
    let list = (any_file(), any::<(u64, u32, bool)>());
    prop_oneof![
        change.prop_map(|(file, size, mode)| Operation::SetAttributes { file, size, mode }),
        copy.prop_map(|(file, to, (offset, to_offset, length))| Operation::Copy {
            file,
            offset,
            to,
            to_offset,
            length,
        }),
        list.prop_map(
            |(file, (after, entries, attributes))| Operation::ReadDirectory {
                file,
                after,
                entries,
                attributes,
            }
        ),
    ]
}

/// Operations on existing files, with all kinds of keys.
fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![any_operation_on_names(), any_operation_on_files()]
}

proptest! {
    #[test]
    fn what_is_recorded_is_read_back_equal(
        operations in vec((option::of(1..9u64), any_operation(), any::<bool>()), 0..40)
    ) {
        let paper = Paper::new(1 << 20);
        let recorder = recorder(&paper);
        let directory = |file| met(ROOT, &format!("directory {file}"), file, Kind::Directory, None);
        let listing = (1..5).map(directory).collect();
        recorder.begin(Some(1)).unwrap().tell(list(), None, listing);
        let mut steps = vec![(list(), None)];
        for (process, operation, fails) in operations {
            let error = fails.then_some(Errno::EIO).filter(|_| operation.finds().is_none());
            recorder.begin(process).unwrap().tell(operation.clone(), error, vec![]);
            steps.push((operation, error));
        }
        recorder.end().unwrap();
        let records = records(&paper);
        let lines = paper.lines();
        let ending = Ending { operations: records.len() as u64, left_out: 0 };
        prop_assert_eq!(serde_json::from_str::<End>(lines.last().unwrap()).unwrap().end, ending);
        let there = lines.iter().filter_map(|line| serde_json::from_str::<Exists>(line).ok());
        let kinds: Vec<_> = there.map(|line| line.exists.kind).collect();
        prop_assert_eq!(&kinds[..4], [ExistingKind::Directory; 4]);
        prop_assert!(records.is_sorted_by_key(|record| record.begin_ns));
        let read: Vec<_> = records.into_iter().map(|r| (r.operation, r.error)).collect();
        prop_assert_eq!(read, steps);
    }
}
