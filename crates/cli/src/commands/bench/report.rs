//! What a benchmark prints.

use crate::{
    bench::{Job, Target, Work},
    output,
};
use futago_lab::statistics::PhaseReport;
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    /// The library, or the directory that was measured.
    target: String,
    work: &'a Work,
    in_flight: u32,
    phases: Vec<PhaseReport>,
}

pub fn print(json: bool, job: &Job, phases: Vec<PhaseReport>) -> anyhow::Result<()> {
    let target = match &job.target {
        Target::Cluster(_) => "library".to_owned(),
        Target::Directory(path) => path.display().to_string(),
    };
    let report = Report {
        target,
        work: &job.work,
        in_flight: job.in_flight,
        phases,
    };
    output::print(json, &report, |report| {
        let mut text = format!(
            "{:8} {:>9} {:>11} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
            "phase",
            "ops",
            "ops/s",
            "MiB/s",
            "p50 us",
            "p99 us",
            "requests",
            "client us",
            "server us"
        );
        for phase in &report.phases {
            let requests = phase
                .server_requests
                .map_or("-".to_owned(), |n| n.to_string());
            let server = phase
                .server_cpu_us_per_op
                .map_or("-".to_owned(), |us| format!("{us:.1}"));
            text += &format!(
                "{:8} {:>9} {:>11.0} {:>9.1} {:>9.1} {:>9.1} {requests:>10} {:>10.1} {server:>10}\n",
                phase.name,
                phase.ops,
                phase.ops_per_s,
                phase.mib_per_s,
                phase.p50_us,
                phase.p99_us,
                phase.client_cpu_us_per_op
            );
        }
        text
    })
}
