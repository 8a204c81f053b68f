//! The table of contents names every page below `docs/`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;

use super::links::{links, resolved};
use super::pages::{Page, SUMMARY};

/// The pages that the table of contents leaves out.
pub fn faults(pages: &[Page]) -> anyhow::Result<Vec<String>> {
    let listed: BTreeSet<_> = links(&of(pages)?.text)
        .iter()
        .map(|link| resolved(Path::new(SUMMARY), link))
        .collect();
    let missing = |page: &&Page| page.is_chapter() && !listed.contains(&page.path);
    let left_out = pages.iter().filter(missing);
    Ok(left_out
        .map(|page| format!("{} does not list {}", SUMMARY, page.path.display()))
        .collect())
}

/// The table of contents.
pub fn of(pages: &[Page]) -> anyhow::Result<&Page> {
    let summary = pages.iter().find(|page| page.is_summary());
    summary.with_context(|| format!("{SUMMARY} is missing"))
}
