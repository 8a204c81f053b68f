//! The model of a file's locks.

use super::operation::Lock;

/// A range that an agent has locked with `fcntl`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RangeLock {
    agent: usize,
    start: u64,
    /// The first byte after it.
    end: u64,
    exclusive: bool,
}

/// The locks of one file. Range locks belong to agents, whole locks to their slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    ranges: Vec<RangeLock>,
    whole: Vec<(usize, usize, bool)>,
}

impl Locks {
    /// Sets or gives up the agent's lock of a range; false if another's is in the way.
    pub fn set_range(&mut self, agent: usize, kind: Lock, start: u64, end: u64) -> bool {
        let exclusive = kind == Lock::Exclusive;
        let overlaps = |lock: &RangeLock| lock.start < end && start < lock.end;
        let in_the_way = |lock: &RangeLock| {
            lock.agent != agent && overlaps(lock) && (exclusive || lock.exclusive)
        };
        if kind != Lock::Unlock && self.ranges.iter().any(in_the_way) {
            return false;
        }
        self.cut(agent, start, end);
        if kind != Lock::Unlock {
            self.ranges.push(RangeLock {
                agent,
                start,
                end,
                exclusive,
            });
        }
        true
    }

    /// Takes the range out of the agent's locks; a lock that contains it becomes two.
    fn cut(&mut self, agent: usize, start: u64, end: u64) {
        let (own, mut others): (Vec<_>, Vec<_>) =
            self.ranges.drain(..).partition(|lock| lock.agent == agent);
        for lock in own {
            let before = RangeLock {
                end: lock.end.min(start),
                ..lock.clone()
            };
            let after = RangeLock {
                start: lock.start.max(end),
                ..lock
            };
            others.extend(
                [before, after]
                    .into_iter()
                    .filter(|part| part.start < part.end),
            );
        }
        self.ranges = others;
    }

    /// An agent that closes the file, through whatever descriptor, loses its range locks of it.
    pub fn drop_ranges(&mut self, agent: usize) {
        self.ranges.retain(|lock| lock.agent != agent);
    }

    /// Sets or gives up a slot's lock of the whole file; false if another's is in the way.
    pub fn set_whole(&mut self, agent: usize, slot: usize, kind: Lock) -> bool {
        self.drop_whole(agent, slot);
        let exclusive = kind == Lock::Exclusive;
        if kind == Lock::Unlock {
            return true;
        }
        if self.whole.iter().any(|(_, _, other)| exclusive || *other) {
            return false;
        }
        self.whole.push((agent, slot, exclusive));
        true
    }

    /// A slot that is closed loses its lock.
    pub fn drop_whole(&mut self, agent: usize, slot: usize) {
        self.whole.retain(|lock| (lock.0, lock.1) != (agent, slot));
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, Locks};

    #[test]
    fn unlocking_the_middle_leaves_both_ends() {
        let mut locks = Locks::default();
        assert!(locks.set_range(0, Lock::Exclusive, 0, 30));
        assert!(locks.set_range(0, Lock::Unlock, 10, 20));
        assert!(locks.set_range(1, Lock::Exclusive, 10, 20));
        assert!(!locks.set_range(1, Lock::Shared, 9, 10));
        assert!(!locks.set_range(1, Lock::Shared, 20, 21));
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let mut locks = Locks::default();
        assert!(locks.set_whole(0, 0, Lock::Shared));
        assert!(locks.set_whole(1, 0, Lock::Shared));
        assert!(!locks.set_whole(0, 1, Lock::Exclusive));
        locks.drop_whole(1, 0);
        assert!(locks.set_whole(0, 0, Lock::Exclusive));
    }
}
