//! Spans of time that are drawn.

use futago_lab::document::bounds::HOUR_NS;
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

    /// Whether it can be drawn from, and is no longer than an hour.
    pub(super) fn is_valid(self) -> bool {
        let plausible = |value_ns: f64| (0.0..=HOUR_NS as f64).contains(&value_ns);
        match self {
            Self::Constant(value_ns) => value_ns <= HOUR_NS,
            Self::Uniform(least_ns, most_ns) => least_ns <= most_ns && most_ns <= HOUR_NS,
            Self::Exponential(mean) => plausible(mean),
            Self::LogNormal(mean, deviation) => {
                mean > 0.0 && plausible(mean) && plausible(deviation)
            }
        }
    }
}
