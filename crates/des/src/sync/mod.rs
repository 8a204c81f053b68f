//! The synchronization of threads. Each primitive, here and in the executors, is tested with loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p futago-des --release --lib every_interleaving`.

mod barrier;
mod mail;

pub(crate) use barrier::Barrier;
pub(crate) use mail::MailGrid;

#[cfg(loom)]
pub(crate) mod primitives {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[cfg(not(loom))]
pub(crate) mod primitives {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub use std::sync::{Condvar, Mutex, MutexGuard};
}

/// A value on its own cache lines (two, because processors fetch them in pairs), so that writes to
/// adjacent values do not slow it down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub T);
