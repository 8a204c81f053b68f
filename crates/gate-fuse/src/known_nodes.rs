//! Files that the kernel knows and whose attributes it may cache.

use crate::interruption::locked;
use futago_fuse_kernel::{Forget, Notifier};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::sync::OnceLock;

/// The number of lookups of each node that the kernel has not forgotten, since the node's
/// attributes were first cacheable.
#[derive(Debug, Default)]
pub struct KnownNodes {
    lookups: Mutex<HashMap<u64, u64>>,
    caches_names: OnceLock<bool>,
    notifier: OnceLock<Notifier>,
}

impl KnownNodes {
    /// Allows the kernel to cache attributes, and with `names` also names.
    pub fn keep(&self, names: bool) {
        let _ = self.caches_names.set(names);
    }

    /// Sets the notifier of changed attributes.
    pub fn set_notifier(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// Invalidates the attributes of a node, which have changed without the kernel's knowledge.
    pub fn changed(&self, node: u64) {
        if let Some(notifier) = self.notifier.get() {
            // It fails when the mount is gone, and all cached attributes with it.
            notifier.invalidate_inode(node, -1, 0).ok();
        }
    }

    /// Whether the kernel may cache attributes.
    pub fn caches_attributes(&self) -> bool {
        self.caches_names.get().is_some()
    }

    /// Whether the kernel may cache names.
    pub fn caches_names(&self) -> bool {
        self.caches_names.get() == Some(&true)
    }

    /// Counts a lookup of a node, and whether the kernel may cache its attributes.
    pub fn tell(&self, node: u64, is_cached: bool) {
        if !self.caches_attributes() {
            return;
        }
        match locked(&self.lookups).entry(node) {
            Entry::Occupied(mut lookups) => *lookups.get_mut() += 1,
            Entry::Vacant(new) if is_cached => {
                new.insert(1);
            }
            Entry::Vacant(_) => {}
        }
    }

    /// The kernel forgets nodes, or did not receive the reply that named them.
    pub fn forget(&self, forgotten: &[Forget]) {
        if !self.caches_attributes() {
            return;
        }
        let mut counts = locked(&self.lookups);
        for forget in forgotten {
            if let Entry::Occupied(mut lookups) = counts.entry(forget.node) {
                *lookups.get_mut() = lookups.get().saturating_sub(forget.lookups);
                if *lookups.get() == 0 {
                    lookups.remove();
                }
            }
        }
    }

    /// Whether the kernel knows a node, or a reply that names it is under way.
    pub fn contains(&self, node: u64) -> bool {
        locked(&self.lookups).contains_key(&node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_counts_from_the_first_time_that_it_is_cached() {
        let nodes = KnownNodes::default();
        nodes.tell(7, true);
        assert!(!nodes.contains(7), "nothing is cached yet");
        nodes.keep(false);
        nodes.tell(7, false);
        assert!(!nodes.contains(7));
        nodes.tell(7, true);
        nodes.tell(7, false);
        nodes.forget(&[Forget {
            node: 7,
            lookups: 1,
        }]);
        assert!(nodes.contains(7));
        nodes.forget(&[Forget {
            node: 7,
            lookups: 2,
        }]);
        assert!(!nodes.contains(7));
    }
}
