//! No two files of whatever lives of servers have one identity.

use super::{Loss, made};
use crate::model::Node;
use futago_base::FileId;
use std::collections::BTreeSet;

/// A file that was given an identity that another one has or had.
pub(super) fn repeated(loss: &Loss<'_>) -> Option<String> {
    let known = loss.before.nodes.values();
    let mut known: BTreeSet<FileId> = known
        .filter_map(|node: &std::rc::Rc<Node>| node.id)
        .collect();
    let record = loss
        .history
        .iter()
        .find(|record| made(record).is_some_and(|id| !known.insert(id)))?;
    Some(format!("an identity is given twice: {record:?}\n"))
}
