//! Operations that look at a directory bucket by bucket: they see every name that was there all the
//! time, and none that was never there.

use crate::model::{Node, NodeId, Observed, Operation, Outcome, Tree};
use futago_base::{Attributes, FileId, Name, NameHash};
use futago_wire::ListedEntry;
use std::collections::BTreeMap;

/// A directory at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Moment {
    node: NodeId,
    /// Names and the identities that they lead to, as far as they are known.
    entries: BTreeMap<Name, Option<FileId>>,
    subdirectories: u32,
    mode: u16,
    uid: u32,
    gid: u32,
}

/// The different states in which a watch has seen its directory; `None` if it was not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Watch(Vec<Option<Moment>>);

const fn directory(operation: &Operation) -> Option<FileId> {
    match operation {
        Operation::ReadDirectory { directory, .. } => Some(*directory),
        Operation::Attributes(id) => Some(*id),
        _ => None,
    }
}

fn moment(tree: &Tree, id: FileId) -> Option<Moment> {
    let at = tree.find(id)?;
    let node = tree.node(at)?;
    let entries = node.entries()?;
    let is_directory = |id: &&NodeId| tree.node(**id).and_then(Node::entries).is_some();
    Some(Moment {
        node: at,
        subdirectories: entries.values().filter(is_directory).count() as u32,
        entries: entries
            .iter()
            .map(|(name, &node)| (name.clone(), tree.node(node).and_then(|node| node.id)))
            .collect(),
        mode: node.mode,
        uid: node.uid,
        gid: node.gid,
    })
}

impl Watch {
    /// Looks at the directory as it is now.
    pub(super) fn look(&mut self, tree: &Tree, operation: &Operation) {
        let now = directory(operation).and_then(|id| moment(tree, id));
        if !self.0.contains(&now) {
            self.0.push(now);
        }
    }

    /// Whether the answer can be put together from what was there.
    pub(super) fn agrees(&self, observed: &Observed) -> bool {
        let moments: Vec<&Moment> = self.0.iter().flatten().collect();
        match observed {
            Ok(Outcome::Listing(listed)) => !moments.is_empty() && listing_agrees(&moments, listed),
            Ok(Outcome::File(state, _)) => moments_agree(&moments, &state.attributes),
            _ => false,
        }
    }
}

fn listing_agrees(moments: &[&Moment], listed: &[ListedEntry]) -> bool {
    let mut names: Vec<(NameHash, &Name)> = listed
        .iter()
        .map(|entry| (entry.name.hash(), &entry.name))
        .collect();
    let in_order = names.is_sorted();
    names.dedup();
    let seen = listed.iter().all(|entry| {
        let mut ids = moments
            .iter()
            .filter_map(|moment| moment.entries.get(&entry.name));
        ids.any(|id| id.is_none_or(|id| id == entry.entry.id))
    });
    let always = moments[0].entries.keys().filter(|name| {
        moments
            .iter()
            .all(|moment| moment.entries.contains_key(*name))
    });
    let missing = always.filter(|name| !listed.iter().any(|entry| entry.name == **name));
    in_order && names.len() == listed.len() && seen && missing.count() == 0
}

fn moments_agree(moments: &[&Moment], seen: &Attributes) -> bool {
    let exact = |moment: &Moment| {
        seen.links == 2 + moment.subdirectories && seen.size == moment.entries.len() as u64
    };
    moments
        .iter()
        .any(|moment| (moment.mode, moment.uid, moment.gid) == (seen.mode, seen.uid, seen.gid))
        && (moments.len() > 1 || exact(moments[0]))
}
