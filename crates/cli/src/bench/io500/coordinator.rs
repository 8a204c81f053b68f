//! Leads the ranks through the phases, and judges the outcome.

use super::Written;
use crate::{
    bench::{Job, Phase, subject::Subject},
    output,
};
use anyhow::{Context, ensure};
use futago_lab::{
    io500::{Io500Phase, Io500Plan, PhaseOutcome},
    statistics::{ClientPhase, PhaseReport},
};

/// Runs all phases of a plan.
pub fn run(job: &Job, plan: &Io500Plan) -> anyhow::Result<Vec<PhaseOutcome>> {
    let mut subject = Subject::prepare(job, 0, plan.ranks)?;
    let mut written = Written::default();
    let mut outcomes = Vec::new();
    let bar = output::progress(Io500Phase::ALL.len() as u64, "io500");
    for phase in Io500Phase::ALL {
        let parts = subject.run(Phase::Io500(phase));
        let parts = parts.with_context(|| format!("the phase {}", phase.name()))?;
        outcomes.push(outcome(plan, phase, &parts, &mut written)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    subject.end()?;
    Ok(outcomes)
}

fn outcome(
    plan: &Io500Plan,
    phase: Io500Phase,
    parts: &[ClientPhase],
    written: &mut Written,
) -> anyhow::Result<PhaseOutcome> {
    let report = PhaseReport::new(phase.name(), parts, None);
    written.note(phase, report.ops / u64::from(plan.ranks));
    let operations = match phase {
        Io500Phase::Find => {
            check_found(plan, written, parts)?;
            plan.entries(written.easy_files, written.hard_files)
        }
        _ => report.ops,
    };
    Ok(PhaseOutcome::new(
        phase,
        &report,
        operations,
        plan.stonewall_s,
    ))
}

fn check_found(plan: &Io500Plan, written: &Written, parts: &[ClientPhase]) -> anyhow::Result<()> {
    let found: u64 = parts.iter().map(|part| part.found).sum();
    let expected = plan.wanted_files(written.hard_files);
    ensure!(
        found == expected,
        "the search found {found} files instead of {expected}"
    );
    Ok(())
}
