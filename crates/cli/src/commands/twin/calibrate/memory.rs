//! How fast file data is copied: from memory through a ring, as connections do it, into other memory.

use futago_transport::shared_memory::{
    memory::{CONTROL_WORDS, Words},
    ring::{Reader, Writer},
};
use std::{
    sync::{Arc, Barrier, atomic::AtomicU64},
    thread,
    time::Instant,
};

/// What is copied at a time, and the size of a ring.
const PIECE_BYTES: usize = 1 << 20;
/// What a thread copies from, and into, in turn: more than fits its caches.
const PIECES: usize = 64;
/// How many pieces a thread copies in one round.
const COPIES: usize = 256;

/// How many bytes so many threads copy in a second, all together. Each byte is copied twice: into a ring and out
/// of it.
pub fn bytes_per_s(threads: usize) -> f64 {
    let ready = Barrier::new(threads);
    let seconds: f64 = thread::scope(|scope| {
        let copying: Vec<_> = (0..threads).map(|_| scope.spawn(|| copy(&ready))).collect();
        // A thread that panicked has said so; the rate of the others stands.
        let ended = copying.into_iter().filter_map(|thread| thread.join().ok());
        ended.fold(0.0, f64::max)
    });
    (2 * threads * COPIES * PIECE_BYTES) as f64 / seconds.max(f64::MIN_POSITIVE)
}

/// Copies with others, and tells how many seconds it took.
fn copy(ready: &Barrier) -> f64 {
    let words = CONTROL_WORDS + PIECE_BYTES / size_of::<AtomicU64>();
    let ring: Arc<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
    let ends = (Words::new(Arc::clone(&ring)), Words::new(ring));
    let (Some(input), Some(output)) = ends else {
        return 0.0;
    };
    let (mut writer, mut reader) = (Writer::new(input), Reader::new(output));
    let from = vec![1_u8; PIECES * PIECE_BYTES];
    let mut into = vec![2_u8; PIECES * PIECE_BYTES];
    ready.wait();
    let began = Instant::now();
    for number in 0..COPIES {
        let place = number % PIECES * PIECE_BYTES;
        let range = place..place + PIECE_BYTES;
        // Both ends are ours, so neither tells nonsense.
        let _ = writer.write([&from[range.clone()]]);
        let _ = reader.read(&mut into[range]);
    }
    began.elapsed().as_secs_f64()
}
