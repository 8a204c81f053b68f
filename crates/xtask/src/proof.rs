//! What takes longer than a change can wait for. Its report is committed.

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
        command: "tests/with-futago --mounts 3 cargo xtask suite mounts --seeds 100 --rounds 5000",
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
        command: "tests/with-futago cargo xtask suite hostile",
        ready: has_program,
    },
    Step {
        name: "killed-server",
        limit_s: 300,
        command: "tests/with-futago --give-up 2 tests/killed-server",
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
        name: "seeds",
        limit_s: 1800,
        command: "cargo run --release --package futago-cli -- twin fuzz --seeds 10000",
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
];

/// Runs the steps (those named, or all) and writes the report, failures included.
pub fn run(only: &[String]) -> anyhow::Result<bool> {
    let outcomes = step::run_all(STEPS, only)?;
    let succeeded = outcomes.iter().all(|outcome| outcome.failure.is_none());
    let total: Tally = outcomes.iter().map(|outcome| outcome.tally).sum();
    if !outcomes.is_empty() {
        let date = said_by("date", &["-u", "+%Y-%m-%d"])?;
        let report = workspace::root()
            .join("docs/proof")
            .join(format!("{date}.md"));
        fs::write(&report, describe(&date, &outcomes, total)?)
            .with_context(|| format!("cannot write {}", report.display()))?;
        println!("\nthe report: {}", report.display());
    }
    println!("\n{total}");
    Ok(succeeded)
}

fn describe(date: &str, outcomes: &[Outcome], total: Tally) -> anyhow::Result<String> {
    let mut text = format!("# Proof of {date}\n\n");
    let names: Vec<_> = outcomes.iter().map(|outcome| outcome.name).collect();
    let ran = if outcomes.len() == STEPS.len() {
        "all".into()
    } else {
        names.join(", ")
    };
    writeln!(text, "What `make proof` saw: {total}. Steps: {ran}.\n")?;
    writeln!(
        text,
        "- commit: {}",
        said_by("git", &["describe", "--always", "--dirty"])?
    )?;
    writeln!(text, "- kernel: {}", said_by("uname", &["-srm"])?)?;
    writeln!(text, "- cores: {}", said_by("nproc", &[])?)?;
    writeln!(text, "- compiler: {}", said_by("rustc", &["--version"])?)?;
    for outcome in outcomes {
        writeln!(text, "\n## {}\n", outcome.name)?;
        let verdict = outcome.failure.as_deref().unwrap_or("ok");
        let seconds = outcome.took.as_secs_f64();
        writeln!(text, "{verdict}: {} in {seconds:.1} s\n", outcome.tally)?;
        let lines: Vec<_> = outcome.output.lines().collect();
        let end = lines[lines.len().saturating_sub(80)..].join("\n");
        writeln!(text, "```text\n{end}\n```")?;
    }
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
