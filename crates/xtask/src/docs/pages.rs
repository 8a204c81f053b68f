//! The Markdown pages of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace;

/// A Markdown file.
pub struct Page {
    /// Where it is, from the root of the repository.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Page {
    /// Whether the page belongs below `docs/`, reports of proofs excepted.
    pub fn is_chapter(&self) -> bool {
        self.path.starts_with("docs") && !self.is_proof() && !self.is_summary()
    }

    /// Whether the page reports a proof.
    pub fn is_proof(&self) -> bool {
        self.path.starts_with("docs/proof")
    }

    /// Whether the page is the table of contents.
    pub fn is_summary(&self) -> bool {
        self.path == Path::new(SUMMARY)
    }
}

/// The table of contents of the book.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// All pages that are part of the repository or about to be.
pub fn all() -> anyhow::Result<Vec<Page>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard", "--", "*.md"])
        .current_dir(workspace::root())
        .output()
        .context("cannot run git")?;
    ensure!(output.status.success(), "git cannot list the pages");
    let names = String::from_utf8(output.stdout).context("a page has a strange name")?;
    let paths = names.split_terminator('\0').map(PathBuf::from);
    // A page that is being removed is still listed.
    let present = paths.filter(|path| workspace::root().join(path).is_file());
    present.map(read).collect()
}

fn read(path: PathBuf) -> anyhow::Result<Page> {
    let text = fs::read_to_string(workspace::root().join(&path))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Page { path, text })
}
