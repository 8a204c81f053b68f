//! The data in memory, as much as fits. Data that has not been read since it came goes first
//! (the clock algorithm: Corbato, A Paging Experiment with the Multics System, 1968).

use super::piece::Piece;
use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// The pieces whose bytes are in memory.
#[derive(Debug, Default)]
pub struct Cache {
    queue: Mutex<VecDeque<Weak<Piece>>>,
    bytes: AtomicU64,
}

impl Cache {
    /// Takes a piece that has got its bytes.
    pub fn insert(&self, piece: Weak<Piece>, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.queue().push_back(piece);
    }

    /// A piece has lost so many bytes.
    pub fn note_lost(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// The bytes in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Removes bytes until there are at most so many.
    pub fn shrink(&self, limit_bytes: u64) {
        while self.bytes() > limit_bytes {
            let Some(next) = self.queue().pop_front() else {
                return;
            };
            if let Some(piece) = next.upgrade()
                && !piece.give_up()
            {
                self.queue().push_back(next);
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Weak<Piece>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
