//! `cargo xtask docs`: the reference of the commands is current, links and places in the code that
//! pages name are there, the book builds.

mod book;
mod code_paths;
mod links;
mod pages;
mod reference;
mod summary;

use crate::tally::Tally;

/// One check: its name, and what it found wrong.
struct Check {
    name: &'static str,
    faults: Vec<String>,
}

/// Checks the documents and builds the book; true if nothing is wrong.
pub fn run() -> anyhow::Result<bool> {
    let reference = Check {
        name: "reference",
        faults: reference::faults()?,
    };
    let pages = pages::all()?;
    let links = Check {
        name: "links",
        faults: links::faults(&pages),
    };
    let code_paths = Check {
        name: "code paths",
        faults: code_paths::faults(&pages),
    };
    let summary = Check {
        name: "summary",
        faults: summary::faults(&pages)?,
    };
    let book = Check {
        name: "book",
        faults: book::build(&pages)?,
    };
    Ok(report(&[reference, links, code_paths, summary, book]))
}

fn report(checks: &[Check]) -> bool {
    for check in checks {
        for fault in &check.faults {
            println!("{}: {fault}", check.name);
        }
    }
    let tallies = checks
        .iter()
        .map(|check| Tally::of(check.faults.is_empty()));
    let total: Tally = tallies.sum();
    println!("the book: {}", book::html().display());
    println!("{total}");
    total.failed == 0
}
