//! Ranges at the end of a file that clients are writing, beyond the size that other clients see.
//!
//! A client that appends to a file of more than one chunk gets a range first, so that no two
//! appends overlap. It reports when its data is written: only then does the file grow. Ranges
//! become visible in order, because no reader may see zeros between two of them. So a range waits
//! for the earlier ones, and so does every other request that makes the file grow. The wait is at
//! most one grace time: after that, the late range reads as zeros until it is written. A truncation
//! drops all ranges, and their writers begin anew.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal};
use alloc::{collections::BTreeSet, vec::Vec};
use core::ops::Range;
use futago_base::{
    FileId, Key, View,
    record::{AppendRange, Opener, Sort},
};
use futago_wire::Failure;

impl<V: View> DecisionBuilder<'_, V> {
    /// The start of the next range at the end of a file of `size` bytes.
    pub fn append_start(&self, id: FileId, size: u64) -> u64 {
        self.ranges(id).map(|range| range.to).fold(size, u64::max)
    }

    /// Grants a range to the session of the present request, which has the file open.
    pub fn grant_range(&mut self, id: FileId, range: Range<u64>) {
        let range = AppendRange {
            from: range.start,
            to: range.end,
            since: self.now,
        };
        let session = self.request.session;
        self.change_opens(id, |openers| {
            let own = openers.iter_mut().find(|opener| opener.session == session);
            own.into_iter()
                .for_each(|opener| opener.appends.push(range));
        });
    }

    /// Ends a range whose data is written. Errors: `Appended` while other clients write earlier
    /// ranges; `Changed` if a truncation has dropped it.
    pub fn settle_range(&mut self, id: FileId, range: &Range<u64>) -> Checked<()> {
        let is_it = |granted: &AppendRange| (granted.from, granted.to) == (range.start, range.end);
        if !self.ranges(id).any(is_it) {
            return Err(Failure::Changed.into());
        }
        self.await_ranges(id, range.start)?;
        self.change_ranges(id, |granted| !is_it(granted));
        Ok(())
    }

    /// Checks that no client writes a range that begins before `end`. Late ranges do not count.
    /// Errors: `Appended`.
    pub fn await_ranges(&self, id: FileId, end: u64) -> Checked<()> {
        let blocks = |range: &AppendRange| range.from < end && !self.is_late(range);
        if self.ranges(id).any(blocks) {
            return Err(Refusal::Appended(id));
        }
        Ok(())
    }

    fn is_late(&self, range: &AppendRange) -> bool {
        self.now.since(range.since) > self.server.config().grace
    }

    /// Runs the requests again that have waited long enough for earlier ranges.
    pub fn pass_late_appends(&mut self) {
        let (from, to) = Key::whole_sort(Sort::AwaitsRecall);
        let waiting = self.state.range(from, to);
        let file = |key: &Key| match key {
            Key::AwaitsRecall(file, _) => Some(*file),
            _ => None,
        };
        let is_passed = |file: &FileId| self.ranges(*file).any(|range| self.is_late(range));
        let files: BTreeSet<FileId> = waiting.filter_map(|(key, _)| file(key)).collect();
        let passed: Vec<FileId> = files.into_iter().filter(is_passed).collect();
        self.effects.unblocked_nodes.extend(passed);
    }

    fn ranges(&self, id: FileId) -> impl Iterator<Item = &AppendRange> {
        let openers = self.openers(id).iter();
        openers.flat_map(|opener| &opener.appends)
    }

    /// Drops all ranges.
    pub fn drop_ranges(&mut self, id: FileId) {
        self.change_ranges(id, |_| false);
    }

    fn change_ranges(&mut self, id: FileId, stays: impl Fn(&AppendRange) -> bool) {
        let goes = |opener: &Opener| opener.appends.iter().any(|range| !stays(range));
        if self.openers(id).iter().any(goes) {
            self.change_opens(id, |openers| {
                for opener in openers {
                    opener.appends.retain(&stays);
                }
            });
        }
    }
}
