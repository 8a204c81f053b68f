//! Rings in memory that threads share. They run under Miri, too: `cargo +nightly miri test -p
//! futago-transport --test ring`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::buf::UninitSlice;
use futago_transport::shared_memory::{
    memory::{CONTROL_WORDS, Memory, Word, Words},
    ring::{Reader, Writer},
};
use proptest::prelude::*;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

type Heap = Arc<[AtomicU64]>;

/// Memory for a ring of this many words.
fn heap(data_words: usize) -> Heap {
    (0..CONTROL_WORDS + data_words)
        .map(|_| AtomicU64::new(0))
        .collect()
}

fn view(memory: &Heap) -> Words<Heap> {
    Words::new(Arc::clone(memory)).unwrap()
}

fn ends(memory: &Heap) -> (Writer<Words<Heap>>, Reader<Words<Heap>>) {
    (Writer::new(view(memory)), Reader::new(view(memory)))
}

fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|n| (n * 31 + 7) as u8).collect()
}

#[test]
fn a_ring_needs_bytes() {
    for (words, fits) in [(0, false), (1, true), (3, true)] {
        assert_eq!(Words::new(heap(words)).is_some(), fits, "{words}");
    }
    let no_control: Heap = (0..8).map(AtomicU64::new).collect();
    assert!(Words::new(no_control).is_none());
}

#[test]
fn threads_pass_bytes_on_in_order() {
    let total = if cfg!(miri) { 300 } else { 1_000_000 };
    let (mut writer, mut reader) = ends(&heap(2));
    let sent = pattern(0, total);
    let expected = sent.clone();
    let sending = thread::spawn(move || {
        let mut rest = &sent[..];
        while !rest.is_empty() {
            let length = rest.len().min(1 + rest.len() % 13);
            let count = writer.write([&rest[..length]]).unwrap();
            rest = &rest[count..];
            thread::yield_now();
        }
    });
    let mut received = Vec::new();
    while received.len() < total {
        let mut buffer = [0; 11];
        let count = reader.read(&mut buffer[..]).unwrap();
        received.extend_from_slice(&buffer[..count]);
        thread::yield_now();
    }
    sending.join().unwrap();
    assert!(received == expected);
    assert_eq!(reader.available(), Ok(0));
}

/// Memory of a ring whose reader takes three bytes out whenever the writer checks for room.
#[derive(Default)]
struct Eager {
    read: Cell<u64>,
    bytes: RefCell<Vec<u8>>,
    reported: RefCell<Vec<u64>>,
}

impl Memory for &Eager {
    fn capacity(&self) -> usize {
        1 << 17
    }

    fn load(&self, word: Word) -> u64 {
        if word == Word::Rewound {
            return 0;
        }
        let all = self.bytes.borrow().len() as u64;
        self.read.set((self.read.get() + 3).min(all));
        self.read.get()
    }

    fn store(&self, word: Word, value: u64) {
        if word != Word::Rewound {
            self.reported.borrow_mut().push(value);
        }
    }

    fn take(&self, _: Word) -> u64 {
        0
    }

    fn fence(&self) {}

    fn copy_in(&self, offset: usize, from: &[u8]) {
        let mut bytes = self.bytes.borrow_mut();
        assert_eq!(offset, bytes.len() % self.capacity());
        bytes.extend_from_slice(from);
    }

    fn copy_out(&self, _: usize, _: &mut UninitSlice) {}
}

#[test]
fn what_does_not_fit_is_left_out_though_room_comes_meanwhile() {
    let pieces = [pattern(0, 100_000), pattern(9, 90_000), pattern(5, 2)];
    let memory = Eager::default();
    let mut writer = Writer::new(&memory);
    let count = writer.write(pieces.iter().map(|piece| &piece[..])).unwrap();
    assert!((1 << 17..190_000).contains(&count), "{count}");
    assert!(*memory.bytes.borrow() == pieces.concat()[..count]);
}

#[test]
fn a_reader_hears_of_much_part_by_part() {
    let piece = pattern(0, 100_000);
    let memory = Eager::default();
    Writer::new(&memory).write([&piece[..]]).unwrap();
    assert_eq!(*memory.reported.borrow(), [1 << 16, 100_000]);
}

#[test]
fn a_writer_hears_part_by_part_of_what_is_taken() {
    let memory = Eager::default();
    *memory.bytes.borrow_mut() = pattern(0, 300_000);
    memory.read.set(100_000);
    let mut reader = Reader::new(&memory);
    let count = reader.read(&mut vec![0; 100_000][..]).unwrap();
    assert_eq!(count, 100_000);
    assert_eq!(*memory.reported.borrow(), [1 << 16, 100_000]);
}

#[test]
fn an_empty_ring_uses_the_same_places_again() {
    let memory = heap(2);
    let (mut writer, mut reader) = ends(&memory);
    let first_word = || memory[CONTROL_WORDS].load(Ordering::Relaxed).to_ne_bytes();
    for number in 1..5 {
        assert_eq!(writer.write([&[number; 3][..]]), Ok(3));
        assert_eq!(first_word()[..3], [number; 3]);
        assert_eq!(writer.write([&[9; 2][..]]), Ok(2), "after those");
        let mut taken = [0; 5];
        assert_eq!(reader.read(&mut taken[..]), Ok(5));
        assert_eq!(taken, [number, number, number, 9, 9]);
    }
}

