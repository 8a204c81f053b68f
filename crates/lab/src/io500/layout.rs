//! The texts `result.txt` and `result_summary.txt`, laid out as the IO500 application does.

use super::{Io500Phase, Io500Plan, Io500Score, PhaseOutcome, ScoreGroup};
use std::fmt::Write;

/// The text of `result.txt`: a section for each phase, then the scores.
pub fn result(
    plan: &Io500Plan,
    program: &str,
    outcomes: &[PhaseOutcome],
    score: &Io500Score,
) -> String {
    let mut text = String::from("[run]\n");
    pair(&mut text, "procs", plan.ranks);
    pair(&mut text, "version", program);
    pair(&mut text, "mode", "standard");
    pair(&mut text, "stonewall", plan.stonewall_s);
    for outcome in outcomes {
        section(&mut text, outcome);
    }
    text += "\n[SCORE]\n";
    pair(&mut text, "MD", format!("{:.6}", score.metadata));
    pair(&mut text, "BW", format!("{:.6}", score.bandwidth));
    pair(
        &mut text,
        "SCORE",
        format!("{:.6}{}", score.total, mark(outcomes)),
    );
    text
}

fn section(text: &mut String, outcome: &PhaseOutcome) {
    // Writing to a string does not fail.
    let _ = write!(text, "\n[{}]\n", outcome.phase.name());
    for why in &outcome.invalid {
        let _ = writeln!(text, "; ERROR INVALID {why}");
    }
    pair(text, "operations", outcome.operations);
    pair(text, "score", format!("{:.6}", outcome.value));
    pair(text, "t_delta", format!("{:.4}", outcome.seconds));
}

fn pair(text: &mut String, key: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{key:<15} = {value}");
}

/// The text of `result_summary.txt`: a line for each phase, then the score.
pub fn summary(program: &str, outcomes: &[PhaseOutcome], score: &Io500Score) -> String {
    let mut text = format!("IO500 version {program} (standard)\n");
    for outcome in outcomes {
        text += &line(outcome);
    }
    let Io500Score {
        bandwidth,
        metadata,
        total,
    } = score;
    let _ = writeln!(
        text,
        "[SCORE ] Bandwidth {bandwidth:.6} GiB/s : IOPS {metadata:.6} kiops : TOTAL {total:.6}{}",
        mark(outcomes)
    );
    text
}

fn line(outcome: &PhaseOutcome) -> String {
    let head = match outcome.phase.group() {
        ScoreGroup::Unscored => "[      ]",
        ScoreGroup::Bandwidth | ScoreGroup::Metadata => "[RESULT]",
    };
    let invalid = if outcome.invalid.is_empty() {
        ""
    } else {
        " [INVALID]"
    };
    let (name, value) = (outcome.phase.name(), format!("{:.6}", outcome.value));
    let (unit, seconds) = (outcome.unit, outcome.seconds);
    format!("{head} {name:>20} {value:>15} {unit} : time {seconds:.3} seconds{invalid}\n")
}

fn mark(outcomes: &[PhaseOutcome]) -> &'static str {
    let complete = Io500Phase::ALL.len() == outcomes.len();
    let valid = complete && outcomes.iter().all(|outcome| outcome.invalid.is_empty());
    if valid { "" } else { " [INVALID]" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io500::Io500Limits;

    fn outcomes(invalid: &[String]) -> Vec<PhaseOutcome> {
        let outcome = |phase: Io500Phase| PhaseOutcome {
            phase,
            value: 2.0,
            unit: phase.unit(),
            seconds: 300.5,
            operations: 7,
            invalid: invalid.to_vec(),
        };
        Io500Phase::ALL.map(outcome).to_vec()
    }

    #[test]
    fn the_summary_has_the_official_lines() {
        let outcomes = outcomes(&[]);
        let text = summary("futago 1", &outcomes, &Io500Score::new(&outcomes));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "IO500 version futago 1 (standard)");
        assert_eq!(
            lines[1],
            "[RESULT]       ior-easy-write        2.000000 GiB/s : time 300.500 seconds"
        );
        assert_eq!(
            lines[13],
            "[      ]  ior-rnd4K-easy-read        2.000000 GiB/s : time 300.500 seconds"
        );
        assert_eq!(
            lines[14],
            "[SCORE ] Bandwidth 2.000000 GiB/s : IOPS 2.000000 kiops : TOTAL 2.000000"
        );
    }

    #[test]
    fn an_invalid_or_missing_phase_marks_the_score() {
        let short = outcomes(&["too short".to_owned()]);
        let plan = Io500Plan {
            ranks: 2,
            stonewall_s: 5,
            limits: Io500Limits::OFFICIAL,
        };
        let text = result(&plan, "futago 1", &short, &Io500Score::new(&short));
        assert!(text.contains("; ERROR INVALID too short\n"));
        assert!(
            text.ends_with("SCORE           = 2.000000 [INVALID]\n"),
            "{text}"
        );
        let some = &outcomes(&[])[..12];
        let text = summary("futago 1", some, &Io500Score::new(some));
        assert!(text.ends_with("TOTAL 2.000000 [INVALID]\n"), "{text}");
    }
}
