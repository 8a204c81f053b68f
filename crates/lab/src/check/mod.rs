//! The check of a whole file system: the consistency of the records of all servers.
//!
//! A pure function from the listed records ([`Inspected`](futago_wire::inspection::Inspected)) to
//! [`Finding`]s, each with its [`Repair`](futago_wire::inspection::Repair)s. It requires that no
//! operation is under way, because an operation may change one record before another.
//!
//! One file for each rule:
//! - [`buckets`]: every bucket belongs to a directory and lies on the right server; the buckets of
//!   a directory tile the hashes; their counts are those of their entries.
//! - [`entries`]: every entry lies in a bucket and refers to a node of the recorded kind.
//! - [`inodes`]: every node has as many names as it counts, and a directory exactly one.
//! - [`tree`]: every directory records its parent, and is reached from the root.
//! - [`chunks`]: every chunk belongs to a file that reaches that far, and its data is served.
//! - [`admissions`]: every server that takes chunks of a file has applied all its truncations.

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

/// All inconsistencies in the listed records.
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
