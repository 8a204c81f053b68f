//! Changes of files' data that bypass the kernel's pages, concurrent with write-backs of these
//! pages.
//!
//! A page that the kernel read before a direct change holds old bytes. If a process stores to that
//! page through a shared mapping, the kernel writes the whole page back, and the old bytes with it.
//! So a write-back omits the bytes that a direct change has changed, until the kernel has read the
//! page anew or dropped it. It has dropped it before the direct change is answered.
//!
//! Direct changes and write-backs of the same bytes reach the servers one after the other, in the
//! order in which the kernel has sent them. Each waits for earlier ones, and these wait only for
//! servers. So no wait is circular.

use crate::interruption::locked;
use futago_base::FileId;
use std::ops::Range;
use std::pin::pin;
use std::sync::Mutex;
use tokio::sync::Notify;

/// The path of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bypasses the kernel's pages.
    Direct,
    /// Comes from the kernel's pages.
    WriteBack,
}

/// The unanswered changes of a mount.
#[derive(Debug, Default)]
pub struct DirectChanges {
    changes: Mutex<Changes>,
    /// Notified when a change no longer blocks others.
    passed: Notify,
}

#[derive(Debug, Default)]
struct Changes {
    last: u64,
    unanswered: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    number: u64,
    file: FileId,
    way: Way,
    /// The bytes that it may change.
    range: Range<u64>,
    /// Whether the servers have applied it.
    is_made: bool,
    /// The ranges that the kernel has read into pages since the servers applied it.
    read_since: Vec<Range<u64>>,
}

impl Change {
    fn makes_wait(&self, later: &Self) -> bool {
        let is_earlier = self.number < later.number && !self.is_made;
        let concerns = self.file == later.file && self.way != later.way;
        is_earlier && concerns && overlap(&self.range, &later.range)
    }

    /// The bytes that may be older in the kernel's pages.
    fn outdated(&self) -> Vec<Range<u64>> {
        self.read_since
            .iter()
            .fold(vec![self.range.clone()], without)
    }
}

impl Changes {
    fn has_to_wait(&self, number: u64) -> bool {
        let own = self.unanswered.iter().find(|own| own.number == number);
        own.is_some_and(|own| self.unanswered.iter().any(|other| other.makes_wait(own)))
    }

    /// The direct changes of a file that the servers have applied.
    fn made(&mut self, file: FileId) -> impl Iterator<Item = &mut Change> {
        let changes = self.unanswered.iter_mut();
        changes.filter(move |change| {
            change.way == Way::Direct && change.file == file && change.is_made
        })
    }

    fn own(&mut self, number: u64) -> Option<&mut Change> {
        let mut changes = self.unanswered.iter_mut();
        changes.find(|change| change.number == number)
    }
}

impl DirectChanges {
    /// Begins a change of these bytes after the changes that block it are applied.
    pub async fn begin(&self, file: FileId, way: Way, range: Range<u64>) -> Begun<'_> {
        let begun = self.enter(file, way, range);
        loop {
            let mut passed = pin!(self.passed.notified());
            passed.as_mut().enable();
            if !locked(&self.changes).has_to_wait(begun.number) {
                return begun;
            }
            passed.await;
        }
    }

    fn enter(&self, file: FileId, way: Way, range: Range<u64>) -> Begun<'_> {
        let mut changes = locked(&self.changes);
        changes.last += 1;
        let number = changes.last;
        changes.unanswered.push(Change {
            number,
            file,
            way,
            range,
            is_made: false,
            read_since: Vec::new(),
        });
        Begun { of: self, number }
    }

    /// The kernel reads these bytes into pages.
    pub fn read_into_pages(&self, file: FileId, range: &Range<u64>) {
        let mut changes = locked(&self.changes);
        let made = changes.made(file);
        made.filter(|change| overlap(&change.range, range))
            .for_each(|change| change.read_since.push(range.clone()));
    }

    /// The bytes of a write-back that no direct change has changed since the kernel read them.
    pub fn without_outdated(&self, file: FileId, range: Range<u64>) -> Vec<Range<u64>> {
        let mut changes = locked(&self.changes);
        let outdated = changes.made(file).flat_map(|change| change.outdated());
        outdated.fold(vec![range], |current, outdated| without(current, &outdated))
    }
}

