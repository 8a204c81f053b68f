use super::{Distribution, RandomStream};

/// The exponential distribution, by inversion.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// An exponential distribution with this mean, in the unit of the caller.
    pub const fn with_mean(mean: f64) -> Exponential {
        Exponential { mean }
    }
}

impl Distribution for Exponential {
    /// `libm`, not the logarithm of the platform: the same bits on every machine.
    #[inline]
    fn sample(&self, random: &mut RandomStream) -> f64 {
        -self.mean * libm::log(random.positive_unit())
    }
}
