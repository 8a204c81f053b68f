//! Checks that take too long for every change. Their reports are committed.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::Context;

use crate::ci::has_program;
use crate::step::{self, Outcome, Step, always};
use crate::tally::Tally;
use crate::workspace;

/// The long checks.
pub const STEPS: &[Step] = &[
    Step {
        name: "program",
        limit_s: 1200,
        command: "cargo build --release --package futago-cli",
        ready: has_program,
    },
    Step {
        name: "real-input",
        limit_s: 1800,
        command: "tests/with-futago tests/real-input/run",
        ready: has_program,
    },
    Step {
        name: "everyday",
        limit_s: 900,
        command: "tests/with-futago --servers 1 tests/everyday --rounds 3",
        ready: has_program,
    },
    Step {
        name: "walks",
        limit_s: 900,
        command: "tests/with-futago --servers 4 --mounts 2 tests/walks",
        ready: has_program,
    },
    Step {
        name: "programs",
        limit_s: 7200,
        command: "tests/programs/run",
        ready: has_program,
    },
    Step {
        name: "network",
        limit_s: 900,
        command: "tests/network",
        ready: has_program,
    },
    Step {
        name: "slow-links",
        limit_s: 900,
        command: "tests/broadcast --clients 4 --size 16 --rate 20mbit --check",
        ready: has_program,
    },
    Step {
        name: "speed",
        limit_s: 1800,
        command: "tests/with-futago --servers 1 tests/speed/run",
        ready: has_program,
    },
    Step {
        name: "pjdfstest",
        limit_s: 600,
        command: "tests/with-futago cargo xtask suite pjdfstest",
        ready: has_program,
    },
    Step {
        name: "fsx",
        limit_s: 3600,
        command: "tests/with-futago cargo xtask suite fsx --seeds 5 --operations 100000",
        ready: has_program,
    },
    Step {
        name: "fio",
        limit_s: 1800,
        command: "tests/with-futago cargo xtask suite fio --size 128m",
        ready: has_program,
    },
    Step {
        name: "mounts",
        limit_s: 3600,
        command: "tests/with-futago --mounts 3 cargo run --quiet --release --package xtask -- suite mounts --seeds 100 --rounds 1000",
        ready: has_program,
    },
    Step {
        name: "hammer",
        limit_s: 4500,
        command: "tests/with-futago --cooperative --servers 2 --shards 2 --mounts 2 --threads 3 --cache 8MiB --partitions 64 --chunk-size 4KiB cargo run --quiet --release --package futago-hammer -- --seconds 3600",
        ready: has_program,
    },
    Step {
        name: "cycles",
        limit_s: 7200,
        command: "tests/with-futago --mounts 2 tests/cycles/run --cycles 100",
        ready: has_program,
    },
    Step {
        name: "entries",
        limit_s: 7200,
        command: "tests/with-futago --mounts 2 cargo xtask suite entries --entries 1000000",
        ready: has_program,
    },
    Step {
        name: "hostile",
        limit_s: 900,
        command: "tests/with-futago --cooperative cargo xtask suite hostile",
        ready: has_program,
    },
    Step {
        name: "killed-server",
        limit_s: 300,
        command: "tests/with-futago --mounts 2 --give-up 2 tests/killed-server",
        ready: has_program,
    },
    Step {
        name: "killed-and-back",
        limit_s: 3600,
        command: "tests/killed-and-back 200",
        ready: has_program,
    },
    Step {
        name: "power-loss",
        limit_s: 14400,
        command: "tests/power-loss/run 100 3000",
        ready: has_program,
    },
    Step {
        name: "hosts",
        limit_s: 300,
        command: "tests/hosts/run",
        ready: has_program,
    },
    Step {
        name: "kernels",
        limit_s: 1800,
        command: "tests/kernels/run target/release/futago",
        ready: has_program,
    },
    Step {
        name: "packages",
        limit_s: 7200,
        command: "packaging/prove",
        ready: has_program,
    },
    Step {
        name: "seeds",
        limit_s: 1800,
        command: "cargo run --release --package futago-cli -- twin fuzz --seeds 20000",
        ready: always,
    },
    Step {
        name: "defects",
        limit_s: 1800,
        command: "cargo test --release --package futago-twin --test defects -- --ignored --nocapture",
        ready: always,
    },
    Step {
        name: "hostile-messages",
        limit_s: 900,
        command: "cargo +nightly fuzz run --fuzz-dir crates/wire/fuzz frame -- -max_total_time=120",
        ready: always,
    },
    Step {
        name: "des-matrix",
        limit_s: 3600,
        command: "crates/des/proof.sh matrix",
        ready: always,
    },
    Step {
        name: "des-races",
        limit_s: 3600,
        command: "crates/des/proof.sh races",
        ready: always,
    },
    Step {
        name: "des-soak",
        limit_s: 1200,
        command: "crates/des/proof.sh soak",
        ready: always,
    },
    Step {
        name: "des-speed",
        limit_s: 3600,
        command: "crates/des/proof.sh speed",
        ready: always,
    },
    Step {
        name: "des-instructions",
        limit_s: 900,
        command: "crates/des/proof.sh instructions",
        ready: always,
    },
    Step {
        name: "twin-executors",
        limit_s: 3600,
        command: "crates/twin/proof.sh executors",
        ready: always,
    },
    Step {
        name: "twin-scenarios",
        limit_s: 3600,
        command: "crates/twin/proof.sh scenarios",
        ready: always,
    },
    Step {
        name: "twin-ranks",
        limit_s: 1800,
        command: "crates/twin/proof.sh ranks",
        ready: always,
    },
    Step {
        name: "twin-scale",
        limit_s: 3600,
        command: "crates/twin/proof.sh scale",
        ready: always,
    },
    Step {
        name: "twin-speed",
        limit_s: 3600,
        command: "crates/twin/proof.sh speed",
        ready: always,
    },
];

