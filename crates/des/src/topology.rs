//! The links between processes, and the lookahead of every link.

use crate::Time;
use crate::event::ProcessId;

/// The links of a model. Only links between partitions are ever checked; events to oneself and
/// within a partition are free.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Every process may send to every other, with at least this delay.
    Complete {
        /// The smallest delay of an event from one process to another.
        lookahead: Time,
    },
    /// Only these links exist.
    Links(Links),
}

/// One process may send to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The sending process.
    pub from: ProcessId,
    /// The receiving process.
    pub to: ProcessId,
    /// The smallest delay of an event on the link.
    pub lookahead: Time,
}

/// A list of links, sorted for look-up.
#[derive(Clone, Debug, Default)]
pub struct Links {
    sorted: Vec<Link>,
}

impl Topology {
    /// Only these links. Of several between the same two processes the smallest lookahead counts.
    pub fn links(links: impl IntoIterator<Item = Link>) -> Topology {
        let mut sorted: Vec<Link> = links.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup_by_key(|link| (link.from, link.to));
        Topology::Links(Links { sorted })
    }

    /// The declared lookahead, `Time::MAX` where there is no link.
    #[inline]
    pub fn lookahead(&self, from: ProcessId, to: ProcessId) -> Time {
        match self {
            Topology::Complete { lookahead } => *lookahead,
            Topology::Links(links) => links.lookahead(from, to),
        }
    }
}

impl Links {
    /// All links, by sender and receiver.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.sorted.iter()
    }

    fn lookahead(&self, from: ProcessId, to: ProcessId) -> Time {
        self.sorted
            .binary_search_by_key(&(from, to), |link| (link.from, link.to))
            .map_or(Time::MAX, |index| self.sorted[index].lookahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_parallel_links_counts() {
        let link = |from, to, ticks| Link {
            from: ProcessId(from),
            to: ProcessId(to),
            lookahead: Time::from_ticks(ticks),
        };
        let topology = Topology::links([link(1, 2, 9), link(1, 2, 4), link(0, 1, 7)]);
        assert_eq!(
            topology.lookahead(ProcessId(1), ProcessId(2)),
            Time::from_ticks(4)
        );
        assert_eq!(
            topology.lookahead(ProcessId(0), ProcessId(1)),
            Time::from_ticks(7)
        );
        assert_eq!(topology.lookahead(ProcessId(2), ProcessId(1)), Time::MAX);
    }
}
