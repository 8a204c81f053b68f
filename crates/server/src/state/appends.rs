//! Ranges at the end of a file that clients are writing, beyond the size that others are shown.
//!
//! Whoever appends to a file that is longer than one chunk is given a range first, so that no two
//! overlap, and says when its data is there: only then does the file get longer. Ranges are shown
//! in order, as nobody may see zeros between two of them, so one waits for those before it, and so
//! does whatever else makes the file longer. It waits for one grace time at most: then the others'
//! range stays zeros until they are done. A shrinking takes all ranges away; whoever had one begins
//! anew.

use crate::answer::{Checked, Refusal};
use crate::turn::Turn;
use alloc::{collections::BTreeSet, vec::Vec};
use core::ops::Range;
use futago_base::{
    FileId, Key, View,
    record::{AppendRange, Opener, Sort},
};
use futago_wire::Failure;

impl<V: View> Turn<'_, V> {
    /// Where the next range at the end of a file of `size` bytes begins.
    pub fn append_start(&self, id: FileId, size: u64) -> u64 {
        self.ranges(id).map(|range| range.to).fold(size, u64::max)
    }

    /// Gives a range to the present request's session, which has the file open.
    pub fn give_range(&mut self, id: FileId, range: Range<u64>) {
        let given = AppendRange {
            from: range.start,
            to: range.end,
            since: self.now,
        };
        let session = self.request.session;
        self.change_opens(id, |openers| {
            let own = openers.iter_mut().find(|opener| opener.session == session);
            own.into_iter()
                .for_each(|opener| opener.appends.push(given));
        });
    }

    /// Takes a range back from whoever was given it, whose data is there. Errors: `Appended` while
    /// others write what comes before it; `Changed` if it was taken away.
    pub fn settle_range(&mut self, id: FileId, range: &Range<u64>) -> Checked<()> {
        let is_it = |given: &AppendRange| (given.from, given.to) == (range.start, range.end);
        if !self.ranges(id).any(is_it) {
            return Err(Failure::Changed.into());
        }
        self.await_ranges(id, range.start)?;
        self.change_ranges(id, |given| !is_it(given));
        Ok(())
    }

    /// Errors: `Appended` if somebody writes a range that begins before `end`, and has not kept
    /// others waiting for too long.
    pub fn await_ranges(&self, id: FileId, end: u64) -> Checked<()> {
        let in_the_way = |given: &AppendRange| given.from < end && !self.is_late(given);
        if self.ranges(id).any(in_the_way) {
            return Err(Refusal::Appended(id));
        }
        Ok(())
    }

    fn is_late(&self, given: &AppendRange) -> bool {
        self.now.since(given.since) > self.server.config().grace
    }

    /// Lets those go on who have waited for long enough for ranges before theirs.
    pub fn pass_late_appends(&mut self) {
        let (from, to) = Key::whole_sort(Sort::AwaitsRecall);
        let waiting = self.state.range(from, to);
        let file = |key: &Key| match key {
            Key::AwaitsRecall(file, _) => Some(*file),
            _ => None,
        };
        let is_passed = |file: &FileId| self.ranges(*file).any(|given| self.is_late(given));
        let files: BTreeSet<FileId> = waiting.filter_map(|(key, _)| file(key)).collect();
        let passed: Vec<FileId> = files.into_iter().filter(is_passed).collect();
        self.given_back.extend(passed);
    }

    fn ranges(&self, id: FileId) -> impl Iterator<Item = &AppendRange> {
        let openers = self.openers(id).iter();
        openers.flat_map(|opener| &opener.appends)
    }

    /// Takes all ranges away.
    pub fn drop_ranges(&mut self, id: FileId) {
        self.change_ranges(id, |_| false);
    }

    fn change_ranges(&mut self, id: FileId, stays: impl Fn(&AppendRange) -> bool) {
        let goes = |opener: &Opener| opener.appends.iter().any(|given| !stays(given));
        if self.openers(id).iter().any(goes) {
            self.change_opens(id, |openers| {
                for opener in openers {
                    opener.appends.retain(&stays);
                }
            });
        }
    }
}
