//! Files that the kernel was told of and may keep attributes of.

use crate::interruption::locked;
use futago_fuse_kernel::{Forget, Notifier};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::sync::OnceLock;

/// How often the kernel was told of each node since it was first let keep the node's attributes, and has not forgotten it.
#[derive(Debug, Default)]
pub struct ToldNodes {
    lookups: Mutex<HashMap<u64, u64>>,
    keeps_names: OnceLock<bool>,
    notifier: OnceLock<Notifier>,
}

impl ToldNodes {
    /// From now on the kernel may keep attributes, and perhaps names.
    pub fn keep(&self, names: bool) {
        let _ = self.keeps_names.set(names);
    }

    /// From now on the kernel can be told that attributes have changed.
    pub fn tell_changes_by(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// The attributes of a node have changed, and the kernel does not know.
    pub fn changed(&self, node: u64) {
        if let Some(notifier) = self.notifier.get() {
            // It fails when the mount is gone, and all attributes with it.
            notifier.invalidate_inode(node, -1, 0).ok();
        }
    }

    /// Whether the kernel may keep attributes.
    pub fn keeps_attributes(&self) -> bool {
        self.keeps_names.get().is_some()
    }

    /// Whether the kernel may keep names.
    pub fn keeps_names(&self) -> bool {
        self.keeps_names.get() == Some(&true)
    }

    /// The kernel is told of a node, and whether it may keep its attributes.
    pub fn tell(&self, node: u64, is_kept: bool) {
        if !self.keeps_attributes() {
            return;
        }
        match locked(&self.lookups).entry(node) {
            Entry::Occupied(mut lookups) => *lookups.get_mut() += 1,
            Entry::Vacant(new) if is_kept => {
                new.insert(1);
            }
            Entry::Vacant(_) => {}
        }
    }

    /// The kernel forgets nodes, or was not told of them after all.
    pub fn forget(&self, forgotten: &[Forget]) {
        if !self.keeps_attributes() {
            return;
        }
        let mut told = locked(&self.lookups);
        for forget in forgotten {
            if let Entry::Occupied(mut lookups) = told.entry(forget.node) {
                *lookups.get_mut() = lookups.get().saturating_sub(forget.lookups);
                if *lookups.get() == 0 {
                    lookups.remove();
                }
            }
        }
    }

    /// Whether the kernel knows a node or is about to.
    pub fn contains(&self, node: u64) -> bool {
        locked(&self.lookups).contains_key(&node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_counts_from_the_first_time_that_it_is_kept() {
        let told = ToldNodes::default();
        told.tell(7, true);
        assert!(!told.contains(7), "nothing is kept yet");
        told.keep(false);
        told.tell(7, false);
        assert!(!told.contains(7));
        told.tell(7, true);
        told.tell(7, false);
        told.forget(&[Forget {
            node: 7,
            lookups: 1,
        }]);
        assert!(told.contains(7));
        told.forget(&[Forget {
            node: 7,
            lookups: 2,
        }]);
        assert!(!told.contains(7));
    }
}
