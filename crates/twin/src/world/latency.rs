//! Spans of time that are drawn.

use serde::{Deserialize, Serialize};

/// A span of time, in nanoseconds, or how it is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// Always the same.
    Constant(u64),
    /// Between the two, each as likely.
    Uniform(u64, u64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Log-normal with this mean and standard deviation.
    LogNormal(f64, f64),
}

impl Latency {
    /// None at all.
    pub const ZERO: Self = Self::Constant(0);

    /// Whether it can be drawn from.
    pub(super) fn is_valid(self) -> bool {
        let plausible = |value: f64| value.is_finite() && value >= 0.0;
        match self {
            Self::Constant(_) => true,
            Self::Uniform(least, most) => least <= most,
            Self::Exponential(mean) => plausible(mean),
            Self::LogNormal(mean, deviation) => {
                mean > 0.0 && plausible(mean) && plausible(deviation)
            }
        }
    }
}
