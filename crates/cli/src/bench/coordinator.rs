//! Starts the client processes, leads them through the phases and sums up.

use super::{Answer, Job, Order, Phase, Work, client, target::FileSystem};
use crate::{connection::Connection, output};
use anyhow::{Context, anyhow, bail, ensure};
use futago_lab::statistics::{ClientPhase, PhaseReport, ServerPhase};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Runs a benchmark in a directory of its own, which it removes at the end.
pub fn run(
    job: &Job,
    clients: u32,
    servers: Option<&Connection>,
) -> anyhow::Result<Vec<PhaseReport>> {
    let directory = format!("futago-bench-{}", std::process::id());
    let file_system = client::open(&job.target)?;
    file_system.make_directory(&directory)?;
    if let Work::Metadata(workload) = &job.work {
        for below in workload.directories() {
            file_system.make_directory(&format!("{directory}/{below}"))?;
        }
    }
    let phases = run_clients(job, clients, servers, &directory);
    clean_up(job, &*file_system, &directory).and(phases)
}

/// Removes what the phases have left. After a failed phase files may be left, which is told.
fn clean_up(job: &Job, file_system: &dyn FileSystem, directory: &str) -> anyhow::Result<()> {
    match &job.work {
        Work::Metadata(workload) => {
            for below in workload.directories() {
                // What is not empty after a failure makes the last removal fail, which is told.
                let _ = file_system.remove_directory(&format!("{directory}/{below}"));
            }
        }
        Work::Io(workload) => {
            for file in workload.files() {
                let _ = file_system.unlink(&format!("{directory}/{file}"));
            }
        }
    }
    if let Err(error) = file_system.remove_directory(directory) {
        eprintln!("futago: files of the benchmark are left in {directory}: {error:#}");
    }
    Ok(())
}

fn run_clients(
    job: &Job,
    clients: u32,
    servers: Option<&Connection>,
    directory: &str,
) -> anyhow::Result<Vec<PhaseReport>> {
    let mut processes: Vec<ClientProcess> = (0..clients)
        .map(|number| ClientProcess::start(job, directory, number))
        .collect::<Result<_, _>>()?;
    for process in &mut processes {
        match process.answer()? {
            Answer::Ready => {}
            other => bail!("a client does not get ready: {other:?}"),
        }
    }
    let phases = job.work.phases();
    let bar = output::progress(phases.len() as u64, "bench");
    let mut reports = Vec::new();
    for phase in phases {
        reports.push(run_phase(phase, &mut processes, servers)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    for process in processes {
        process.end()?;
    }
    Ok(reports)
}

fn run_phase(
    phase: Phase,
    processes: &mut [ClientProcess],
    servers: Option<&Connection>,
) -> anyhow::Result<PhaseReport> {
    let before = servers.map(totals).transpose()?;
    for process in &mut *processes {
        process.order(&Order::Run(phase))?;
    }
    let parts: Vec<ClientPhase> = processes
        .iter_mut()
        .map(|process| match process.answer()? {
            Answer::Done(part) => Ok(part),
            Answer::Failed(message) => Err(anyhow!(message)),
            Answer::Ready => Err(anyhow!("a client is out of step")),
        })
        .collect::<Result<_, _>>()?;
    let after = servers.map(totals).transpose()?;
    let spent = before.zip(after).map(|(before, after)| ServerPhase {
        requests: after.requests.saturating_sub(before.requests),
        cpu_us: after.cpu_us.saturating_sub(before.cpu_us),
    });
    Ok(PhaseReport::new(phase.name(), &parts, spent))
}

/// What all servers have done so far; questions for it and signs of life do not count.
fn totals(connection: &Connection) -> anyhow::Result<ServerPhase> {
    let mut total = ServerPhase {
        requests: 0,
        cpu_us: 0,
    };
    for server in connection.map().servers() {
        let status = connection.status(server)?;
        let counted = status
            .requests
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "get_status" | "keep_alive"));
        total.requests += counted.map(|(_, count)| count).sum::<u64>();
        total.cpu_us += status.cpu_us;
    }
    Ok(total)
}

/// A client process and the pipes to it. It ends when its input does.
struct ClientProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl ClientProcess {
    fn start(job: &Job, directory: &str, client: u32) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "client"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a client process")?;
        let output = child
            .stdout
            .take()
            .context("no pipe from a client process")?;
        let mut process = Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
        };
        process.order(&Order::Prepare {
            job: job.clone(),
            directory: directory.to_owned(),
            client,
        })?;
        Ok(process)
    }

    fn order(&mut self, order: &Order) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("a client process has ended")?;
        let line = serde_json::to_string(order)? + "\n";
        input
            .write_all(line.as_bytes())
            .context("a client process has ended")
    }

    /// Lets it end by itself, which ends its session at the servers.
    fn end(mut self) -> anyhow::Result<()> {
        drop(self.input.take());
        let status = self.child.wait().context("waiting for a client process")?;
        ensure!(status.success(), "a client process has ended with {status}");
        Ok(())
    }

    fn answer(&mut self) -> anyhow::Result<Answer> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).context("a client process has ended")
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        drop(self.input.take());
        // One that is in the middle of a failed run is not waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
