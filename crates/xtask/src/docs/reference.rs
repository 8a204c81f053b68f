//! The reference of the commands, which the program writes from its own description of them.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace;

/// The page in the repository.
const PAGE: &str = "docs/reference.md";

/// The differences between the program and the page; none after a run with `UPDATE_GOLDEN=1`.
pub fn faults() -> anyhow::Result<Vec<String>> {
    let written = fs::read_to_string(write()?.join("reference.md"))?;
    let page = workspace::root().join(PAGE);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&page, &written).with_context(|| format!("cannot write {PAGE}"))?;
    }
    // A page that is not there differs.
    let present = fs::read_to_string(&page).unwrap_or_default();
    let stale = format!("{PAGE} is stale; UPDATE_GOLDEN=1 cargo xtask docs writes it anew");
    Ok(if present == written {
        Vec::new()
    } else {
        vec![stale]
    })
}

/// Lets the program write its reference; returns the directory. `FUTAGO` names the program, else it
/// is the one that the suites use, too.
fn write() -> anyhow::Result<PathBuf> {
    let directory = workspace::root().join("target/reference");
    let mut command = match env::var_os("FUTAGO") {
        Some(program) => Command::new(program),
        None => release(),
    };
    let status = command
        .arg("reference")
        .arg(&directory)
        .status()
        .context("cannot run the program")?;
    ensure!(
        status.success(),
        "the program cannot write its reference: {status}"
    );
    Ok(directory)
}

fn release() -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "futago-cli",
            "--",
        ])
        .current_dir(workspace::root());
    cargo
}
