//! Links between the pages: each leads to a file that is there, and to a heading that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::pages::Page;
use crate::workspace;

/// The links that lead nowhere.
pub fn faults(pages: &[Page]) -> Vec<String> {
    broken(pages, |path| workspace::root().join(path).exists())
}

fn broken(pages: &[Page], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let headings: BTreeMap<_, _> = pages
        .iter()
        .map(|page| (page.path.clone(), anchors(&page.text)))
        .collect();
    let leads_nowhere = |target: &Target| match headings.get(&target.path) {
        Some(anchors) => !target.anchor.as_ref().is_none_or(|it| anchors.contains(it)),
        None => !exists(&target.path),
    };
    let mut found = Vec::new();
    for page in pages {
        for link in links(&page.text) {
            if Target::of(&page.path, &link).is_some_and(|target| leads_nowhere(&target)) {
                found.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    found
}

/// A place in the repository.
struct Target {
    path: PathBuf,
    anchor: Option<String>,
}

impl Target {
    /// The target of a link in the page at `from`; none if it leaves the repository.
    fn of(from: &Path, link: &str) -> Option<Self> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (file, anchor) = match link.split_once('#') {
            Some((file, anchor)) => (file, Some(anchor.to_owned())),
            None => (link, None),
        };
        let path = match file {
            "" => from.to_owned(),
            file => resolved(from, file),
        };
        Some(Self { path, anchor })
    }
}

/// The path of `link` from the root, when it stands in the page `from`.
pub fn resolved(from: &Path, link: &str) -> PathBuf {
    let mut path = from.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES)
}

/// The targets of the links and pictures of a page.
pub fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for event in parser(text) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.push(dest_url.into_string());
            }
            Event::Html(html) | Event::InlineHtml(html) => found.extend(in_html(&html)),
            _ => {}
        }
    }
    found
}

/// The values of the attributes `href` and `src`.
pub fn in_html(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in [" href=\"", " src=\""] {
        let values = html.split(attribute).skip(1);
        found.extend(values.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    }
    found
}

/// The anchors of a page's headings, as code forges and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor_of(&heading.take().unwrap_or_default());
                let unique = (0..).map(|number| numbered(&anchor, number));
                found.extend(unique.into_iter().find(|anchor| !found.contains(anchor)));
            }
            Event::Text(part) | Event::Code(part) => {
                heading.iter_mut().for_each(|text| text.push_str(&part));
            }
            _ => {}
        }
    }
    found
}

fn anchor_of(heading: &str) -> String {
    let is_of_anchor = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let letters = heading.trim().chars().filter(is_of_anchor);
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Numbers distinguish headings of the same words.
fn numbered(anchor: &str, number: u32) -> String {
    match number {
        0 => anchor.to_owned(),
        number => format!("{anchor}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Page, broken};

    fn page(path: &str, text: &str) -> Page {
        Page {
            path: path.into(),
            text: text.to_owned(),
        }
    }

    fn faults(links: &str) -> Vec<String> {
        let pages = [
            page("README.md", links),
            page(
                "docs/a.md",
                "# The `a` page, first\n\n## Same\n\n## Same\n\n[up](../README.md)\n",
            ),
        ];
        broken(&pages, |path| path == Path::new("docs/picture.svg"))
    }

    #[test]
    fn links_that_work_are_no_faults() {
        let links = "# Top\n[a](docs/a.md) [b](docs/a.md#the-a-page-first) [c](#top) \
            [d](docs/a.md#same-1) ![e](docs/picture.svg) [f](https://example.org/x) \
            <img src=\"docs/picture.svg\"> `[g](no.md)`\n\n    [h](no.md)\n";
        assert_eq!(faults(links), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_faults() {
        let links = "[a](docs/b.md) [b](docs/a.md#second) [c](#top) [d](docs/a.md#same-2) \
            ![e](picture.svg)\n\n<img src=\"no.svg\">\n";
        let expected = [
            "docs/b.md",
            "docs/a.md#second",
            "#top",
            "docs/a.md#same-2",
            "picture.svg",
            "no.svg",
        ];
        assert_eq!(
            faults(links),
            expected.map(|link| format!("README.md: {link}"))
        );
    }
}
