//! Files of which the kernel caches pages, and when it must drop them.
//!
//! A file that is opened for reading is read through the kernel's pages while a lease covers its
//! data and no writer uses this mount. The kernel compares size and modification time whenever it
//! gets attributes, and uses pages without a request while the attributes are valid
//! (`AUTO_INVAL_DATA`). That alone is not enough: the kernel may have read a page just before
//! another client changed it, it ignores replies that arrive beside changes, and a program can set
//! a time back. So events that may have made pages stale are counted here, and pages are dropped
//! explicitly before the kernel gets attributes that make them valid.
//!
//! Dropping waits for pages that are being read. A thread of its own does it, and no read waits for
//! that thread. Pages that are read without a lease are not dropped at once, because a reader whose
//! page vanishes before it has used it would read again and again.

use crate::interruption::locked;
use futago_base::{Duration, Timestamp};
use futago_fuse_kernel::Notifier;
use std::collections::{HashMap, HashSet};
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{self, Instant};

/// How long a client holds a recalled lease because pages cannot be dropped. After that only
/// processes that have mapped the pages, or continue a listing, use them without a request.
pub const DROP_MAX: time::Duration = time::Duration::from_millis(200);

/// How long pages stay that were read while no lease covered them, unless a process reads again
/// before.
pub const DROP_LATER: Duration = Duration::from_millis(100);

const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// How many other times of modification a file gets before they repeat.
const OTHER_TIMES: u32 = 1 << 20;

/// Files larger than this profit from pages only if they are read more than once: filling new pages
/// costs more than reading past them in large pieces, half a millisecond for 1 MiB. Smaller files
/// are often read in small pieces or again.
const LARGE_BYTES: u64 = 1 << 20;

/// The files, by their nodes.
#[derive(Debug, Default)]
pub struct CachedPages {
    files: Mutex<HashMap<u64, File>>,
    are_used: AtomicBool,
    notifier: OnceLock<Notifier>,
}

#[derive(Debug, Default)]
struct File {
    /// Open files that are read through pages.
    readers: HashSet<u64>,
    /// Open files that may be written to.
    writers: HashSet<u64>,
    /// Up to when a lease covers the pages, unless it is called back.
    trusted_until: Option<Instant>,
    /// How often pages may have become old.
    aged: u64,
    /// How often they had when they were last dropped.
    dropped: u64,
    /// Something may have been read since the last drop was begun.
    is_filled: bool,
    /// The kernel has pages of the time before the file was opened, unless it has dropped them by
    /// now, as the reply asked.
    is_opening: bool,
    /// A drop is going to begin after [`DROP_LATER`]. Others that begin before leave it to that:
    /// otherwise each of them would have one more follow, for as long as a process reads.
    is_due: bool,
    /// It was opened to be read before.
    is_read_again: bool,
    /// Until when a lease that is called back waits for the drop.
    recalled_until: Option<Instant>,
    /// How often the kernel got another time of modification.
    other_times: u32,
    /// When it last was.
    other_time_at: Option<Instant>,
}

impl File {
    fn is_clean(&self) -> bool {
        self.aged == self.dropped
    }

    fn is_trusted(&self) -> bool {
        self.is_clean()
            && self
                .trusted_until
                .is_some_and(|until| Instant::now() < until)
    }

    fn trust(&mut self, trust: Duration) {
        let until = Instant::now() + time::Duration::from_nanos(trust.0);
        self.trusted_until = self.trusted_until.max(Some(until));
    }

    /// It is opened to be read. Returns whether new pages are worth what they cost.
    fn is_worth_pages(&mut self, size: u64) -> bool {
        mem::replace(&mut self.is_read_again, true) || size <= LARGE_BYTES
    }

    /// Pages may be old. If there are none, nothing is to be dropped.
    fn age(&mut self) {
        self.aged += 1;
        if !self.is_filled && self.dropped + 1 == self.aged {
            self.dropped = self.aged;
        }
    }

    fn is_used(&self) -> bool {
        !self.readers.is_empty() || !self.writers.is_empty()
    }
}

/// The state when a read through pages began.
#[derive(Clone, Copy, Debug)]
pub struct ReadStart {
    aged: u64,
    is_trusted: bool,
}

