//! What the clients of a benchmark do, as plain values: who performs them, and on what, is not
//! known here.

pub mod contents;
pub mod io;
pub mod metadata;

pub use contents::Contents;
pub use io::{IoPhase, IoWorkload, Transfer};
pub use metadata::{MetadataPhase, MetadataWorkload};

/// The client whose files a client looks at: the next one, so that nobody finds in a cache of its
/// own what it made itself. A single client has only its own.
pub const fn neighbour(client: u32, clients: u32) -> u32 {
    if client + 1 < clients { client + 1 } else { 0 }
}

/// A permutation of `0..count` that depends on `seed` alone (Fisher and Yates, 1938).
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    for last in (1..order.len()).rev() {
        let chosen = contents::mix(seed.wrapping_add(last as u64)) % (last as u64 + 1);
        order.swap(last, chosen as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_holds_everything_once_and_depends_on_the_seed() {
        let order = shuffled(1000, 7);
        assert_ne!(order, shuffled(1000, 8));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        assert_ne!(order, sorted);
    }
}
