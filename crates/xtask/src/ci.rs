//! The checks that a change must pass.

use crate::step::{self, Step, always};
use crate::tally::Tally;
use crate::workspace::has_crate;

/// The checks of a change, in the order in which they tell most in the shortest time.
pub const STEPS: &[Step] = &[
    Step {
        name: "format",
        limit_s: 60,
        command: "cargo fmt --all --check",
        ready: always,
    },
    Step {
        name: "words",
        limit_s: 300,
        command: "cargo xtask words",
        ready: always,
    },
    Step {
        name: "lint",
        limit_s: 600,
        command: "cargo clippy --workspace --all-targets -- -D warnings",
        ready: always,
    },
    Step {
        name: "bare-metal",
        limit_s: 900,
        command: "tests/bare-metal base wire server client files driver",
        ready: always,
    },
    Step {
        name: "tests",
        limit_s: 2700,
        command: "cargo test --workspace --no-fail-fast",
        ready: always,
    },
    Step {
        name: "des-matrix",
        limit_s: 900,
        command: "crates/des/matrix.sh 10 1",
        ready: always,
    },
    Step {
        name: "tools",
        limit_s: 900,
        command: "cargo xtask tools",
        ready: always,
    },
    Step {
        name: "program",
        limit_s: 900,
        command: "cargo build --release --package futago-cli --package futago-chfs --package libfutago",
        ready: has_program,
    },
    Step {
        name: "docs",
        limit_s: 600,
        command: "cargo xtask docs",
        ready: has_program,
    },
    Step {
        name: "c-libraries",
        limit_s: 1200,
        command: "tests/c-libraries",
        ready: has_program,
    },
    Step {
        name: "pjdfstest",
        limit_s: 900,
        command: "tests/with-futago cargo xtask suite pjdfstest",
        ready: has_program,
    },
    Step {
        name: "mounts",
        limit_s: 900,
        command: "tests/with-futago --mounts 2 cargo xtask suite mounts --seeds 10 --rounds 1000",
        ready: has_program,
    },
    Step {
        name: "mounts-all-threads",
        limit_s: 900,
        command: "tests/with-futago --cooperative --mounts 2 --threads 3 --all-threads cargo xtask suite mounts --seeds 5 --rounds 1000",
        ready: has_program,
    },
    Step {
        name: "pjdfstest-all-threads",
        limit_s: 900,
        command: "tests/with-futago --threads 3 --all-threads cargo xtask suite pjdfstest",
        ready: has_program,
    },
    Step {
        name: "hammer",
        limit_s: 900,
        command: "tests/with-futago --cooperative --servers 2 --shards 2 --mounts 2 --threads 3 --cache 8MiB --partitions 64 --chunk-size 4KiB cargo run --quiet --release --package futago-hammer -- --seconds 30",
        ready: has_program,
    },
    Step {
        name: "fsx",
        limit_s: 900,
        command: "tests/with-futago cargo xtask suite fsx --seeds 2 --operations 10000",
        ready: has_program,
    },
    Step {
        name: "fio",
        limit_s: 900,
        command: "tests/with-futago --threads 4 cargo xtask suite fio --size 8m",
        ready: has_program,
    },
    Step {
        name: "cycles",
        limit_s: 900,
        command: "tests/with-futago --cooperative --mounts 2 tests/cycles/run --cycles 5",
        ready: has_program,
    },
    Step {
        name: "cycles-small-chunks",
        limit_s: 900,
        command: "tests/with-futago --mounts 2 --chunk-size 64KiB tests/cycles/run --cycles 10 --only appends --only long_files --only sparse",
        ready: has_program,
    },
    Step {
        name: "killed-server",
        limit_s: 300,
        command: "tests/with-futago --mounts 2 --give-up 2 tests/killed-server",
        ready: has_program,
    },
    Step {
        name: "hostile",
        limit_s: 900,
        command: "tests/with-futago --cooperative --give-up 2 cargo xtask suite hostile",
        ready: has_program,
    },
    Step {
        name: "entries",
        limit_s: 900,
        command: "tests/with-futago --mounts 2 cargo xtask suite entries --entries 20000",
        ready: has_program,
    },
    Step {
        name: "widening",
        limit_s: 900,
        command: "tests/with-futago cargo xtask suite widening",
        ready: has_program,
    },
    Step {
        name: "real-input",
        limit_s: 1200,
        command: "tests/with-futago tests/real-input/run --small",
        ready: has_program,
    },
];

/// Whether the `futago` program is part of this workspace.
pub fn has_program() -> bool {
    has_crate("cli")
}

/// Runs the steps (those named, or all) and closes with the number of cases; true if none failed.
pub fn run(only: &[String]) -> anyhow::Result<bool> {
    let outcomes = step::run_all(STEPS, only)?;
    let total: Tally = outcomes.iter().map(|outcome| outcome.tally).sum();
    println!("\n{total}");
    Ok(outcomes.iter().all(|outcome| outcome.failure.is_none()))
}
