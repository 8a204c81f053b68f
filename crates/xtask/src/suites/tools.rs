//! The programs that the suites and the documents need. They are built from the registry's source
//! at pinned versions and run as they are; nothing of them is linked into Futago.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::workspace;

struct Tool {
    name: &'static str,
    version: &'static str,
    /// How it is built, for `cargo install`.
    options: &'static [&'static str],
}

/// pjdfstest: the POSIX cases of FreeBSD's pjdfstest in Rust (BSD licence).
/// fsx: FreeBSD's file system exerciser in Rust (Apple Public Source License).
/// mdbook: makes the book (Mozilla Public License). It runs for seconds, so it is not optimized.
const TOOLS: &[Tool] = &[
    Tool {
        name: "pjdfstest",
        version: "0.2.2",
        options: &[],
    },
    Tool {
        name: "fsx",
        version: "0.3.2",
        options: &[],
    },
    Tool {
        name: "mdbook",
        version: "0.5.4",
        options: &["--no-default-features", "--features", "search", "--debug"],
    },
];

/// Builds the tools that are not there.
pub fn install() -> anyhow::Result<()> {
    TOOLS.iter().try_for_each(Tool::install)
}

/// The path of an installed tool, which is built if it is not there.
pub fn path(name: &str) -> anyhow::Result<PathBuf> {
    let tool = TOOLS
        .iter()
        .find(|tool| tool.name == name)
        .context("no such tool")?;
    tool.install()?;
    Ok(tool.path())
}

impl Tool {
    fn path(&self) -> PathBuf {
        workspace::tools()
            .join(self.version)
            .join("bin")
            .join(self.name)
    }

    fn install(&self) -> anyhow::Result<()> {
        if self.path().is_file() {
            return Ok(());
        }
        let status = Command::new("cargo")
            .args([
                "install",
                "--locked",
                self.name,
                "--version",
                self.version,
                "--root",
            ])
            .arg(workspace::tools().join(self.version))
            .args(self.options)
            .arg("--target-dir")
            .arg(workspace::tools().join("build"))
            .status()
            .context("cannot run cargo")?;
        if !status.success() {
            bail!("cannot build {} {}: {status}", self.name, self.version);
        }
        Ok(())
    }
}
