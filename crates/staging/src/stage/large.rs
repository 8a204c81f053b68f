//! Large files whose parts are being copied.

use super::Progress;
use crate::{Found, Item, Part, Task, TreePath};
use std::{collections::HashMap, iter, ops::Range};

/// A large file.
struct LargeFile {
    /// The number of parts that are not copied yet.
    missing: usize,
    /// The copied ranges, in order.
    present: Vec<Range<u64>>,
    recording: Recording,
}

/// Whether a client records the copied ranges, which one client at a time may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recording {
    /// None does.
    Idle,
    /// One records all of them.
    Current,
    /// One records some; further ones were copied since.
    Outdated,
}

/// The large files by their path at the target.
pub struct LargeFiles {
    part_bytes: u64,
    files: HashMap<TreePath, LargeFile>,
}

impl LargeFiles {
    pub fn new(part_bytes: u64) -> Self {
        Self {
            part_bytes,
            files: HashMap::new(),
        }
    }

    /// Whether a file is copied in parts.
    pub fn is_large(&self, item: &Item) -> bool {
        item.metadata.size > self.part_bytes && item.found == Found::Other
    }

    /// The tasks of a file that an earlier run has partly copied.
    pub fn begin(
        &mut self,
        item: Item,
        mut present: Vec<Range<u64>>,
        progress: &dyn Progress,
    ) -> Vec<Task> {
        present.sort_by_key(|range| range.start);
        progress.advance(present.iter().map(|range| range.end - range.start).sum());
        let parts = self.missing_parts(&item, &present);
        if parts.is_empty() {
            return vec![Task::Finish(item)];
        }
        let file = LargeFile {
            missing: parts.len(),
            present,
            recording: Recording::Idle,
        };
        self.files.insert(item.target, file);
        parts
    }

    fn missing_parts(&self, item: &Item, present: &[Range<u64>]) -> Vec<Task> {
        let (mut parts, mut offset) = (Vec::new(), 0);
        let end = item.metadata.size;
        for range in present.iter().cloned().chain(iter::once(end..end)) {
            while offset < range.start {
                let part_end = range.start.min(offset + self.part_bytes);
                parts.push(Task::Part(Part {
                    item: item.clone(),
                    bytes: offset..part_end,
                }));
                offset = part_end;
            }
            offset = offset.max(range.end);
        }
        parts
    }

    /// Notes a copied part. Returns the task that follows.
    pub fn copied(&mut self, part: &Part) -> Option<Task> {
        let file = self.files.get_mut(&part.item.target)?;
        file.missing -= 1;
        add(&mut file.present, part.bytes.clone());
        if file.recording != Recording::Idle {
            file.recording = Recording::Outdated;
            return None;
        }
        self.follow(&part.item)
    }

    /// Notes that copied ranges are recorded. Returns the task that follows.
    pub fn recorded(&mut self, item: &Item) -> Option<Task> {
        let file = self.files.get_mut(&item.target)?;
        let recording = std::mem::replace(&mut file.recording, Recording::Idle);
        match recording {
            Recording::Outdated => self.follow(item),
            Recording::Idle | Recording::Current => None,
        }
    }

    /// Records further ranges, or ends the file.
    fn follow(&mut self, item: &Item) -> Option<Task> {
        let file = self.files.get_mut(&item.target)?;
        if file.missing == 0 {
            self.files.remove(&item.target);
            return Some(Task::Finish(item.clone()));
        }
        file.recording = Recording::Current;
        Some(Task::Record(item.clone(), file.present.clone()))
    }

    /// Forgets a file that cannot be completed.
    pub fn give_up(&mut self, item: &Item) {
        self.files.remove(&item.target);
    }
}

/// Adds a range to ordered ranges, and joins neighbours.
fn add(ranges: &mut Vec<Range<u64>>, new: Range<u64>) {
    let at = ranges.partition_point(|range| range.start < new.start);
    ranges.insert(at, new);
    ranges.dedup_by(|next, range| {
        let joined = next.start <= range.end;
        if joined {
            range.end = range.end.max(next.end);
        }
        joined
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ranges_become_one() {
        let mut ranges = Vec::new();
        for range in [4..6, 0..2, 8..9, 2..4] {
            add(&mut ranges, range);
        }
        assert_eq!(ranges, [0..6, 8..9]);
    }
}
