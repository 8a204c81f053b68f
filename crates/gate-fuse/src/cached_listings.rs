//! Listings that the kernel keeps in its pages, and when it must drop them.
//!
//! The kernel fills pages with the parts of a listing that it receives, and lists the directory
//! from there once an empty reply has marked the end. Before it begins, it asks for attributes if
//! it may not keep them, and begins anew if it has changed names itself or sees another
//! modification time. That is not enough: a time can be set back, and a caller that continues a
//! listing asks for nothing. So a piece of a record, which the kernel passes over, stands for the
//! end unless one lease has covered all that may be in its pages. Pages are dropped before that
//! lease is returned, before this kernel has names changed, and before attributes may be cached
//! under another lease.
//!
//! The kernel locks no page while it receives a part: it may take a part in after pages were
//! dropped. For a while it is believed to be about to do so. It begins anew only after an end that
//! it takes for one, at the place where it has stopped filling pages: that it finds this place
//! again is why the place after the last name is always the same ([`listing`](crate::listing)).

use crate::cached_pages::{DROP_MAX, Recalled};
use crate::interruption::locked;
use futago_base::FileId;
use futago_fuse_kernel::Notifier;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// For how long the kernel may be about to take in a part that was sent.
const TAKE_IN_MAX: Duration = Duration::from_secs(1);

/// A time in which a lease is held without a gap
/// ([`lease_epoch`](futago_client::Client::lease_epoch)).
type Period = u64;

/// The listings, by their directories.
#[derive(Debug, Default)]
pub struct CachedListings {
    listings: Mutex<HashMap<FileId, Listing>>,
    notifier: OnceLock<Notifier>,
}

#[derive(Debug, Default)]
struct Listing {
    /// The lease that covers what the kernel may list from, if an end was sent.
    cached: Option<Period>,
    /// How many parts were sent.
    parts: u64,
    /// When the last one was sent, and the lease that covered that.
    last_part: Option<(Instant, Option<Period>)>,
    /// When a part was last sent that may be in pages beside those that the present lease covers.
    mixed: Option<Instant>,
    /// How often the kernel was to forget it.
    forgotten: u64,
    /// Until when a lease that is called back waits for the drop.
    recalled_until: Option<Instant>,
}

/// The state when a part of a listing was requested.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    period: Option<Period>,
    forgotten: u64,
}

/// How a part of a listing is to be sent to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// As it is.
    Plainly,
    /// It is the end, and what is in pages is not to be used again.
    WithoutEnd,
    /// It is the end, but pages are to be dropped first ([`CachedListings::tell_end`]).
    AfterDrop,
}

impl Listing {
    /// The lease that has covered a part since it was asked for, if it is that of now.
    fn covering(&self, start: Start, now: Option<Period>) -> Option<Period> {
        let is_same = start.period == now && start.forgotten == self.forgotten;
        now.filter(|_| is_same)
    }

    fn tell(&mut self, period: Option<Period>) {
        let now = Instant::now();
        match self.last_part.replace((now, period)) {
            _ if period.is_none() => self.mixed = Some(now),
            Some((before, other)) if other != period => self.mixed = Some(before),
            _ => {}
        }
        self.parts += 1;
    }

    fn tell_end(&mut self, period: Option<Period>) -> Telling {
        match self.mixed {
            _ if period.is_none() => Telling::WithoutEnd,
            None => {
                self.cached = period;
                Telling::Plainly
            }
            Some(sent_at) if sent_at.elapsed() < TAKE_IN_MAX => Telling::WithoutEnd,
            Some(_) => Telling::AfterDrop,
        }
    }
}