/// The outcome of a recalled lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// It may be given back.
    Done,
    /// Pages are to be dropped.
    Drop,
    /// They are being dropped. The lease waits for that, and no longer than so long.
    Waits(time::Duration),
}

impl CachedPages {
    /// From now on there is a kernel that can drop pages. Files that are mapped always have some.
    pub fn drop_by(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// From now on files may be read through pages.
    pub fn keep(&self) {
        self.are_used.store(true, Ordering::Relaxed);
    }

    /// Whether a file that is opened to be read may be read through pages: nobody has it open to
    /// write to it, and if it is large, it has been read before.
    pub fn may_open(&self, node: u64, size: u64) -> bool {
        if !self.are_used.load(Ordering::Relaxed) {
            return false;
        }
        let mut files = locked(&self.files);
        let file = files.entry(node).or_default();
        let is_worth_it = file.is_worth_pages(size);
        is_worth_it && file.writers.is_empty()
    }

    /// A file is opened that may be written to.
    pub fn opened_to_write(&self, node: u64, handle: u64) {
        let mut files = locked(&self.files);
        files.entry(node).or_default().writers.insert(handle);
    }

    /// A file is opened that is read through pages, whose data a lease covers for some time.
    /// Returns whether pages that the kernel has may stay; if not, it drops them before anybody
    /// reads.
    pub fn opened_to_read(&self, node: u64, handle: u64, trust: Duration) -> bool {
        let mut files = locked(&self.files);
        let file = files.entry(node).or_default();
        let (is_trusted, is_first) = (file.is_trusted(), file.readers.is_empty());
        file.readers.insert(handle);
        if !is_trusted && is_first {
            (file.dropped, file.is_opening) = (file.aged, true);
            file.is_filled = true;
        }
        if is_trusted || is_first {
            file.trust(trust);
        }
        is_trusted && !file.is_opening
    }

    /// Nothing is known of the pages any more.
    pub fn doubt(&self, node: u64) {
        if let Some(file) = locked(&self.files).get_mut(&node) {
            file.trusted_until = None;
        }
    }

    /// An open file is closed.
    pub fn closed(&self, node: u64, handle: u64) {
        let mut files = locked(&self.files);
        if let Some(file) = files.get_mut(&node) {
            file.is_opening &= !file.readers.remove(&handle);
            file.writers.remove(&handle);
        }
    }

    /// The kernel does not know a node any more.
    pub fn forget(&self, node: u64) {
        let mut files = locked(&self.files);
        if files.get(&node).is_some_and(|file| !file.is_used()) {
            files.remove(&node);
        }
    }

    /// Whether a node has open files that are read through pages.
    pub fn is_read(&self, node: u64) -> bool {
        let files = locked(&self.files);
        files
            .get(&node)
            .is_some_and(|file| !file.readers.is_empty())
    }

    /// A read begins that may fill pages which stay.
    pub fn begin_read(&self, node: u64, handle: u64) -> Option<ReadStart> {
        let mut files = locked(&self.files);
        let file = files.get_mut(&node)?;
        file.is_filled = true;
        file.is_opening &= !file.readers.contains(&handle);
        let is_trusted = file.is_trusted();
        (is_trusted || !file.readers.is_empty()).then_some(ReadStart {
            aged: file.aged,
            is_trusted,
        })
    }

    /// A read is about to be answered; a lease covers the data for some time. Returns whether the
    /// pages that the kernel fills with it are to be dropped after [`DROP_LATER`].
    pub fn end_read(&self, node: u64, start: ReadStart, trust: Duration) -> bool {
        let mut files = locked(&self.files);
        let Some(file) = files.get_mut(&node) else {
            return false;
        };
        let is_same = start.is_trusted && start.aged == file.aged;
        if is_same && file.is_trusted() && trust > Duration(0) {
            return false;
        }
        (file.is_filled, file.aged) = (true, file.aged + 1);
        !mem::replace(&mut file.is_due, true)
    }

    /// Pages may be old, by a change through this mount. Returns whether they are to be dropped.
    pub fn age(&self, node: u64) -> bool {
        let mut files = locked(&self.files);
        files.get_mut(&node).is_some_and(|file| {
            file.age();
            !file.is_clean()
        })
    }

    /// Whether attributes may be sent that let pages be used for as long as a lease covers the
    /// data. If pages are to be dropped before: `None`.
    pub fn trust(&self, node: u64, trust: Duration) -> Option<bool> {
        let mut files = locked(&self.files);
        let Some(file) = files.get_mut(&node) else {
            return Some(true);
        };
        if file.readers.is_empty() && (trust == Duration(0) || !file.is_trusted()) {
            // The next open drops them.
            file.trusted_until = None;
            return Some(true);
        }
        if file.is_clean() && !file.is_trusted() {
            // The lease that covered them may have been over for a while.
            file.age();
        }
        if !file.is_clean() {
            return None;
        }
        if trust > Duration(0) {
            file.trust(trust);
        }
        Some(trust > Duration(0))
    }

    /// A time of modification that the kernel did not get yet, so that it drops the pages itself:
    /// one of the same second.
    pub fn another_time(&self, node: u64, modified: Timestamp) -> Timestamp {
        let mut files = locked(&self.files);
        let file = files.entry(node).or_default();
        file.other_times = file.other_times % OTHER_TIMES + 1;
        file.other_time_at = Some(Instant::now());
        Timestamp {
            nanos: modified.nanos.wrapping_add(file.other_times) % NANOS_PER_SECOND,
            ..modified
        }
    }

    /// Whether the file has been read so lately that the kernel has dropped old pages itself.
    pub fn is_read_on(&self, node: u64) -> bool {
        let files = locked(&self.files);
        let last = files.get(&node).and_then(|file| file.other_time_at);
        last.is_some_and(|last| last.elapsed().as_nanos() < DROP_LATER.0.into())
    }

    /// Whether no pages may be old.
    pub fn are_clean(&self, node: u64) -> bool {
        let files = locked(&self.files);
        files.get(&node).is_none_or(File::is_clean)
    }

    /// A lease on the file is called back.
    pub fn recalled(&self, node: u64) -> Recalled {
        let mut files = locked(&self.files);
        let Some(file) = files.get_mut(&node) else {
            return Recalled::Done;
        };
        file.trusted_until = None;
        let Some(until) = file.recalled_until else {
            file.age();
            file.recalled_until = Some(Instant::now() + DROP_MAX);
            if file.is_clean() {
                file.recalled_until = None;
                return Recalled::Done;
            }
            return Recalled::Drop;
        };
        let left = until.saturating_duration_since(Instant::now());
        if file.is_clean() || left.is_zero() {
            file.recalled_until = None;
            return Recalled::Done;
        }
        Recalled::Waits(left)
    }

    /// The drop that [`CachedPages::end_read`] has asked for begins.
    pub fn begin_due(&self, node: u64) {
        if let Some(file) = locked(&self.files).get_mut(&node) {
            file.is_due = false;
        }
    }

    /// Drops the pages of a node. Blocks while some of them are being read.
    ///
    /// # Errors
    /// When the mount is gone.
    pub fn drop_pages(&self, node: u64) -> io::Result<()> {
        if let (Some(notifier), Some(aged)) = (self.notifier.get(), self.begin_drop(node)) {
            notifier.invalidate_inode(node, 0, 0)?;
            self.end_drop(node, aged);
        }
        Ok(())
    }

    fn begin_drop(&self, node: u64) -> Option<u64> {
        let mut files = locked(&self.files);
        let file = files.get_mut(&node)?;
        file.is_filled = false;
        Some(file.aged)
    }

    fn end_drop(&self, node: u64, aged: u64) {
        if let Some(file) = locked(&self.files).get_mut(&node) {
            file.dropped = file.dropped.max(aged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: u64 = 7;
    const TRUST: Duration = Duration::from_secs(1000);
    const NONE: Duration = Duration(0);

    impl CachedPages {
        fn drop_now(&self) {
            let aged = self.begin_drop(NODE).expect("a file");
            self.end_drop(NODE, aged);
        }

        /// Returns whether the pages have to be dropped later.
        fn read(&self, handle: u64, trust: Duration) -> bool {
            let start = self.begin_read(NODE, handle).expect("a reader");
            self.end_read(NODE, start, trust)
        }
    }

    fn opened() -> CachedPages {
        let pages = CachedPages::default();
        assert!(
            !pages.opened_to_read(NODE, 1, TRUST),
            "who knows of when they are"
        );
        pages
    }

    #[test]
    fn a_large_file_is_worth_pages_when_it_is_opened_again() {
        let (mut small, mut large) = (File::default(), File::default());
        assert!(small.is_worth_pages(LARGE_BYTES));
        assert!(!large.is_worth_pages(LARGE_BYTES + 1));
        assert!(large.is_worth_pages(LARGE_BYTES + 1));
    }

    #[test]
    fn pages_stay_for_who_opens_the_file_again() {
        let pages = opened();
        assert!(
            !pages.opened_to_read(NODE, 2, TRUST),
            "the first may not be there yet"
        );
        assert!(!pages.read(1, TRUST));
        assert!(pages.opened_to_read(NODE, 3, TRUST));
        for handle in 1..4 {
            pages.closed(NODE, handle);
        }
        assert!(pages.opened_to_read(NODE, 4, TRUST));
    }

    #[test]
    fn a_recall_ends_what_was_read() {
        let pages = opened();
        let start = pages.begin_read(NODE, 1).expect("a reader");
        assert_eq!(pages.recalled(NODE), Recalled::Drop);
        assert!(matches!(pages.recalled(NODE), Recalled::Waits(_)));
        assert!(pages.end_read(NODE, start, TRUST), "it began before");
        assert_eq!(pages.trust(NODE, TRUST), None);
        pages.begin_due(NODE);
        pages.drop_now();
        assert_eq!(pages.recalled(NODE), Recalled::Done);
        assert_eq!(pages.trust(NODE, NONE), Some(false));
        assert!(pages.read(1, NONE), "no lease covers it");
        assert!(!pages.read(1, NONE), "that is known already");
        assert_eq!(pages.trust(NODE, TRUST), None);
        pages.drop_now();
        assert_eq!(pages.trust(NODE, TRUST), Some(true));
        assert!(!pages.read(1, TRUST));
    }

    #[test]
    fn only_what_was_read_is_dropped_after_a_change() {
        let pages = opened();
        assert!(pages.age(NODE), "the kernel may have had pages");
        pages.drop_now();
        assert!(!pages.age(NODE));
        assert_eq!(pages.trust(NODE, TRUST), Some(true));
        assert!(!pages.read(1, TRUST));
        assert!(pages.age(NODE));
        assert!(!pages.age(NODE + 1), "it is not known");
    }

    #[test]
    fn what_a_drop_overtakes_is_dropped_again() {
        let pages = opened();
        assert!(pages.age(NODE));
        let aged = pages.begin_drop(NODE).expect("a file");
        assert!(pages.read(1, TRUST), "old pages may be on their way");
        pages.end_drop(NODE, aged);
        assert_eq!(pages.trust(NODE, TRUST), None);
    }

    #[test]
    fn there_is_one_drop_to_come_at_most() {
        let pages = opened();
        assert!(pages.read(1, NONE));
        pages.drop_now();
        assert!(!pages.read(1, NONE), "one is still to come");
        pages.begin_due(NODE);
        pages.drop_now();
        assert!(pages.read(1, NONE));
    }

    #[test]
    fn attributes_of_a_file_that_nobody_reads_may_be_cached() {
        let pages = opened();
        assert!(!pages.read(1, TRUST));
        assert_eq!(pages.recalled(NODE), Recalled::Drop);
        assert_eq!(pages.trust(NODE, TRUST), None);
        pages.closed(NODE, 1);
        assert_eq!(pages.trust(NODE, TRUST), Some(true));
        assert!(!pages.opened_to_read(NODE, 2, TRUST), "the pages are old");
    }

    #[test]
    fn another_time_is_never_the_last_one() {
        let pages = opened();
        let modified = Timestamp {
            seconds: 5,
            nanos: NANOS_PER_SECOND - 2,
        };
        let mut last = modified;
        for _ in 0..4 {
            let time = pages.another_time(NODE, modified);
            assert!(time != last && time != modified && time.seconds == 5);
            assert!(time.nanos < NANOS_PER_SECOND);
            last = time;
        }
    }

    #[test]
    fn files_that_nobody_has_open_are_forgotten() {
        let pages = opened();
        pages.forget(NODE);
        assert!(pages.is_read(NODE));
        pages.closed(NODE, 1);
        pages.forget(NODE);
        assert!(locked(&pages.files).is_empty());
    }
}
