//! The check of a whole file system: do the records of all servers fit together?
//!
//! A pure function from what the servers list ([`Inspected`](futago_wire::check::Inspected)) to
//! [`Finding`]s, each with the [`Repair`](futago_wire::check::Repair)s that mend it. It presumes that
//! nothing is under way: while an operation is, a record may be ahead of another for a moment.
//!
//! One file a rule:
//! - [`buckets`]: every bucket belongs to a directory and lies on the right server; the buckets of
//!   a directory tile the hashes; their counts are those of their entries.
//! - [`entries`]: every entry lies in a bucket and leads to a node of the kind that it says.
//! - [`inodes`]: every node has as many names as it counts, and a directory exactly one.
//! - [`tree`]: every directory names the one that it lies in, and is reached from the root.
//! - [`chunks`]: every chunk belongs to a file that reaches that far, and its data is served.
//! - [`admissions`]: every server that takes chunks of a file has heard of all its shrinkings.

mod admissions;
mod buckets;
mod chunks;
mod entries;
mod finding;
mod inodes;
mod plan;
mod records;
mod tiles;
mod tree;

pub use finding::{Fault, FaultKind, Finding};
pub use plan::repair_plan;
pub use records::{Listing, Records};

/// Everything that does not fit together in the records that the servers have listed.
pub fn check(records: &Records<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    buckets::check(records, &mut findings);
    entries::check(records, &mut findings);
    inodes::check(records, &mut findings);
    tree::check(records, &mut findings);
    chunks::check(records, &mut findings);
    admissions::check(records, &mut findings);
    findings
}

#[cfg(test)]
mod tests;
