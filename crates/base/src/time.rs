//! Time as the cores see it: an argument, because cores never read a clock.

use core::ops::{Add, Sub};
use serde::{Deserialize, Serialize};

/// A point in time in nanoseconds: since 1970 in the real world, since the start in a simulation.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// A span of time in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Duration(pub u64);

impl Duration {
    /// An infinite span.
    pub const MAX: Self = Self(u64::MAX);

    /// `count` microseconds.
    pub const fn from_micros(count: u64) -> Self {
        Self(count * 1_000)
    }

    /// `count` milliseconds.
    pub const fn from_millis(count: u64) -> Self {
        Self(count * 1_000_000)
    }

    /// `count` seconds.
    pub const fn from_secs(count: u64) -> Self {
        Self(count * 1_000_000_000)
    }

    /// This span multiplied by `factor`; it saturates.
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Time {
    /// The time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// The readings of a process's clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// A monotonic clock that never steps. It measures leases, timeouts and retries, and is
    /// meaningless to other processes.
    pub steady: Time,
    /// The wall clock, and never earlier than the times in received messages. It stamps files and
    /// messages.
    pub stamp: Time,
}

/// A simulated clock never steps, and so serves as both.
impl From<Time> for Moment {
    fn from(time: Time) -> Self {
        Self {
            steady: time,
            stamp: time,
        }
    }
}

/// A file time as users set and see it: seconds and nanoseconds since 1970; it may be earlier.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp {
    /// Seconds since 1970; negative before.
    pub seconds: i64,
    /// Nanoseconds after `seconds`, below 1,000,000,000.
    pub nanos: u32,
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self {
            seconds: (time.0 / 1_000_000_000) as i64,
            nanos: (time.0 % 1_000_000_000) as u32,
        }
    }
}
