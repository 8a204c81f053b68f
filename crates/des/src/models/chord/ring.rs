/// The positions of all nodes on the ring.
///
/// Nodes know only the nodes that they have communicated with. The ring provides their first
/// neighbours and fingers, and checks their lookups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    /// Positions in ascending order, with their nodes.
    sorted: Vec<(u64, u32)>,
}

/// The position of a node: a hash of its number.
pub(super) fn position(node: u32) -> u64 {
    let mut z = (u64::from(node) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether `key` is after `low` and not after `high`, going round the ring.
pub(super) fn is_within(key: u64, low: u64, high: u64) -> bool {
    low == high || (key.wrapping_sub(low).wrapping_sub(1) < high.wrapping_sub(low))
}

impl Ring {
    pub fn new(nodes: u32) -> Ring {
        let mut sorted: Vec<_> = (0..nodes).map(|node| (position(node), node)).collect();
        sorted.sort_unstable();
        Ring { sorted }
    }

    /// The first node at or after `key`, and those after it.
    pub fn successors_of(&self, key: u64) -> impl Iterator<Item = u32> + '_ {
        let start = self.sorted.partition_point(|&(position, _)| position < key);
        (0..self.sorted.len()).map(move |step| self.sorted[(start + step) % self.sorted.len()].1)
    }

    /// The last node before `key`.
    pub fn predecessor_of(&self, key: u64) -> Option<u32> {
        let start = self.sorted.partition_point(|&(position, _)| position < key);
        let count = self.sorted.len();
        self.sorted
            .get((start + count).checked_sub(1)? % count.max(1))
            .map(|&(_, node)| node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_go_round() {
        assert!(is_within(5, 3, 5) && !is_within(3, 3, 5) && !is_within(6, 3, 5));
        assert!(
            is_within(1, u64::MAX, 2) && is_within(0, u64::MAX, 2) && !is_within(3, u64::MAX, 2)
        );
        assert!(is_within(9, 4, 4), "a node alone owns everything");
    }

    #[test]
    fn neighbours_are_next_to_each_other() {
        let ring = Ring::new(50);
        for node in 0..50 {
            let mut after = ring.successors_of(position(node));
            assert_eq!(after.next(), Some(node));
            let next = after.next().expect("50 nodes");
            assert_eq!(ring.predecessor_of(position(next)), Some(node));
        }
    }
}
