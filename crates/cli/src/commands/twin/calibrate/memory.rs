//! How fast file data is copied: from memory through the rings of connections, as they do it, into
//! other memory.

use futago_transport::shared_memory::{
    memory::Words,
    region::{self, Direction},
    ring::{Reader, Writer},
};
use std::{io, iter, sync::Barrier, thread, time::Instant};

/// Bytes of one copy.
const PIECE_BYTES: usize = 1 << 20;
/// The pieces between which a thread copies one after the other: more than fits its caches.
const PIECES: usize = 64;
/// How many pieces a thread copies in one round.
const COPIES: usize = 256;
/// Of how many connections each thread copies through a ring, where they are few and where they are
/// many.
pub const CONNECTIONS: [usize; 2] = [1, 8];

/// How many bytes so many threads copy in a second, all together, each through so many connections
/// of its own. Each byte is copied twice: into a ring and out of it.
pub fn bytes_per_s(threads: usize, connections: usize) -> io::Result<f64> {
    let ready = Barrier::new(threads);
    let rings = iter::repeat_with(|| rings(connections)).take(threads);
    let rings: Vec<Vec<Ring>> = rings.collect::<io::Result<_>>()?;
    let seconds: f64 = thread::scope(|scope| {
        let ready = &ready;
        let copying = rings
            .into_iter()
            .map(|rings| scope.spawn(move || copy(rings, ready)));
        let copying: Vec<_> = copying.collect();
        // A thread that panicked has said so; the rate of the others stands.
        let ended = copying.into_iter().filter_map(|thread| thread.join().ok());
        ended.fold(0.0, f64::max)
    });
    Ok((2 * threads * COPIES * PIECE_BYTES) as f64 / seconds.max(f64::MIN_POSITIVE))
}

/// Both ends of one direction of a connection.
struct Ring {
    writer: Writer<Words<Direction>>,
    reader: Reader<Words<Direction>>,
}

fn rings(count: usize) -> io::Result<Vec<Ring>> {
    let ring = || {
        let (file, ours) = region::create()?;
        let theirs = region::accept(file)?;
        Ok(Ring {
            writer: Writer::new(ours.outgoing),
            reader: Reader::new(theirs.incoming),
        })
    };
    iter::repeat_with(ring).take(count).collect()
}

/// Copies beside other threads and returns the time in seconds. All connections have a piece under
/// way.
fn copy(mut rings: Vec<Ring>, ready: &Barrier) -> f64 {
    let from = vec![1_u8; PIECES * PIECE_BYTES];
    let mut into = vec![2_u8; PIECES * PIECE_BYTES];
    let range = |number: usize| {
        let place = number % PIECES * PIECE_BYTES;
        place..place + PIECE_BYTES
    };
    ready.wait();
    let began = Instant::now();
    for first in (0..COPIES).step_by(rings.len().max(1)) {
        // Both ends are ours, so neither sends invalid data.
        for (number, ring) in (first..).zip(&mut rings) {
            let _ = ring.writer.write([&from[range(number)]]);
        }
        for (number, ring) in (first..).zip(&mut rings) {
            let _ = ring.reader.read(&mut into[range(number)]);
        }
    }
    began.elapsed().as_secs_f64()
}
