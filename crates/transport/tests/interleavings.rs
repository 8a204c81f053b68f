//! Every interleaving of a ring's two ends, with their sleeping and waking, as far as loom finds
//! them (CDSChecker: Norris and Demsky, OOPSLA 2013). A lost wake-up is a deadlock, which loom
//! reports.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::buf::UninitSlice;
use futago_transport::shared_memory::{
    memory::{Memory, Word},
    ring::{Reader, Writer},
};
use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Notify,
        atomic::{AtomicU64, Ordering, fence},
    },
    thread,
};

/// Two bytes, so that rings are full and wrap at once. Loom reports accesses that are not ordered.
struct Modelled {
    words: [AtomicU64; 5],
    bytes: [UnsafeCell<u8>; 2],
}

#[derive(Clone)]
struct View(Arc<Modelled>);

impl Memory for View {
    fn capacity(&self) -> usize {
        self.0.bytes.len()
    }

    fn load(&self, word: Word) -> u64 {
        self.0.words[word as usize].load(Ordering::Acquire)
    }

    fn store(&self, word: Word, value: u64) {
        self.0.words[word as usize].store(value, Ordering::Release);
    }

    fn take(&self, word: Word) -> u64 {
        self.0.words[word as usize].swap(0, Ordering::AcqRel)
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn copy_in(&self, offset: usize, from: &[u8]) {
        for (byte, cell) in from.iter().zip(&self.0.bytes[offset..]) {
            // SAFETY: loom reports an access that is not ordered before or after it.
            cell.with_mut(|to| unsafe { *to = *byte });
        }
    }

    fn copy_out(&self, offset: usize, into: &mut UninitSlice) {
        for (index, cell) in (0..into.len()).zip(&self.0.bytes[offset..]) {
            // SAFETY: loom reports an access that is not ordered before or after it.
            cell.with(|from| into.write_byte(index, unsafe { *from }));
        }
    }
}

fn ends() -> (Writer<View>, Reader<View>) {
    let view = View(Arc::new(Modelled {
        words: Default::default(),
        bytes: Default::default(),
    }));
    (Writer::new(view.clone()), Reader::new(view))
}

/// Writes all of the bytes, and blocks while there is no room.
fn send(writer: &mut Writer<View>, mut bytes: &[u8], own: &Notify, peer: &Notify) {
    while !bytes.is_empty() {
        let count = writer.write([bytes]).unwrap();
        bytes = &bytes[count..];
        if count > 0 && writer.must_wake() {
            peer.notify();
        }
        if !bytes.is_empty() && writer.prepare_to_block().unwrap() {
            own.wait();
        }
    }
}

/// Reads this many bytes, and blocks while there are none. It cancels the announcement after each
/// wake-up.
fn receive(reader: &mut Reader<View>, total: usize, own: &Notify, peer: &Notify) -> Vec<u8> {
    let mut received = Vec::new();
    while received.len() < total {
        reader.cancel_block();
        let mut buffer = [0; 2];
        let count = reader.read(&mut buffer[..]).unwrap();
        received.extend_from_slice(&buffer[..count]);
        if count > 0 && reader.must_wake() {
            peer.notify();
        }
        if received.len() < total && reader.prepare_to_block().unwrap() {
            own.wait();
        }
    }
    received
}

/// The most preemptions of a thread: most mistakes show with two (Musuvathi and Qadeer, PLDI 2007).
const PREEMPTIONS: usize = 2;

fn check(messages: &'static [&'static [u8]]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS);
    model.check(move || {
        let (mut writer, mut reader) = ends();
        let (for_writer, for_reader) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (own, peer) = (for_writer.clone(), for_reader.clone());
        let sending = thread::spawn(move || {
            for message in messages {
                send(&mut writer, message, &own, &peer);
            }
        });
        let expected = messages.concat();
        let received = receive(&mut reader, expected.len(), &for_reader, &for_writer);
        assert_eq!(received, expected);
        sending.join().unwrap();
    });
}

#[test]
fn a_sleeping_reader_is_woken() {
    check(&[b"a", b"b"]);
}

#[test]
fn a_sleeping_writer_is_woken() {
    check(&[b"abc"]);
}

#[test]
fn both_block_alternately_while_the_ring_wraps() {
    check(&[b"ab", b"cd"]);
}

#[test]
fn an_empty_ring_goes_back_while_the_reader_looks() {
    check(&[b"a", b"bc"]);
}
