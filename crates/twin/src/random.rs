//! Randomness that is the same every time.

/// The generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small, and good enough to draw
/// faults and operations.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for a seed and a purpose, so that the draws of one purpose do not shift those of
    /// another.
    pub const fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(random.next().wrapping_add(seed))
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. The bias is negligible for the bounds used here.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True in `permille` of 1,000 cases.
    pub const fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < permille as u64
    }

    /// One of `choices`, which are not empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}
