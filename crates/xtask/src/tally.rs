//! Counting cases.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// How many cases passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that passed.
    pub passed: u64,
    /// Cases that failed.
    pub failed: u64,
    /// Cases that were not run.
    pub skipped: u64,
}

impl Tally {
    /// One case that passed, or failed.
    pub fn of(passed: bool) -> Self {
        Self {
            passed: u64::from(passed),
            failed: u64::from(!passed),
            skipped: 0,
        }
    }

    /// The sum of the counts that stand in a step's output: of every test binary's `test result:`
    /// line, or of the line `N passed, N failed, N skipped` with which a suite ends.
    pub fn in_output(output: &str) -> Self {
        output.lines().filter_map(Self::in_line).sum()
    }

    fn in_line(line: &str) -> Option<Self> {
        let counts = match line.strip_prefix("test result: ") {
            Some(rest) => rest.split_once(". ")?.1,
            None => line,
        };
        let mut words = counts.split([',', ';']).map(str::trim);
        let passed = number_before(words.next()?, "passed")?;
        let failed = number_before(words.next()?, "failed")?;
        let third = words.next().unwrap_or("0 skipped");
        let skipped =
            number_before(third, "skipped").or_else(|| number_before(third, "ignored"))?;
        Some(Self {
            passed,
            failed,
            skipped,
        })
    }
}

fn number_before(phrase: &str, noun: &str) -> Option<u64> {
    phrase.strip_suffix(noun)?.trim_end().parse().ok()
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn counts_of_test_binaries_and_suites_are_summed() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished\n\
            382 passed, 0 failed, 16 skipped\n\
            7 passed, 2 failed\n";
        assert_eq!(
            Tally::in_output(output),
            Tally {
                passed: 394,
                failed: 3,
                skipped: 17
            }
        );
    }

    #[test]
    fn prose_is_not_counted() {
        for line in [
            "",
            "all passed, 0 failed",
            "3 passed",
            "x: 1 passed, 0 failed",
            "test result: ",
        ] {
            assert_eq!(Tally::in_output(line), Tally::default(), "{line}");
        }
    }

    #[test]
    fn what_is_printed_is_understood() {
        let tally = Tally {
            passed: 1,
            failed: 2,
            skipped: 3,
        };
        assert_eq!(Tally::in_output(&tally.to_string()), tally);
    }
}
