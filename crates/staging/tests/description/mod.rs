//! Descriptions by which trees are compared.

use futago_base::{Kind, Timestamp};
use futago_staging::{Links, LocalTree, Tree, TreePath, Xattr};
use std::{collections::BTreeMap, path::Path};

/// All that a copy retains of a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Description {
    kind: Kind,
    mode: u16,
    owner: (u32, u32),
    size: u64,
    modified: Timestamp,
    xattrs: Vec<Xattr>,
    target: Vec<u8>,
    /// The data of a file.
    pub data: Vec<u8>,
    /// The first of the paths of the same file.
    first_name: Vec<u8>,
    is_sparse: bool,
}

/// Describes all nodes of a local tree by path.
pub fn describe(root: &Path) -> BTreeMap<Vec<u8>, Description> {
    let (mut described, mut firsts) = (BTreeMap::new(), BTreeMap::new());
    let mut paths = vec![(Vec::new(), TreePath::from(root))];
    let mut all = Vec::new();
    while let Some((relative, path)) = paths.pop() {
        let metadata = LocalTree
            .metadata(&path, Links::Unfollowed)
            .unwrap()
            .unwrap();
        if metadata.kind == Kind::Directory {
            for entry in LocalTree.list(&path).entries {
                let below = [&relative[..], b"/", &entry.name].concat();
                paths.push((below, path.join(&entry.name)));
            }
        }
        all.push((relative, path, metadata));
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    for (relative, path, metadata) in all {
        let node = LocalTree.open(&path, &metadata).unwrap();
        let first = firsts
            .entry(metadata.identity)
            .or_insert_with(|| relative.clone());
        let is_file = metadata.kind == Kind::File;
        let size = if is_file { metadata.size } else { 0 };
        let description = Description {
            kind: metadata.kind,
            mode: metadata.mode,
            owner: (metadata.uid, metadata.gid),
            size,
            modified: metadata.modified,
            xattrs: LocalTree.xattrs(&node).unwrap(),
            target: match metadata.kind {
                Kind::Symlink => LocalTree.read_link(&node).unwrap(),
                _ => Vec::new(),
            },
            data: match is_file {
                true => LocalTree.read(&node, 0, size as u32).unwrap().to_vec(),
                false => Vec::new(),
            },
            first_name: first.clone(),
            // A file without any data stays so.
            is_sparse: is_file && size > 0 && LocalTree.next_data(&node, 0).unwrap().is_none(),
        };
        described.insert(relative, description);
    }
    described
}
