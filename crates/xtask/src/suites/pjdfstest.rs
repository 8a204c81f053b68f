//! pjdfstest: one process runs all cases and prints a line for each.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::suites::tools;
use crate::tally::Tally;
use crate::workspace;

const CASES: u64 = 398;
const SKIPPED_AT_MOST: u64 = 16;

/// The outcome of one case.
#[derive(Debug, PartialEq, Eq)]
struct Case<'output> {
    name: &'output str,
    result: &'output str,
    /// Why it was skipped or failed.
    reason: &'output str,
}

/// Runs the suite in `directory`, names what failed and what was skipped.
pub fn run(directory: &Path) -> anyhow::Result<Tally> {
    if !nix::unistd::Uid::effective().is_root() {
        bail!("pjdfstest changes its user in many cases: run it as root");
    }
    let ran = Command::new(tools::path("pjdfstest")?)
        .arg("--configuration-file")
        .arg(workspace::root().join("tests/suites/pjdfstest.toml"))
        .arg("--path")
        .arg(directory)
        .output()
        .context("cannot run pjdfstest")?;
    let output = String::from_utf8_lossy(&ran.stdout);
    let cases = parse(&output);
    let tally = count(&cases);
    for case in cases.iter().filter(|case| case.result != "ok") {
        println!("{}: {} ({})", case.result, case.name, case.reason);
    }
    let total = tally.passed + tally.failed + tally.skipped;
    if total != CASES {
        let errors = String::from_utf8_lossy(&ran.stderr);
        bail!(
            "pjdfstest ended with {} after {total} of {CASES} cases\n{errors}",
            ran.status
        );
    }
    if tally.skipped > SKIPPED_AT_MOST {
        bail!(
            "{} cases were skipped, {SKIPPED_AT_MOST} may be",
            tally.skipped
        );
    }
    Ok(tally)
}

fn parse(output: &str) -> Vec<Case<'_>> {
    let mut lines = output.lines().peekable();
    let mut cases = Vec::new();
    while let Some(line) = lines.next() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(result), None) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if !line.starts_with(char::is_whitespace) && ["ok", "skipped", "FAILED"].contains(&result) {
            let reason = lines
                .peek()
                .filter(|next| next.starts_with('\t'))
                .map_or("", |next| next.trim());
            cases.push(Case {
                name,
                result,
                reason,
            });
        }
    }
    cases
}

fn count(cases: &[Case<'_>]) -> Tally {
    let number = |result| cases.iter().filter(|case| case.result == result).count() as u64;
    Tally {
        passed: number("ok"),
        failed: number("FAILED"),
        skipped: number("skipped"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, parse};
    use crate::tally::Tally;

    const OUTPUT: &str = "\
rename::changes          ok
unlink::erofs_named      skipped
\tRemounts (allow_remount) are not allowed
open::sticky             FAILED
\tassertion failed: two words
\tat line ok
Backtrace:
   0: std::rt ok

Summary: 1 failed, 1 skipped, 1 passed, 0 expected failures, 3 total
";

    #[test]
    fn every_case_is_counted_once_and_keeps_its_reason() {
        let cases = parse(OUTPUT);
        assert_eq!(
            count(&cases),
            Tally {
                passed: 1,
                failed: 1,
                skipped: 1
            }
        );
        assert_eq!(cases[1].reason, "Remounts (allow_remount) are not allowed");
        assert_eq!(cases[2].name, "open::sticky");
        assert_eq!(cases[2].reason, "assertion failed: two words");
    }
}
