//! Spans of time that are drawn.

use serde::{Deserialize, Serialize};

/// A span of time, in nanoseconds, or how it is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Latency {
    /// Always the same.
    #[serde(rename = "constant_ns")]
    Constant(u64),
    /// Between the two, each as likely.
    #[serde(rename = "uniform_ns")]
    Uniform(u64, u64),
    /// Exponential with this mean.
    #[serde(rename = "exponential_ns")]
    Exponential(f64),
    /// Log-normal with this mean and standard deviation.
    #[serde(rename = "log_normal_ns")]
    LogNormal(f64, f64),
}

impl Default for Latency {
    fn default() -> Self {
        Self::ZERO
    }
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
