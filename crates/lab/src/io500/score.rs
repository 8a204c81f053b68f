//! The values of phases, and the scores.

use super::{Io500Phase, ScoreGroup};
use crate::statistics::PhaseReport;
use serde::Serialize;

/// Seconds that a writing phase of a valid run lasts at least, and its stonewall.
pub const STONEWALL_S_VALID: u32 = 300;

/// The outcome of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseOutcome {
    /// The phase.
    #[serde(rename = "name")]
    pub phase: Io500Phase,
    /// The value, in the unit of the phase.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
    /// The time from the start of the first rank to the end of the last one.
    pub seconds: f64,
    /// Operations of all ranks.
    pub operations: u64,
    /// Why the phase does not count; empty if it does.
    pub invalid: Vec<String>,
}

impl PhaseOutcome {
    /// The outcome of a phase that was measured so, with so many operations.
    pub fn new(
        phase: Io500Phase,
        measured: &PhaseReport,
        operations: u64,
        stonewall_s: u32,
    ) -> Self {
        let value = match phase.group() {
            ScoreGroup::Metadata => operations as f64 / measured.seconds / 1000.0,
            ScoreGroup::Bandwidth | ScoreGroup::Unscored => measured.mib_per_s / 1024.0,
        };
        let mut outcome = Self {
            phase,
            value,
            unit: phase.unit(),
            seconds: measured.seconds,
            operations,
            invalid: Vec::new(),
        };
        outcome.judge(stonewall_s);
        outcome
    }

    fn judge(&mut self, stonewall_s: u32) {
        let seconds = self.seconds;
        if self.phase.writes() && seconds < f64::from(stonewall_s) {
            let why =
                format!("ended after {seconds:.1} s, before the stonewall of {stonewall_s} s");
            self.invalid.push(why);
        }
        if self.phase.writes() && seconds < f64::from(STONEWALL_S_VALID) {
            let why = format!("lasted {seconds:.1} s; a valid run needs {STONEWALL_S_VALID} s");
            self.invalid.push(why);
        }
        if self.value <= 0.0 {
            self.invalid.push("has no result".to_owned());
        }
    }
}

/// The scores of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Io500Score {
    /// The geometric mean of bandwidths, in GiB/s.
    pub bandwidth: f64,
    /// The geometric mean of rates, in thousands a second.
    pub metadata: f64,
    /// The geometric mean of both.
    pub total: f64,
}

impl Io500Score {
    /// The scores of these outcomes. Phases without a result do not count, as in the IO500
    /// application; they make the run invalid.
    pub fn new(outcomes: &[PhaseOutcome]) -> Self {
        let (bandwidth, metadata) = (
            mean(outcomes, ScoreGroup::Bandwidth),
            mean(outcomes, ScoreGroup::Metadata),
        );
        Self {
            bandwidth,
            metadata,
            total: (bandwidth * metadata).sqrt(),
        }
    }
}

fn mean(outcomes: &[PhaseOutcome], group: ScoreGroup) -> f64 {
    let counted = outcomes
        .iter()
        .filter(|o| o.phase.group() == group && o.value > 0.0);
    let logarithms: Vec<f64> = counted.map(|outcome| outcome.value.ln()).collect();
    if logarithms.is_empty() {
        return 0.0;
    }
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(phase: Io500Phase, value: f64, seconds: f64, stonewall_s: u32) -> PhaseOutcome {
        let mut outcome = PhaseOutcome {
            phase,
            value,
            unit: phase.unit(),
            seconds,
            operations: 1,
            invalid: Vec::new(),
        };
        outcome.judge(stonewall_s);
        outcome
    }

    /// The example of the IO500 application's README, whose score is printed there.
    #[test]
    fn scores_are_those_of_the_official_example() {
        let values = [
            0.186620,
            103.300821,
            0.001313,
            58.939081,
            1486.435084,
            1.575557,
            839.392805,
            2.272671,
            1212.558124,
            160.765642,
            275.011939,
            132.015851,
        ];
        let pairs = Io500Phase::ALL.into_iter().zip(values);
        let outcomes: Vec<_> = pairs
            .map(|(phase, value)| outcome(phase, value, 1.0, 1))
            .collect();
        let score = Io500Score::new(&outcomes);
        assert!((score.bandwidth - 0.172092).abs() < 1e-4, "{score:?}");
        assert!((score.metadata - 292.625029).abs() < 1e-3, "{score:?}");
        assert!((score.total - 7.096374).abs() < 1e-3, "{score:?}");
    }

    #[test]
    fn a_short_writing_phase_is_never_valid() {
        let invalid = |phase, seconds, stonewall| outcome(phase, 1.0, seconds, stonewall).invalid;
        assert_eq!(invalid(Io500Phase::IorEasyWrite, 5.5, 5).len(), 1);
        assert_eq!(invalid(Io500Phase::IorEasyWrite, 4.0, 5).len(), 2);
        assert_eq!(
            invalid(Io500Phase::MdtestHardWrite, 301.0, 300),
            Vec::<String>::new()
        );
        assert_eq!(
            invalid(Io500Phase::IorEasyRead, 1.0, 300),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_phase_without_a_result_is_invalid() {
        assert_eq!(
            outcome(Io500Phase::Find, 0.0, 1.0, 300).invalid,
            ["has no result"]
        );
    }
}
