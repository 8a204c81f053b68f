//! Places in the code that pages name: `client/leases`, or `server/state/{file,size}`.
//!
//! The first word is a crate. The rest is a folder or file of its sources, or of the crate itself
//! (`server/tests/data`), with or without `.rs`.

use pulldown_cmark::{Event, Parser};

use super::pages::Page;
use crate::workspace;

/// The places that are not there.
pub fn faults(pages: &[Page]) -> Vec<String> {
    let crates = workspace::root().join("crates");
    missing(pages, |path| crates.join(path).exists())
}

fn missing(pages: &[Page], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for page in pages {
        let paths = Parser::new(&page.text).flat_map(|event| match event {
            Event::Code(code) => expanded(&code),
            _ => Vec::new(),
        });
        let gone = paths.filter(|path| is_missing(path, &exists));
        found.extend(gone.map(|path| format!("{}: {path}", page.path.display())));
    }
    found
}

/// Whether `path` begins with the name of a crate and leads to nothing of it.
fn is_missing(path: &str, exists: &impl Fn(&str) -> bool) -> bool {
    let Some((name, rest)) = path.split_once('/') else {
        return false;
    };
    let is_crate = !name.is_empty() && exists(&format!("{name}/Cargo.toml"));
    let candidates = ["src/", ""].map(|folder| format!("{name}/{folder}{rest}"));
    let is_there = |path: &String| exists(path) || exists(&format!("{path}.rs"));
    is_crate && !candidates.iter().any(is_there)
}

/// `a/{b,c}` as `a/b` and `a/c`. An ellipsis stands for names that are not listed.
fn expanded(code: &str) -> Vec<String> {
    let Some((before, rest)) = code.split_once('{') else {
        return vec![code.to_owned()];
    };
    let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
    let names = names.split(',').filter(|name| *name != "...");
    names.map(|name| format!("{before}{name}{after}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Page, missing};

    const FILES: [&str; 4] = [
        "server/Cargo.toml",
        "server/src/state",
        "server/src/state/file.rs",
        "server/tests/data.rs",
    ];

    fn faults(text: &str) -> Vec<String> {
        let page = Page {
            path: PathBuf::from("a.md"),
            text: text.to_owned(),
        };
        missing(&[page], |path| FILES.contains(&path))
    }

    #[test]
    fn what_is_there_is_no_fault() {
        let text = "`server/state`, `server/state/{file,...}`, `server/tests/data`, \
            `server/tests/data.rs`, `server`, `/server/none`, `other/none`, server/none\n";
        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn what_is_gone_is_a_fault() {
        let text = "`server/gone` and `server/state/{file,size}`\n";
        assert_eq!(
            faults(text),
            ["a.md: server/gone", "a.md: server/state/size"]
        );
    }
}