/// An unanswered change. It ends when this is dropped.
#[derive(Debug)]
pub struct Begun<'a> {
    of: &'a DirectChanges,
    number: u64,
}

impl Begun<'_> {
    /// The servers have changed exactly these bytes.
    pub fn made(&self, range: Range<u64>) {
        if let Some(change) = locked(&self.of.changes).own(self.number) {
            (change.range, change.is_made) = (range, true);
        }
        self.of.passed.notify_waiters();
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut changes = locked(&self.of.changes);
        (changes.unanswered).retain(|change| change.number != self.number);
        drop(changes);
        self.of.passed.notify_waiters();
    }
}

const fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

fn without(ranges: Vec<Range<u64>>, hole: &Range<u64>) -> Vec<Range<u64>> {
    let around = |range: Range<u64>| {
        let before = range.start..range.end.min(hole.start);
        let after = range.start.max(hole.end)..range.end;
        [before, after]
    };
    let ranges = ranges.into_iter().flat_map(around);
    ranges.filter(|range| !range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    const FILE: FileId = FileId(5);
    const PAGE: Range<u64> = 4096..8192;

    /// Begins a change that must not wait.
    fn begin(changes: &DirectChanges, way: Way, range: Range<u64>) -> Begun<'_> {
        let begun = pin!(changes.begin(FILE, way, range));
        let Poll::Ready(begun) = begun.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("it waits");
        };
        begun
    }

    /// Whether a change would wait.
    fn waits(changes: &DirectChanges, file: FileId, way: Way, range: Range<u64>) -> bool {
        let begun = pin!(changes.begin(file, way, range));
        begun
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    }

    #[test]
    fn a_write_back_leaves_out_what_was_changed_until_that_is_answered() {
        let changes = DirectChanges::default();
        let direct = begin(&changes, Way::Direct, 5000..6000);
        direct.made(5000..5500);
        let current = changes.without_outdated(FILE, PAGE);
        assert_eq!(current, [4096..5000, 5500..8192]);
        assert_eq!(changes.without_outdated(FileId(6), PAGE), [PAGE]);
        drop(direct);
        assert_eq!(changes.without_outdated(FILE, PAGE), [PAGE]);
    }

    #[test]
    fn a_write_back_of_a_page_that_was_read_anew_is_whole() {
        let changes = DirectChanges::default();
        let direct = begin(&changes, Way::Direct, 5000..9000);
        changes.read_into_pages(FILE, &PAGE);
        direct.made(5000..9000);
        let before = 4096..5000;
        assert_eq!(changes.without_outdated(FILE, PAGE), [before]);
        changes.read_into_pages(FILE, &PAGE);
        assert_eq!(changes.without_outdated(FILE, PAGE), [PAGE]);
        let after = 9000..12_288;
        assert_eq!(changes.without_outdated(FILE, 8192..12_288), [after]);
    }

    #[test]
    fn changes_of_the_same_bytes_wait_for_earlier_ones_that_come_the_other_way() {
        let changes = DirectChanges::default();
        let direct = begin(&changes, Way::Direct, 0..5000);
        assert!(waits(&changes, FILE, Way::WriteBack, PAGE));
        assert!(!waits(&changes, FILE, Way::WriteBack, 8192..12_288));
        assert!(!waits(&changes, FileId(6), Way::WriteBack, PAGE));
        assert!(!waits(&changes, FILE, Way::Direct, 0..5000));
        direct.made(0..5000);
        let write_back = begin(&changes, Way::WriteBack, PAGE);
        assert!(waits(&changes, FILE, Way::Direct, 8191..8192));
        assert!(!waits(&changes, FILE, Way::WriteBack, PAGE));
        drop(write_back);
        assert!(!waits(&changes, FILE, Way::Direct, 8191..8192));
    }

    #[test]
    fn a_change_goes_on_when_the_one_before_it_has_failed() {
        let changes = DirectChanges::default();
        let direct = begin(&changes, Way::Direct, 0..5000);
        let mut write_back = pin!(changes.begin(FILE, Way::WriteBack, PAGE));
        let mut context = Context::from_waker(Waker::noop());
        assert!(write_back.as_mut().poll(&mut context).is_pending());
        drop(direct);
        assert!(write_back.as_mut().poll(&mut context).is_ready());
    }
}
