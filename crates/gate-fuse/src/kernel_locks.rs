//! Directories whose locks the kernel holds while it waits for an answer.

use crate::directory_nodes::DirectoryNodes;
use crate::interruption::locked;
use bytes::Bytes;
use futago_base::Name;
use futago_fuse_kernel::Operation;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::iter;
use std::sync::{Arc, Mutex};

/// How many requests under way hold the lock of each directory, by their nodes.
#[derive(Clone, Debug, Default)]
pub struct KernelLocks(Arc<Mutex<HashMap<u64, u32>>>);

/// A request is under way for which the kernel holds locks.
#[derive(Debug)]
pub struct Held {
    locks: KernelLocks,
    nodes: Vec<u64>,
}

impl KernelLocks {
    /// A request begins for which the kernel holds the locks of some directories.
    pub fn hold(&self, nodes: Vec<u64>) -> Held {
        if !nodes.is_empty() {
            let mut held = locked(&self.0);
            nodes
                .iter()
                .for_each(|&node| *held.entry(node).or_default() += 1);
        }
        let locks = self.clone();
        Held { locks, nodes }
    }

    /// Whether a request is under way for which the kernel holds the lock of a directory.
    pub fn are_held(&self, node: u64) -> bool {
        locked(&self.0).contains_key(&node)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.nodes.is_empty() {
            return;
        }
        let mut held = locked(&self.locks.0);
        for &node in &self.nodes {
            if let Entry::Occupied(mut requests) = held.entry(node) {
                *requests.get_mut() -= 1;
                if *requests.get() == 0 {
                    requests.remove();
                }
            }
        }
    }
}

/// The directories whose locks the kernel may hold until a request is answered, for ever so long
/// perhaps: those whose names it changes or lists, and directories that it removes, replaces or
/// moves (`vfs_rmdir` and `vfs_rename` in fs/namei.c).
pub fn nodes(directories: &DirectoryNodes, node: u64, operation: &Operation) -> Vec<u64> {
    let at = |parent, name: &Bytes| directories.known_node(parent, &Name::new(name.clone()).ok()?);
    match operation {
        Operation::Rename(rename) => {
            let new = rename.new_directory;
            let moved = [at(node, &rename.name), at(new, &rename.new_name)];
            [node, new]
                .into_iter()
                .chain(moved.into_iter().flatten())
                .collect()
        }
        Operation::RemoveDirectory { name } => iter::once(node).chain(at(node, name)).collect(),
        Operation::Create(_)
        | Operation::MakeNode(_)
        | Operation::MakeDirectory { .. }
        | Operation::Symlink { .. }
        | Operation::Link { .. }
        | Operation::Unlink { .. }
        | Operation::ReadDirectory { .. }
        | Operation::ReadDirectoryPlus { .. } => vec![node],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::FileId;
    use futago_fuse_kernel::Rename;

    const ONE: u64 = 1;
    const OTHER: u64 = 2;

    /// Knows a directory in each of two directories.
    fn known() -> DirectoryNodes {
        let directories = DirectoryNodes::default();
        directories.found(ONE, &Name::new(&b"a"[..]).unwrap(), FileId(11));
        directories.found(OTHER, &Name::new(&b"b"[..]).unwrap(), FileId(12));
        directories
    }

    #[test]
    fn a_directory_that_is_removed_is_locked_as_well() {
        let remove = |name: &'static [u8]| Operation::RemoveDirectory { name: name.into() };
        assert_eq!(nodes(&known(), ONE, &remove(b"a")), [ONE, 11]);
        assert_eq!(nodes(&known(), ONE, &remove(b"unknown")), [ONE]);
    }

    #[test]
    fn directories_that_are_moved_and_replaced_are_locked_as_well() {
        let rename = Operation::Rename(Rename {
            name: b"a"[..].into(),
            new_directory: OTHER,
            new_name: b"b"[..].into(),
            flags: 0,
        });
        assert_eq!(nodes(&known(), ONE, &rename), [ONE, OTHER, 11, 12]);
    }

    #[test]
    fn a_lock_is_held_until_the_last_request_ends() {
        let locks = KernelLocks::default();
        let (one, both) = (locks.hold(vec![1]), locks.hold(vec![1, 2]));
        drop(one);
        assert!(locks.are_held(1) && locks.are_held(2));
        drop(both);
        assert!(!locks.are_held(1) && !locks.are_held(2));
    }
}
