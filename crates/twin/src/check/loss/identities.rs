//! No two files of whatever lives of servers have one identity.

use super::made;
use crate::check::History;
use crate::model::{Node, Tree};
use futago_base::FileId;
use std::collections::BTreeSet;

/// A file that was given an identity that another one has or had.
pub fn repeated(before: &Tree, history: &History) -> Option<String> {
    let known = before.nodes.values();
    let mut known: BTreeSet<FileId> = known
        .filter_map(|node: &std::rc::Rc<Node>| node.id)
        .collect();
    let record = history
        .iter()
        .find(|record| made(record).is_some_and(|id| !known.insert(id)))?;
    Some(format!("an identity is given twice: {record:?}\n"))
}
