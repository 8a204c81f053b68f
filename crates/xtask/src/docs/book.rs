//! The book. mdBook takes pages from one directory, and ours lie in the root and below `docs/`,
//! where readers of the repository look for them. They are copied with their places, so that the
//! links between them hold in the book, too.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::links::{in_html, links, resolved};
use super::pages::{Page, SUMMARY};
use super::summary;
use crate::suites::tools;
use crate::workspace;

fn source() -> PathBuf {
    workspace::root().join("target/book/src")
}

/// Where the book is.
pub fn html() -> PathBuf {
    workspace::root().join("target/book/html")
}

/// Builds the book; returns the links in it that lead nowhere.
pub fn build(pages: &[Page]) -> anyhow::Result<Vec<String>> {
    if source().exists() {
        fs::remove_dir_all(source()).context("cannot remove the old pages")?;
    }
    for page in chapters(pages) {
        copy(&page.path)?;
        copy_pictures(page, pages)?;
    }
    fs::write(source().join("SUMMARY.md"), contents(pages)?)?;
    let status = Command::new(tools::path("mdbook")?)
        .arg("build")
        .current_dir(workspace::root())
        .status()
        .context("cannot run mdbook")?;
    ensure!(status.success(), "mdbook cannot build the book: {status}");
    broken(&html())
}

/// The pages of the book: those that the table of contents names, and the reports of proofs.
fn chapters(pages: &[Page]) -> Vec<&Page> {
    let summary = pages.iter().filter(|page| page.is_summary());
    let listed: BTreeSet<_> = summary
        .flat_map(|page| links(&page.text))
        .map(|link| resolved(Path::new(SUMMARY), &link))
        .collect();
    let chosen = |page: &&Page| listed.contains(&page.path) || page.is_proof();
    pages.iter().filter(chosen).collect()
}

/// Copies what a page links to and what is no page.
fn copy_pictures(page: &Page, pages: &[Page]) -> anyhow::Result<()> {
    let files = links(&page.text)
        .into_iter()
        .filter(|link| !link.contains("://") && !link.starts_with('#'))
        .map(|link| resolved(&page.path, &link))
        .filter(|path| pages.iter().all(|page| page.path != *path));
    for path in files {
        let here = workspace::root().join(&path);
        match here.is_dir() {
            true => copy_directory(&path)?,
            false if here.is_file() => copy(&path)?,
            false => {}
        }
    }
    Ok(())
}

fn copy_directory(path: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(workspace::root().join(path))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            copy(&path.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn copy(path: &Path) -> anyhow::Result<()> {
    let target = source().join(path);
    let parent = target.parent().context("a page without a directory")?;
    fs::create_dir_all(parent)?;
    fs::copy(workspace::root().join(path), &target)
        .with_context(|| format!("cannot copy {}", path.display()))?;
    Ok(())
}

/// The table of contents with paths from the root, and the reports of proofs.
fn contents(pages: &[Page]) -> anyhow::Result<String> {
    let mut text = String::new();
    for line in summary::of(pages)?.text.lines() {
        writeln!(text, "{}", from_root(line))?;
    }
    writeln!(text, "\n# Proofs\n")?;
    for page in pages.iter().filter(|page| page.is_proof()) {
        let name = page.path.file_stem().unwrap_or_default().display();
        writeln!(text, "- [{name}]({})", page.path.display())?;
    }
    Ok(text)
}

fn from_root(line: &str) -> String {
    match line.split_once("](") {
        Some((title, rest)) => {
            let link = rest.trim_end_matches(')');
            let path = resolved(Path::new(SUMMARY), link);
            format!("{title}]({})", path.display())
        }
        None => line.to_owned(),
    }
}

/// The links of the HTML pages in `directory` that lead to no file.
fn broken(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(broken(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            found.extend(broken_in(&path)?);
        }
    }
    Ok(found)
}

fn broken_in(page: &Path) -> anyhow::Result<Vec<String>> {
    let links = in_html(&fs::read_to_string(page)?);
    let leaves = |link: &str| link.contains(':') || link.starts_with("//");
    let mut missing = BTreeSet::new();
    for link in links.iter().filter(|link| !leaves(link)) {
        let file = link.split(['#', '?']).next().unwrap_or_default();
        let target = page.parent().unwrap_or(page).join(file);
        if !file.is_empty() && !target.exists() {
            missing.insert(format!("{}: {link}", page.display()));
        }
    }
    Ok(missing.into_iter().collect())
}
