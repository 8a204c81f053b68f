//! Figures that were measured several times.

use serde::Serialize;

/// Something that was measured several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The lowest.
    pub least: f64,
    /// The highest.
    pub most: f64,
}

impl Spread {
    /// Of these values; zero without any.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
        Self {
            median: f64::midpoint(at(values.len().saturating_sub(1) / 2), at(values.len() / 2)),
            least: at(0),
            most: at(values.len().saturating_sub(1)),
        }
    }

    /// The same in another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            least: self.least * factor,
            most: self.most * factor,
        }
    }
}
