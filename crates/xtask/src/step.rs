//! Steps: commands with a time limit whose output is recorded and counted.

use std::fs::{self, File};
use std::io::{IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, killpg};
use nix::sys::statvfs::statvfs;
use nix::unistd::Pid;

use crate::tally::Tally;
use crate::workspace;

/// One line of a table of steps.
pub struct Step {
    /// Its name in reports, on the command line and in its log's file name.
    pub name: &'static str,
    /// How long it may take; then it is ended and has failed.
    pub limit_s: u64,
    /// The command line, split at spaces, run in the root of the repository.
    pub command: &'static str,
    /// Whether it can be run yet or here; a step that cannot is left out and named.
    pub ready: fn() -> bool,
}

/// For steps that can always be run.
pub fn always() -> bool {
    true
}

/// The outcome of a step.
pub struct Outcome {
    /// The step's name.
    pub name: &'static str,
    /// Its command line.
    pub command: &'static str,
    /// The cases it counted; a failure that counted no failed case is one failed case itself.
    pub tally: Tally,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// Its standard output and standard error.
    pub output: String,
    /// How long it took.
    pub took: Duration,
}

/// The process group of the running step, 0 for none: what an interrupt must end.
static RUNNING: AtomicI32 = AtomicI32::new(0);

/// Runs the steps one after another, those named in `only` or all; says at once what came of each.
pub fn run_all(steps: &[Step], only: &[String]) -> anyhow::Result<Vec<Outcome>> {
    if let Some(unknown) = only
        .iter()
        .find(|name| steps.iter().all(|step| step.name != **name))
    {
        let names: Vec<_> = steps.iter().map(|step| step.name).collect();
        bail!(
            "there is no step '{unknown}'; the steps are: {}",
            names.join(", ")
        );
    }
    ctrlc::set_handler(interrupted).context("cannot catch interrupts")?;
    fs::create_dir_all(workspace::logs()).context("cannot create the folder of logs")?;
    let chosen = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    let mut outcomes = Vec::new();
    for step in steps.iter().filter(chosen) {
        if (step.ready)() {
            outcomes.push(run(step)?);
        } else {
            println!(
                "-    {:<18}             left out: what it needs is not there",
                step.name
            );
        }
    }
    Ok(outcomes)
}

fn run(step: &Step) -> anyhow::Result<Outcome> {
    if std::io::stdout().is_terminal() {
        print!("...  {}\r", step.name);
        std::io::stdout().flush()?;
    }
    let log = workspace::logs().join(format!("{}.log", step.name));
    let started = Instant::now();
    let failure = execute(step, &File::create(&log)?)?;
    let took = started.elapsed();
    let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let mut tally = Tally::in_output(&output);
    if failure.is_some() && tally.failed == 0 {
        tally.failed = 1;
    }
    let outcome = Outcome {
        name: step.name,
        command: step.command,
        tally,
        failure,
        output,
        took,
    };
    report(&outcome);
    Ok(outcome)
}

/// Runs the command with its output in `log`; returns why it failed, if it did.
fn execute(step: &Step, log: &File) -> anyhow::Result<Option<String>> {
    let mut words = step.command.split(' ').filter(|word| !word.is_empty());
    let mut child = Command::new(words.next().context("a step without a command")?)
        .args(words)
        .current_dir(workspace::root())
        .env("CARGO_TERM_COLOR", "never")
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run '{}'", step.command))?;
    RUNNING.store(child.id().cast_signed(), Ordering::SeqCst);
    let ended = wait(&mut child, Duration::from_secs(step.limit_s))?;
    RUNNING.store(0, Ordering::SeqCst);
    Ok(match ended {
        None => Some(format!("it was ended after {} s", step.limit_s)),
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{status}")),
    })
}

/// Waits for the child, and ends its process group when the limit has passed.
fn wait(child: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    end_group(child.id().cast_signed());
    // Ending the group may have taken its leader's status already.
    let _ = child.wait();
    Ok(None)
}

/// Asks a process group to end and, when a minute has passed, ends it.
fn end_group(group: i32) {
    let group = Pid::from_raw(group);
    let deadline = Instant::now() + Duration::from_secs(60);
    // An error says that no process of the group is left.
    if killpg(group, Signal::SIGTERM).is_err() {
        return;
    }
    while Instant::now() < deadline && killpg(group, None).is_ok() {
        thread::sleep(Duration::from_millis(20));
        if nix::sys::wait::waitpid(group, Some(nix::sys::wait::WaitPidFlag::WNOHANG)).is_err() {
            break;
        }
    }
    let _ = killpg(group, Signal::SIGKILL);
}

fn interrupted() {
    let group = RUNNING.load(Ordering::SeqCst);
    if group != 0 {
        end_group(group);
    }
    std::process::exit(130);
}

/// Prints a line about the step, its tables and its skipped cases; for a failed step also the end
/// of its output.
fn report(outcome: &Outcome) {
    let sign = if outcome.failure.is_none() {
        "ok  "
    } else {
        "FAIL"
    };
    let seconds = outcome.took.as_secs_f64();
    println!(
        "{sign} {:<18} {seconds:>7.1} s   {}",
        outcome.name, outcome.tally
    );
    let worth_seeing = |line: &&str| line.starts_with("skipped: ") || line.starts_with("| ");
    for line in outcome.output.lines().filter(worth_seeing) {
        println!("       {line}");
    }
    let Some(why) = &outcome.failure else { return };
    println!(
        "     {why}; {}; what failed, and the end of what it wrote:",
        disk()
    );
    for line in failures(&outcome.output) {
        println!("     ! {line}");
    }
    let lines: Vec<_> = outcome
        .output
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    for line in &lines[lines.len().saturating_sub(60)..] {
        println!("     | {line}");
    }
}

/// The free space of the disk that holds the repository: on a full one a step fails without a word.
fn disk() -> String {
    match statvfs(workspace::root()) {
        Ok(disk) => {
            let free_bytes = disk.blocks_available() * disk.fragment_size();
            format!("{} MiB of the disk are free", free_bytes >> 20)
        }
        Err(error) => format!("the disk's free space is not known: {error}"),
    }
}

/// The names of failed tests, and every panic with the line that says why: they may stand far above
/// the end of what many test binaries wrote.
fn failures(output: &str) -> Vec<&str> {
    let lines: Vec<_> = output.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("test ") && line.ends_with("... FAILED") {
            found.push(*line);
        } else if line.starts_with("thread '") && line.contains("panicked at") {
            found.extend(&lines[index..lines.len().min(index + 4)]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn names_and_reasons_of_failures_are_found_amid_everything_else() {
        let output = "test a ... ok\ntest b ... FAILED\n\nthread 'b' (7) panicked at src/b.rs:1:2:\n\
            left\nright\nnote\nmore\ntest result: FAILED. 1 passed; 1 failed\nDoc-tests x\n";
        assert_eq!(
            failures(output),
            [
                "test b ... FAILED",
                "thread 'b' (7) panicked at src/b.rs:1:2:",
                "left",
                "right",
                "note"
            ]
        );
    }
}