#[test]
fn what_comes_after_much_does_not_go_to_the_same_places() {
    let memory = heap(1 << 14);
    let (mut writer, mut reader) = ends(&memory);
    let much = pattern(0, 100_000);
    let mut taken = vec![0; much.len()];
    for first in [b"ab", b"cd"] {
        assert_eq!(writer.write([&much[..]]), Ok(much.len()));
        assert_eq!(reader.read(&mut taken[..]), Ok(much.len()));
        assert_eq!(taken, much);
        assert_eq!(writer.write([&first[..]]), Ok(2));
        assert_eq!(reader.read(&mut taken[..2]), Ok(2));
        assert_eq!(taken[..2], first[..]);
    }
    let bytes = |offset: usize| {
        let words = memory[CONTROL_WORDS + offset / 8..].iter();
        let bytes = words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        bytes.skip(offset % 8).take(2).collect::<Vec<u8>>()
    };
    // The second large write begins where the first small one was.
    assert_eq!(bytes(100_000), much[..2]);
    assert_eq!(bytes(200_000 % (1 << 17)), b"cd");
}

#[test]
fn who_sleeps_is_woken_once() {
    let (mut writer, mut reader) = ends(&heap(1));
    assert!(!writer.must_wake(), "nobody sleeps");
    assert_eq!(reader.prepare_to_block(), Ok(true));
    assert_eq!(writer.write([&[1; 8][..]]), Ok(8));
    assert!(writer.must_wake() && !writer.must_wake());
    assert_eq!(reader.prepare_to_block(), Ok(false), "there are bytes");
    assert_eq!(writer.prepare_to_block(), Ok(true), "there is no room");
    assert_eq!(reader.read(&mut [0; 3][..]), Ok(3));
    assert!(reader.must_wake() && !reader.must_wake());
    assert_eq!(writer.prepare_to_block(), Ok(false), "there is room");
}

#[test]
fn impossible_positions_are_reported() {
    for reported in [3, 13, u64::MAX, 1 << 40] {
        let memory = heap(1);
        let (mut writer, mut reader) = ends(&memory);
        assert_eq!(writer.write([&[1; 4][..]]), Ok(4));
        assert_eq!(reader.read(&mut [0; 4][..]), Ok(4));
        view(&memory).store(Word::Written, reported);
        let error = reader.read(&mut [0; 8][..]).unwrap_err().to_string();
        assert!(error.contains(&reported.to_string()), "{error}");
        assert!(reader.available().is_err() && reader.prepare_to_block().is_err());
    }
    for reported in [5, u64::MAX - 9, 1 << 40] {
        let memory = heap(1);
        let (mut writer, _) = ends(&memory);
        assert_eq!(writer.write([&[1; 4][..]]), Ok(4));
        view(&memory).store(Word::Read, reported);
        let error = writer.write([&[1; 4][..]]).unwrap_err().to_string();
        assert!(error.contains(&reported.to_string()), "{error}");
        assert!(writer.room().is_err() && writer.prepare_to_block().is_err());
    }
}

/// The other end writes everywhere, all the time. It can only cause other bytes and errors
/// (invariant T2).
#[test]
fn a_peer_that_writes_rubbish_sends_rubbish() {
    let rounds = if cfg!(miri) { 100 } else { 100_000 };
    let memory = heap(30);
    let (mut writer, mut reader) = ends(&memory);
    let hostile = thread::spawn(move || {
        let mut random = 1_u64;
        for _ in 0..rounds {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let word = &memory[(random >> 32) as usize % memory.len()];
            word.store(random >> (random % 64), Ordering::Relaxed);
        }
    });
    let mut buffer = [0; 240];
    while !hostile.is_finished() {
        for length in [1, 7, 8, 16, 100, 240] {
            let read = reader.read(&mut buffer[..length]);
            assert!(read.is_err() || read.is_ok_and(|count| count <= length));
            let written = writer.write([&buffer[..length]]);
            assert!(written.is_err() || written.is_ok_and(|count| count <= length));
        }
        thread::yield_now();
    }
    hostile.join().unwrap();
}

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<usize>),
    Read(usize),
}

/// Mostly short, and sometimes several cache lines.
fn length(short: usize) -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..short, 1 => 0_usize..600]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        prop::collection::vec(length(20), 0..4).prop_map(Step::Write),
        length(40).prop_map(Step::Read),
    ];
    let most = if cfg!(miri) { 20 } else { 200 };
    prop::collection::vec(step, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A ring is a bounded queue of bytes, for all lengths and wherever it wraps.
    #[test]
    fn a_ring_is_a_bounded_queue(steps in steps(), words in prop::sample::select(vec![1, 2, 3, 4, 50, 100])) {
        let (mut writer, mut reader) = ends(&heap(words));
        let capacity = words * 8;
        let mut model = VecDeque::new();
        let mut sent = 0;
        for step in steps {
            match step {
                Step::Write(lengths) => {
                    let bytes = pattern(sent, lengths.iter().sum());
                    let mut rest = &bytes[..];
                    let pieces: Vec<&[u8]> = lengths
                        .iter()
                        .map(|&length| rest.split_off(..length).unwrap())
                        .collect();
                    let count = writer.write(pieces).unwrap();
                    prop_assert_eq!(count, bytes.len().min(capacity - model.len()));
                    model.extend(&bytes[..count]);
                    sent += count;
                }
                Step::Read(length) => {
                    let mut buffer = vec![0; length];
                    let count = reader.read(&mut buffer[..]).unwrap();
                    prop_assert_eq!(count, length.min(model.len()));
                    let expected: Vec<u8> = model.drain(..count).collect();
                    prop_assert_eq!(&buffer[..count], &expected[..]);
                }
            }
            prop_assert_eq!(reader.available().unwrap(), model.len());
            prop_assert_eq!(writer.room().unwrap(), capacity - model.len());
        }
    }
}
