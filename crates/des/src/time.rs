//! Simulated time.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A simulated instant, or a span between two, in ticks.
///
/// A model chooses the unit of a tick. The conversions from and to seconds take it as a nanosecond,
/// which leaves room for 584 simulated years. Integers make "at the same time" exact.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The instant at which every simulation starts; as a span, no delay.
    pub const ZERO: Time = Time(0);
    /// Later than every event; as a lookahead, "never sends".
    pub const MAX: Time = Time(u64::MAX);

    const TICKS_PER_SECOND: f64 = 1e9;

    /// `ticks` after the start, or a span of that length.
    pub const fn from_ticks(ticks: u64) -> Time {
        Time(ticks)
    }

    /// The tick nearest below `seconds`; negative values and NaN give zero, too large ones `MAX`.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Time {
        Time((seconds * Self::TICKS_PER_SECOND) as u64)
    }

    /// The number of ticks.
    #[inline]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// The same in seconds of 10⁹ ticks.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / Self::TICKS_PER_SECOND
    }

    /// The sum, or `None` past the end of time.
    #[inline]
    pub const fn checked_add(self, span: Time) -> Option<Time> {
        match self.0.checked_add(span.0) {
            Some(ticks) => Some(Time(ticks)),
            None => None,
        }
    }

    /// The sum, or `MAX` past the end of time.
    #[inline]
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The span from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
