//! Leads the client processes of one or more file systems through the phases, and sums up.

use super::{Job, Phase, subject::Subject};
use crate::{connection::Connection, output};
use futago_lab::statistics::{PhaseReport, ServerPhase};

/// How to run.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// How many client processes each file system has.
    pub clients: u32,
    /// How many times everything is done, in directories of their own.
    pub rounds: u32,
    /// The connection that asks for the servers' work.
    pub servers: Option<&'a Connection>,
}

/// All rounds of a phase on one file system.
pub type Rounds = Vec<PhaseReport>;

/// Runs jobs that differ in their target alone: each phase on one target after the other, before
/// the next phase. Returns the phases of every job.
pub fn run(jobs: &[Job], plan: Plan<'_>) -> anyhow::Result<Vec<Vec<Rounds>>> {
    let phases = jobs.first().map_or(Vec::new(), |job| job.work.phases());
    let mut all = vec![vec![Rounds::new(); phases.len()]; jobs.len()];
    let steps = phases.len() as u64 * jobs.len() as u64 * u64::from(plan.rounds);
    let bar = output::progress(steps, "bench");
    for _ in 0..plan.rounds {
        let mut subjects = prepare(jobs, plan.clients)?;
        for (index, &phase) in phases.iter().enumerate() {
            for (subject, of_job) in subjects.iter_mut().zip(&mut all) {
                of_job[index].push(run_phase(phase, subject, plan.servers)?);
                bar.inc(1);
            }
        }
        subjects.into_iter().try_for_each(Subject::end)?;
    }
    bar.finish_and_clear();
    Ok(all)
}

fn prepare(jobs: &[Job], clients: u32) -> anyhow::Result<Vec<Subject<'_>>> {
    let numbered = jobs.iter().enumerate();
    numbered
        .map(|(number, job)| Subject::prepare(job, number, clients))
        .collect()
}

fn run_phase(
    phase: Phase,
    subject: &mut Subject<'_>,
    servers: Option<&Connection>,
) -> anyhow::Result<PhaseReport> {
    let before = servers.map(totals).transpose()?;
    let parts = subject.run(phase)?;
    let after = servers.map(totals).transpose()?;
    let spent = before.zip(after).map(|(before, after)| ServerPhase {
        requests: after.requests.saturating_sub(before.requests),
        cpu_us: after.cpu_us.saturating_sub(before.cpu_us),
        busy_us: after.busy_us.saturating_sub(before.busy_us),
    });
    Ok(PhaseReport::new(phase.name(), &parts, spent))
}

/// The work of all servers so far; requests for the status and keep-alives do not count.
fn totals(connection: &Connection) -> anyhow::Result<ServerPhase> {
    let mut total = ServerPhase {
        requests: 0,
        cpu_us: 0,
        busy_us: 0,
    };
    for server in connection.map().servers() {
        let status = connection.status(server)?;
        let counted = status
            .requests
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "get_status" | "keep_alive"));
        total.requests += counted.map(|(_, count)| count).sum::<u64>();
        total.cpu_us += status.cpu_us;
        total.busy_us += status.busy_us;
    }
    Ok(total)
}