impl CachedListings {
    /// From now on the kernel may keep listings.
    pub fn keep(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// Whether the kernel may keep listings.
    pub fn are_cached(&self) -> bool {
        self.notifier.get().is_some()
    }

    /// The kernel asks for a part of a listing, under a lease perhaps.
    pub fn begin(&self, directory: FileId, period: Option<Period>) -> Start {
        let mut listings = locked(&self.listings);
        let forgotten = listings.entry(directory).or_default().forgotten;
        Start { period, forgotten }
    }

    /// That part is about to be sent, perhaps the end. `period` is that of a lease under which all
    /// names are known.
    pub fn tell(
        &self,
        directory: FileId,
        start: Start,
        period: Option<Period>,
        is_end: bool,
    ) -> Telling {
        let mut listings = locked(&self.listings);
        // Without a listing the kernel has forgotten the directory meanwhile, and the caller is
        // gone.
        let covering = listings.get_mut(&directory).map(|listing| {
            let period = listing.covering(start, period);
            listing.tell(period);
            (listing, period)
        });
        match covering {
            _ if !is_end => Telling::Plainly,
            Some((listing, period)) => listing.tell_end(period),
            None => Telling::WithoutEnd,
        }
    }

    /// Pages were dropped while `parts` of the listing had been sent. Returns whether the end may
    /// be sent: the kernel finds no pages then, and begins anew.
    pub fn tell_end(
        &self,
        directory: FileId,
        start: Start,
        period: Option<Period>,
        parts: u64,
    ) -> bool {
        let mut listings = locked(&self.listings);
        listings.get_mut(&directory).is_some_and(|listing| {
            let period = listing.covering(start, period);
            let may_end = listing.parts == parts && period.is_some();
            if may_end {
                (listing.mixed, listing.cached) = (None, period);
            }
            may_end
        })
    }

    /// Whether the kernel may keep the attributes of a directory of which a lease is held in that
    /// period, and list from pages with them. If not, these are to be dropped first.
    pub fn allow_attributes(&self, directory: FileId, period: Option<Period>) -> bool {
        let listings = locked(&self.listings);
        let cached = listings.get(&directory).and_then(|listing| listing.cached);
        cached.is_none() || cached == period
    }

    /// Whether the kernel may list a directory from pages.
    pub fn has(&self, directory: FileId) -> bool {
        !self.allow_attributes(directory, None)
    }

    /// A lease on the directory is called back, or it is not known what has been done to its names.
    pub fn recalled(&self, directory: FileId) -> Recalled {
        let mut listings = locked(&self.listings);
        let Some(listing) = listings.get_mut(&directory) else {
            return Recalled::Done;
        };
        let now = Instant::now();
        listing.forgotten += 1;
        listing.mixed = listing.last_part.map(|(sent_at, _)| sent_at);
        match listing.recalled_until {
            _ if listing.cached.is_none() => {}
            None => {
                listing.recalled_until = Some(now + DROP_MAX);
                return Recalled::Drop;
            }
            Some(until) if now < until => return Recalled::Waits(until - now),
            Some(_) => {}
        }
        listing.recalled_until = None;
        Recalled::Done
    }

    /// Drops the pages of a directory, which the kernel knows by these nodes. Blocks while a
    /// thread lists it from them. Returns how many parts had been sent.
    ///
    /// # Errors
    /// When the mount is gone.
    pub fn drop_pages(&self, directory: FileId, nodes: &[u64]) -> io::Result<u64> {
        let parts = self.parts(directory);
        for &node in nodes {
            if let Some(notifier) = self.notifier.get() {
                notifier.invalidate_inode(node, 0, 0)?;
            }
        }
        self.dropped(directory, parts);
        Ok(parts)
    }

    fn parts(&self, directory: FileId) -> u64 {
        let listings = locked(&self.listings);
        listings.get(&directory).map_or(0, |listing| listing.parts)
    }

    fn dropped(&self, directory: FileId, parts: u64) {
        if let Some(listing) = locked(&self.listings).get_mut(&directory)
            && listing.parts == parts
        {
            listing.cached = None;
        }
    }

    /// The kernel does not know a directory any more.
    pub fn forget(&self, directory: FileId) {
        locked(&self.listings).remove(&directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: FileId = FileId(7);
    const FIRST: Option<Period> = Some(1);
    const SECOND: Option<Period> = Some(2);

    impl CachedListings {
        /// The kernel asks for a part and receives it.
        fn part(&self, period: Option<Period>, is_end: bool) -> Telling {
            let start = self.begin(DIRECTORY, period);
            self.tell(DIRECTORY, start, period, is_end)
        }

        /// It lists the directory from the beginning to the end.
        fn list(&self, period: Option<Period>) -> Telling {
            assert_eq!(self.part(period, false), Telling::Plainly);
            self.part(period, true)
        }

        fn drop_now(&self) -> u64 {
            self.drop_pages(DIRECTORY, &[]).expect("no kernel fails")
        }

        /// Drops pages, and tells of the end if it may after what happens meanwhile.
        fn end_now(&self, period: Option<Period>, meanwhile: impl FnOnce(&Self)) -> bool {
            let start = self.begin(DIRECTORY, period);
            let parts = self.drop_now();
            meanwhile(self);
            self.tell_end(DIRECTORY, start, period, parts)
        }

        /// So much time passes that the kernel has taken in all that was sent.
        fn pass(&self) {
            let mut listings = locked(&self.listings);
            let listing = listings.get_mut(&DIRECTORY).expect("a listing");
            let earlier = |time: Instant| time.checked_sub(TAKE_IN_MAX).expect("a time");
            listing.last_part = listing
                .last_part
                .map(|(time, period)| (earlier(time), period));
            listing.mixed = listing.mixed.map(earlier);
        }
    }

    #[test]
    fn a_listing_is_cached_as_long_as_its_lease() {
        let listings = CachedListings::default();
        assert_eq!(listings.list(FIRST), Telling::Plainly);
        assert_eq!(listings.list(FIRST), Telling::Plainly);
        assert!(listings.allow_attributes(DIRECTORY, FIRST));
        assert!(!listings.allow_attributes(DIRECTORY, None));
        assert!(!listings.allow_attributes(DIRECTORY, SECOND));
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Drop);
        assert!(matches!(listings.recalled(DIRECTORY), Recalled::Waits(_)));
        listings.drop_now();
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Done);
        assert!(listings.allow_attributes(DIRECTORY, SECOND));
    }

    #[test]
    fn what_is_forgotten_on_the_way_has_no_end() {
        let listings = CachedListings::default();
        let start = listings.begin(DIRECTORY, FIRST);
        listings.forget(DIRECTORY);
        let telling = listings.tell(DIRECTORY, start, FIRST, true);
        assert_eq!(telling, Telling::WithoutEnd);
        assert!(locked(&listings.listings).is_empty());
    }

    #[test]
    fn what_changes_on_the_way_is_not_cached() {
        let listings = CachedListings::default();
        let start = listings.begin(DIRECTORY, FIRST);
        let telling = listings.tell(DIRECTORY, start, SECOND, true);
        assert_eq!(telling, Telling::WithoutEnd, "another lease");
        let start = listings.begin(DIRECTORY, SECOND);
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Done);
        let telling = listings.tell(DIRECTORY, start, SECOND, true);
        assert_eq!(telling, Telling::WithoutEnd, "it was to be forgotten");
        assert!(!listings.has(DIRECTORY));
    }

