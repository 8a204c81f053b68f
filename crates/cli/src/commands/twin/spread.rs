//! Figures that were measured several times.

use serde::Serialize;

/// Something that was measured several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean of the middle half: a quarter of the values, the lowest ones, is left out, and so
    /// are the highest. It repeats better than the median, nearly as well as the mean, and what
    /// stalls does not spoil it.
    pub middle: f64,
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
            middle: mean_of_middle_half(&values),
            least: at(0),
            most: at(values.len().saturating_sub(1)),
        }
    }

    /// The same in another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            middle: self.middle * factor,
            least: self.least * factor,
            most: self.most * factor,
        }
    }
}

/// The mean of values in ascending order but for a quarter at each end; of a value that is partly
/// within, so much counts.
fn mean_of_middle_half(sorted: &[f64]) -> f64 {
    let quarter = sorted.len() as f64 / 4.0;
    let within = quarter..3.0 * quarter;
    let weight = |place: usize| {
        let (from, to) = (place as f64, (place + 1) as f64);
        (to.min(within.end) - from.max(within.start)).max(0.0)
    };
    let weighted = sorted.iter().enumerate();
    let sum: f64 = weighted.map(|(place, value)| weight(place) * value).sum();
    sum / (2.0 * quarter).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_at_each_end_does_not_count() {
        assert_eq!(mean_of_middle_half(&[]), 0.0);
        assert_eq!(mean_of_middle_half(&[3.0]), 3.0);
        assert_eq!(mean_of_middle_half(&[3.0, 5.0]), 4.0);
        assert_eq!(mean_of_middle_half(&[0.0, 3.0, 5.0, 900.0]), 4.0);
        // A quarter of the second value, all of the third and a quarter of the fourth.
        let five = mean_of_middle_half(&[0.0, 2.0, 4.0, 10.0, 900.0]);
        assert!((five - (0.75 * 2.0 + 4.0 + 0.75 * 10.0) / 2.5).abs() < 1e-12);
    }
}
