//! Random orders that need no memory.

use super::contents::mix;

/// A permutation of `0..count` that depends on `seed` alone.
///
/// It is a Feistel network over the next even number of bits, walked until it returns into the
/// range (Black and Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA 2002). Each position
/// can be computed independently.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    seed: u64,
    half_bits: u32,
}

const ROUNDS: u64 = 4;

impl Permutation {
    /// A permutation of `0..count`.
    pub const fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let half_bits = if bits < 2 { 1 } else { bits.div_ceil(2) };
        Self {
            count,
            seed,
            half_bits,
        }
    }

    /// The value at a position below the count.
    pub fn at(&self, position: u64) -> u64 {
        let mut at = self.exchange(position);
        while at >= self.count && position < self.count {
            at = self.exchange(at);
        }
        at
    }

    fn exchange(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 0..ROUNDS {
            let keyed = mix(mix(self.seed ^ round) ^ right);
            (left, right) = (right, (left ^ keyed) & mask);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_everything_once_and_depends_on_the_seed() {
        for count in [1, 2, 3, 10, 1000, 1025] {
            let order = |seed| -> Vec<u64> {
                let permutation = Permutation::new(count, seed);
                (0..count)
                    .map(|position| permutation.at(position))
                    .collect()
            };
            let mut sorted = order(7);
            assert!(count < 10 || sorted != order(8), "{count}");
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        }
    }
}
