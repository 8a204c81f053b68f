//! A client process and the pipes to it.

use super::{Answer, Job, Order, Phase};
use anyhow::{Context, anyhow, bail, ensure};
use futago_lab::statistics::ClientPhase;
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A client process. It ends when its input does.
pub struct ClientProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl ClientProcess {
    /// Starts client number `client` of those that work in `directory`.
    pub fn start(job: &Job, directory: &str, client: u32) -> anyhow::Result<Self> {
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

    /// Waits until it is prepared.
    pub fn ready(&mut self) -> anyhow::Result<()> {
        match self.answer()? {
            Answer::Ready => Ok(()),
            other => bail!("a client does not get ready: {other:?}"),
        }
    }

    /// Has it begin a phase.
    pub fn begin(&mut self, phase: Phase) -> anyhow::Result<()> {
        self.order(&Order::Run(phase))
    }

    /// Waits until it has reached the stonewall, and returns how many operations it has done.
    pub fn reached(&mut self) -> anyhow::Result<u64> {
        match self.answer()? {
            Answer::Reached(done) => Ok(done),
            Answer::Failed(message) => Err(anyhow!(message)),
            other => bail!("a client is out of step: {other:?}"),
        }
    }

    /// Has it go on from the stonewall, until it has done so many operations.
    pub fn go_on(&mut self, most: u64) -> anyhow::Result<()> {
        self.order(&Order::Continue(most))
    }

    /// Waits until it has ended the phase.
    pub fn ended(&mut self) -> anyhow::Result<ClientPhase> {
        match self.answer()? {
            Answer::Done(part) => Ok(part),
            Answer::Failed(message) => Err(anyhow!(message)),
            other => bail!("a client is out of step: {other:?}"),
        }
    }

    /// Lets it end by itself, which ends its session at the servers.
    pub fn end(mut self) -> anyhow::Result<()> {
        drop(self.input.take());
        let status = self.child.wait().context("waiting for a client process")?;
        ensure!(status.success(), "a client process has ended with {status}");
        Ok(())
    }

    fn order(&mut self, order: &Order) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("a client process has ended")?;
        let line = serde_json::to_string(order)? + "\n";
        input
            .write_all(line.as_bytes())
            .context("a client process has ended")
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
