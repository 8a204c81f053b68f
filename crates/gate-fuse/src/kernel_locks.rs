//! Directories whose locks the kernel holds while it waits for an answer.

use crate::interruption::locked;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

#[cfg(test)]
mod tests {
    use super::*;

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
