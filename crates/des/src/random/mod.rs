//! Counter-based random numbers: a rollback of a process only resets a counter.

mod empirical;
mod exponential;
mod normal;
mod zipf;

pub use empirical::Empirical;
pub use exponential::Exponential;
pub use normal::{LogNormal, Normal};
pub use zipf::Zipf;

use crate::ProcessId;

/// The random stream of one logical process.
///
/// SplitMix (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014)
/// in its counter form: draw *n* is `mix(origin + n * gamma)`. Origin and the odd gamma are derived
/// from the seed and the process, as that paper's `split` does, so streams differ in more than
/// their starting point.
#[derive(Clone, Debug)]
pub struct RandomStream {
    origin: u64,
    gamma: u64,
    draws: u64,
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl RandomStream {
    /// The stream of `process` in the run with this `seed`.
    pub fn new(seed: u64, process: ProcessId) -> RandomStream {
        let number = u64::from(process.0) + 1;
        let base = mix(mix(seed ^ GOLDEN_GAMMA).wrapping_add(number.wrapping_mul(GOLDEN_GAMMA)));
        RandomStream {
            origin: mix(base),
            gamma: mix_gamma(base ^ number),
            draws: 0,
        }
    }

    /// The number of draws.
    #[inline]
    pub fn draws(&self) -> u64 {
        self.draws
    }

    #[inline]
    pub(crate) fn rewind(&mut self, draws: u64) {
        self.draws -= draws;
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.draws += 1;
        mix(self
            .origin
            .wrapping_add(self.draws.wrapping_mul(self.gamma)))
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in (0, 1], a multiple of 2⁻⁵³: safe to take the logarithm of.
    #[inline]
    pub fn positive_unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A uniform integer below `bound`; 0 if `bound` is 0.
    ///
    /// Without bias, and nearly always with one draw and one multiplication (Lemire, "Fast random
    /// integer generation in an interval", ACM TOMACS 29(1), 2019).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// The finalizer of SplitMix64 (Stafford's variant 13).
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// An odd number with enough changes between neighbouring bits (`mixGamma` of the paper).
fn mix_gamma(z: u64) -> u64 {
    let mut z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z = (z ^ (z >> 33)) | 1;
    if (z ^ (z >> 1)).count_ones() < 24 {
        z ^ 0xaaaa_aaaa_aaaa_aaaa
    } else {
        z
    }
}

/// A distribution of random numbers.
pub trait Distribution {
    /// One number.
    fn sample(&self, random: &mut RandomStream) -> f64;
}

#[cfg(test)]
mod tests;