    #[test]
    fn nothing_is_dropped_before_there_is_an_end() {
        let listings = CachedListings::default();
        listings.part(FIRST, false);
        assert!(!listings.has(DIRECTORY));
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Done);
        assert_eq!(listings.list(SECOND), Telling::WithoutEnd, "it is mixed");
    }

    #[test]
    fn what_no_lease_covers_has_no_end_and_keeps_no_attributes_away() {
        let listings = CachedListings::default();
        assert_eq!(listings.list(None), Telling::WithoutEnd);
        assert!(listings.allow_attributes(DIRECTORY, None));
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Done);
    }

    #[test]
    fn parts_of_two_times_have_no_end_together() {
        for before in [None, FIRST] {
            let listings = CachedListings::default();
            listings.part(before, false);
            assert_eq!(listings.list(SECOND), Telling::WithoutEnd, "{before:?}");
            listings.pass();
            assert_eq!(listings.list(SECOND), Telling::AfterDrop, "{before:?}");
            assert!(listings.end_now(SECOND, |_| ()));
            assert!(listings.has(DIRECTORY), "a recall has it dropped");
            assert_eq!(listings.list(SECOND), Telling::Plainly, "{before:?}");
        }
    }

    #[test]
    fn what_was_sent_before_a_recall_may_arrive_after_it() {
        let listings = CachedListings::default();
        listings.list(FIRST);
        listings.recalled(DIRECTORY);
        listings.drop_now();
        assert_eq!(listings.list(FIRST), Telling::WithoutEnd);
        listings.pass();
        assert_eq!(listings.list(FIRST), Telling::AfterDrop);
    }

    #[test]
    fn what_is_sent_beside_a_drop_is_not_ended_after_it() {
        let listings = CachedListings::default();
        listings.part(None, false);
        listings.pass();
        assert_eq!(listings.list(FIRST), Telling::AfterDrop);
        assert!(!listings.end_now(FIRST, |listings| {
            listings.part(None, false);
        }));
        assert!(!listings.end_now(FIRST, |listings| {
            listings.recalled(DIRECTORY);
        }));
        assert_eq!(listings.list(FIRST), Telling::WithoutEnd);
    }

    #[test]
    fn a_drop_does_not_count_for_what_is_sent_meanwhile() {
        let listings = CachedListings::default();
        listings.list(FIRST);
        let parts = listings.parts(DIRECTORY);
        listings.list(SECOND);
        listings.dropped(DIRECTORY, parts);
        assert!(listings.has(DIRECTORY));
        listings.drop_now();
        assert!(!listings.has(DIRECTORY));
    }

    #[test]
    fn a_recall_waits_no_longer_than_it_may() {
        let listings = CachedListings::default();
        listings.list(FIRST);
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Drop);
        locked(&listings.listings)
            .get_mut(&DIRECTORY)
            .expect("a listing")
            .recalled_until = Some(Instant::now());
        assert_eq!(listings.recalled(DIRECTORY), Recalled::Done);
        assert!(
            !listings.allow_attributes(DIRECTORY, SECOND),
            "pages may be there"
        );
    }
}
