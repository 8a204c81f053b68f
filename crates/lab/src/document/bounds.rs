//! Numbers with bounds, for `#[serde(deserialize_with = …)]`.

use serde::{Deserialize, Deserializer, de::Error};
use std::ops::RangeInclusive;

/// A count of at least one.
pub fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(u32::deserialize(from)?, 1..=1_000_000)
}

/// A number of repetitions.
pub fn repetitions<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(u32::deserialize(from)?, 1..=10_000)
}

/// Like [`count`], for an optional value.
pub fn some_count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    count(from).map(Some)
}

/// A rate or a size that must be positive and finite.
pub fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(D::Error::custom(format!("{value} must be more than 0")))
}

/// Like [`positive`], for an optional value.
pub fn some_positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    positive(from).map(Some)
}

/// An hour, in nanoseconds.
pub const HOUR_NS: u64 = 3_600_000_000_000;

/// A time in nanoseconds, at most one hour.
pub fn time_ns<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(u64::deserialize(from)?, 0..=HOUR_NS)
}

/// A cost in nanoseconds with a fraction, at most one hour.
pub fn cost_ns<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    within(f64::deserialize(from)?, 0.0..=HOUR_NS as f64)
}

/// A relative growth, at most a thousandfold.
pub fn growth<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    within(f64::deserialize(from)?, 0.0..=1e3)
}

/// An amount of memory in MiB, at most 1 EiB.
pub fn mib<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(u64::deserialize(from)?, 0..=1 << 40)
}

/// Like [`time_ns`], for an optional value.
pub fn some_time_ns<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    time_ns(from).map(Some)
}

/// An optional time in milliseconds, from one to an hour.
pub fn some_time_ms<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    within(u64::deserialize(from)?, 1..=3_600_000).map(Some)
}

/// `value`, if it is within `bounds`.
pub fn within<T, E>(value: T, bounds: RangeInclusive<T>) -> Result<T, E>
where
    T: PartialOrd + std::fmt::Display,
    E: Error,
{
    if bounds.contains(&value) {
        return Ok(value);
    }
    let (least, most) = bounds.into_inner();
    Err(E::custom(format!(
        "{value} must be between {least} and {most}"
    )))
}