/// How many lines of a step's output its report keeps, the last ones.
const REPORT_LINES: usize = 200;

/// Runs the steps (those named, or all) and writes a report of each, failures included. It replaces
/// the report of the step's last run.
pub fn run(only: &[String]) -> anyhow::Result<bool> {
    let circumstances = circumstances()?;
    let outcomes = step::run_all(STEPS, only)?;
    let folder = workspace::root().join("docs/proof");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for outcome in &outcomes {
        let report = folder.join(format!("{}.md", outcome.name));
        fs::write(&report, describe(outcome, &circumstances)?)
            .with_context(|| format!("cannot write {}", report.display()))?;
    }
    let total: Tally = outcomes.iter().map(|outcome| outcome.tally).sum();
    println!("\nthe reports: {}\n\n{total}", folder.display());
    Ok(outcomes.iter().all(|outcome| outcome.failure.is_none()))
}

/// When the steps ran, what ran, and on what.
fn circumstances() -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(text, "- date: {}", said_by("date", &["-u", "+%Y-%m-%d"])?)?;
    let commit = said_by("git", &["describe", "--always", "--dirty"])?;
    writeln!(text, "- commit: {commit}")?;
    writeln!(text, "- kernel: {}", said_by("uname", &["-srm"])?)?;
    writeln!(text, "- cores: {}", said_by("nproc", &[])?)?;
    writeln!(text, "- compiler: {}", said_by("rustc", &["--version"])?)?;
    Ok(text)
}

fn describe(outcome: &Outcome, circumstances: &str) -> anyhow::Result<String> {
    let mut text = format!("# {}\n\n", outcome.name);
    let verdict = outcome.failure.as_deref().unwrap_or("ok");
    let seconds = outcome.took.as_secs_f64();
    writeln!(text, "{verdict}: {} in {seconds:.1} s\n", outcome.tally)?;
    writeln!(text, "{circumstances}- command: `{}`\n", outcome.command)?;
    // Where the repository lies is this machine's affair.
    let output = outcome
        .output
        .replace(&*workspace::root().to_string_lossy(), ".");
    let lines: Vec<_> = output.lines().collect();
    let end = lines[lines.len().saturating_sub(REPORT_LINES)..].join("\n");
    writeln!(text, "```text\n{end}\n```")?;
    Ok(text)
}

fn said_by(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
