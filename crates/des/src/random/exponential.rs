use super::{Distribution, RandomStream};

/// The exponential distribution, by inversion.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// With this mean, in whatever unit the caller uses.
    pub const fn with_mean(mean: f64) -> Exponential {
        Exponential { mean }
    }
}

impl Distribution for Exponential {
    /// `libm`, not the platform's logarithm: the same bits on every machine.
    #[inline]
    fn sample(&self, random: &mut RandomStream) -> f64 {
        -self.mean * libm::log(random.positive_unit())
    }
}
