use super::{Distribution, RandomStream};

/// The normal distribution, by the polar method (Marsaglia and Bray, SIAM Review 6(3), 1964).
///
/// The method makes two numbers and only one is used, because the other would be state that a
/// rollback has to restore.
#[derive(Clone, Copy, Debug)]
pub struct Normal {
    mean: f64,
    deviation: f64,
}

impl Normal {
    /// With this mean and standard deviation.
    pub const fn new(mean: f64, deviation: f64) -> Normal {
        Normal { mean, deviation }
    }
}

impl Distribution for Normal {
    fn sample(&self, random: &mut RandomStream) -> f64 {
        loop {
            let x = random.uniform(-1.0, 1.0);
            let y = random.uniform(-1.0, 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let factor = libm::sqrt(-2.0 * libm::log(square) / square);
                return self.mean + self.deviation * x * factor;
            }
        }
    }
}

/// The log-normal distribution: its logarithm is normal.
#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    logarithm: Normal,
}

impl LogNormal {
    /// `mean` and `deviation` are those of the logarithm.
    pub const fn new(mean: f64, deviation: f64) -> LogNormal {
        LogNormal {
            logarithm: Normal::new(mean, deviation),
        }
    }

    /// With this mean and standard deviation of the numbers themselves.
    pub fn with_mean(mean: f64, deviation: f64) -> LogNormal {
        let ratio = deviation / mean;
        let variance = libm::log1p(ratio * ratio);
        LogNormal::new(libm::log(mean) - variance / 2.0, libm::sqrt(variance))
    }
}

impl Distribution for LogNormal {
    fn sample(&self, random: &mut RandomStream) -> f64 {
        libm::exp(self.logarithm.sample(random))
    }
}
