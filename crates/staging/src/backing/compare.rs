//! The differences between the cluster and the directory.

use super::{Unflushed, known::Known, listing::Listing};
use crate::{Identity, NodeMetadata, TreePath};
use futago_base::{Kind, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    time::{Duration, SystemTime},
};

/// The differences between the cluster and the directory, parents before their entries.
#[derive(Default)]
pub struct Changes {
    /// New and changed nodes.
    pub written: Vec<(TreePath, NodeMetadata)>,
    /// Paths that the cluster has no more.
    pub removed: Vec<TreePath>,
    /// Unchanged directories of these. Writing to their copies changes the copies' times.
    pub parents: Vec<(TreePath, NodeMetadata)>,
}

impl Changes {
    /// The differences. With `rest`, nodes that were changed within that time do not count.
    pub fn between(known: &Known, listed: &Listing, rest: Option<Duration>) -> Self {
        let gone = known.paths().filter(|path| !listed.contains_key(path));
        let removed: Vec<_> = gone.cloned().collect();
        let latest = rest.map(time_before);
        let is_due = |node: &NodeMetadata| {
            node.kind == Kind::Directory || latest.is_none_or(|latest| node.changed <= latest)
        };
        let is_changed = |path: &TreePath, node: &NodeMetadata| {
            let same = known.get(path);
            same.is_none_or(|same| !same.is_in_cluster(node))
        };
        let changed = listed.iter().filter(|(path, node)| is_changed(path, node));
        let due: Vec<_> = changed.filter(|(_, node)| is_due(node)).collect();
        let written = with_further_names(due, listed);
        let paths = written.iter().map(|(path, _)| path).chain(&removed);
        let parents: BTreeSet<_> = paths.filter_map(parent).collect();
        let parents = parents.into_iter().filter_map(|path| {
            let node = *listed.get(&path)?;
            (!is_changed(&path, &node)).then_some((path, node))
        });
        let parents = parents.collect();
        Self {
            written,
            removed,
            parents,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }

    /// The changes that the directory lacks until these are written.
    pub fn unflushed(&self) -> Unflushed {
        let sizes = self.written.iter().map(|(_, node)| match node.kind {
            Kind::File => node.size,
            _ => 0,
        });
        Unflushed {
            files: (self.written.len() + self.removed.len()) as u64,
            bytes: sizes.sum(),
            since: self.written.iter().map(|(_, node)| node.changed).min(),
            failures: Vec::new(),
        }
    }
}

/// Nodes with all other names of the files among them, so that copies become names of one file.
fn with_further_names(
    due: Vec<(&TreePath, &NodeMetadata)>,
    listed: &Listing,
) -> Vec<(TreePath, NodeMetadata)> {
    let has_more = |node: &NodeMetadata| node.kind != Kind::Directory && node.links > 1;
    let linked = due.iter().filter(|(_, node)| has_more(node));
    let linked: BTreeSet<Identity> = linked.map(|(_, node)| node.identity).collect();
    let mut all: BTreeMap<&TreePath, &NodeMetadata> = due.into_iter().collect();
    if !linked.is_empty() {
        let is_linked = |node: &NodeMetadata| has_more(node) && linked.contains(&node.identity);
        all.extend(listed.iter().filter(|(_, node)| is_linked(node)));
    }
    let owned = |(path, node): (&TreePath, &NodeMetadata)| (path.clone(), *node);
    all.into_iter().map(owned).collect()
}

/// The directory of a path, without a slash at its end.
fn parent(path: &TreePath) -> Option<TreePath> {
    let parent = path.parent()?;
    Some(match parent.bytes() {
        b"/" => parent,
        bytes => TreePath::from(OsString::from_vec(bytes[..bytes.len() - 1].to_vec())),
    })
}

/// The time so long ago.
fn time_before(span: Duration) -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let then = now.unwrap_or_default().saturating_sub(span);
    Timestamp {
        seconds: then.as_secs() as i64,
        nanos: then.subsec_nanos(),
    }
}
