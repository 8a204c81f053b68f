use super::{Distribution, RandomStream};

/// Zipf's distribution over 1..=n: the probability of *k* is proportional to *k*⁻ˢ.
///
/// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6(3), 1996): constant time and memory for any n.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    exponent: f64,
    count: f64,
    integral_low: f64,
    integral_high: f64,
    acceptance: f64,
}

impl Zipf {
    /// Over `1..=count` (at least one) with a positive exponent.
    pub fn new(count: u64, exponent: f64) -> Zipf {
        let count = count.max(1) as f64;
        let integral_low = integral(1.5, exponent) - 1.0;
        let integral_high = integral(count + 0.5, exponent);
        let acceptance = 2.0
            - inverse(
                integral(2.5, exponent) - libm::pow(2.0, -exponent),
                exponent,
            );
        Zipf {
            exponent,
            count,
            integral_low,
            integral_high,
            acceptance,
        }
    }
}

impl Distribution for Zipf {
    fn sample(&self, random: &mut RandomStream) -> f64 {
        loop {
            let area =
                self.integral_high + random.unit() * (self.integral_low - self.integral_high);
            let point = inverse(area, self.exponent);
            let rank = libm::round(point).clamp(1.0, self.count);
            let floor = integral(rank + 0.5, self.exponent) - libm::pow(rank, -self.exponent);
            if rank - point <= self.acceptance || area >= floor {
                return rank;
            }
        }
    }
}

/// The integral of x⁻ˢ, up to a constant, also where s is close to one.
fn integral(x: f64, exponent: f64) -> f64 {
    let logarithm = libm::log(x);
    expm1_ratio((1.0 - exponent) * logarithm) * logarithm
}

/// The inverse of [`integral`].
fn inverse(area: f64, exponent: f64) -> f64 {
    let scaled = (area * (1.0 - exponent)).max(-1.0);
    libm::exp(log1p_ratio(scaled) * area)
}

/// (eˣ - 1) / x, continued to 1 at x = 0.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::expm1(x) / x
    } else {
        1.0 + x / 2.0
    }
}

/// ln(1 + x) / x, continued to 1 at x = 0.
fn log1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::log1p(x) / x
    } else {
        1.0 - x / 2.0
    }
}
