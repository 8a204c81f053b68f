//! Listings in the kernel's pages.
//!
//! The kernel keeps what it was told of a directory and lists it from there, without asking, while it may keep the directory's
//! attributes and has changed no names itself; who goes on with a listing never asks. It compares modification times when it
//! has asked for attributes, which can be set back. So pages are dropped with the lease, and before attributes are told after
//! listings that no lease covered.
//!
//! The kernel locks no page while it is told of a listing: it may take in what it was told after pages were dropped. For a while
//! it is believed to do so.

use super::{DROP_LATER, File, KeptPages, ReadStart};
use crate::interruption::locked;
use futago_base::Duration;
use std::time::{self, Instant};

/// What was true when a part of a listing was asked for.
#[derive(Clone, Copy, Debug)]
pub struct ListingStart {
    pages: ReadStart,
    is_leased: bool,
}

/// What becomes of a part of a listing that the kernel is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// It may be used again.
    Kept,
    /// The kernel has to ask before it uses it again, and somebody is going to drop it.
    Once,
    /// The same, and it is to be dropped after [`DROP_LATER`].
    OnceToDrop,
}

impl File {
    /// The kernel may be about to take in an old listing.
    pub(super) fn doubt(&mut self) {
        if self.is_directory && self.is_filled {
            let for_now = time::Duration::from_nanos(DROP_LATER.0);
            self.doubtful_until = Some(Instant::now() + for_now);
        }
    }

    fn is_doubtful(&self) -> bool {
        let until = self.doubtful_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// [`KeptPages::trust`] of a directory: its attributes may be kept for longer than its listing, if there is none.
    pub(super) fn trust_listing(&mut self, trust: Duration) -> Option<bool> {
        if self.is_filled && (trust == Duration(0) || !self.is_trusted()) {
            if self.trusted_until.take().is_some() {
                self.doubt();
            }
            self.age();
        }
        if !self.is_clean() {
            return None;
        }
        if self.is_filled {
            self.trust(trust);
        }
        Some(!self.is_doubtful())
    }
}

impl KeptPages {
    /// The kernel asks for a part of a listing that a lease covers for some time, if it may keep any.
    pub fn begin_listing(&self, directory: u64, trust: Duration) -> Option<ListingStart> {
        self.notifier.get()?;
        Some(self.begin(directory, trust))
    }

    fn begin(&self, directory: u64, trust: Duration) -> ListingStart {
        let mut files = locked(&self.files);
        let file = files.entry(directory).or_default();
        file.is_directory = true;
        let is_leased = trust > Duration(0);
        if is_leased && !file.is_filled && file.is_clean() && !file.is_doubtful() {
            file.trust(trust);
        }
        file.is_filled = true;
        let (aged, is_trusted) = (file.aged, file.is_trusted());
        ListingStart {
            pages: ReadStart { aged, is_trusted },
            is_leased,
        }
    }

    /// That part is about to be told, which a lease still covers for some time.
    pub fn end_listing(&self, directory: u64, start: ListingStart, trust: Duration) -> Listed {
        let mut files = locked(&self.files);
        let file = files.entry(directory).or_default();
        if file.stays_trusted(start.pages, trust) {
            return Listed::Kept;
        }
        let is_right = start.is_leased && trust > Duration(0) && start.pages.aged == file.aged;
        let is_new = file.fill_untrusted();
        if !is_right {
            file.doubt();
        }
        if is_new {
            Listed::OnceToDrop
        } else {
            Listed::Once
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NODE, NONE, TRUST};
    use super::*;
    use crate::kept_pages::Recalled;

    fn list(pages: &KeptPages, trust: Duration) -> Listed {
        let start = pages.begin(NODE, trust);
        pages.end_listing(NODE, start, trust)
    }

    /// Time passes until nothing is doubtful any more.
    fn calm(pages: &KeptPages) {
        let mut files = locked(&pages.files);
        let file = files.get_mut(&NODE).expect("a directory");
        file.doubtful_until = None;
    }

    #[test]
    fn a_listing_stays_as_long_as_its_lease() {
        let pages = KeptPages::default();
        assert_eq!(list(&pages, TRUST), Listed::Kept);
        assert_eq!(list(&pages, TRUST), Listed::Kept, "it goes on");
        assert_eq!(pages.trust(NODE, TRUST), Some(true));
        assert_eq!(pages.recalled(NODE), Recalled::Drop);
        assert_eq!(pages.recalled(NODE), Recalled::Waits);
        pages.drop_now();
        assert_eq!(pages.recalled(NODE), Recalled::Done);
    }

    #[test]
    fn attributes_are_kept_where_no_listing_is() {
        let pages = KeptPages::default();
        assert_eq!(pages.trust(NODE, NONE), Some(true), "never listed");
        assert_eq!(list(&pages, TRUST), Listed::Kept);
        assert_eq!(pages.trust(NODE, NONE), None, "no lease covers its names");
        pages.drop_now();
        assert_eq!(pages.trust(NODE, NONE), Some(false), "it may come later");
        calm(&pages);
        assert_eq!(pages.trust(NODE, NONE), Some(true));
    }

    #[test]
    fn what_no_lease_covers_is_used_once() {
        let pages = KeptPages::default();
        assert_eq!(list(&pages, NONE), Listed::OnceToDrop);
        assert_eq!(list(&pages, NONE), Listed::Once, "that is known already");
        assert_eq!(pages.trust(NODE, TRUST), None);
        pages.drop_now();
        assert_eq!(pages.trust(NODE, TRUST), Some(false));
        assert_eq!(
            list(&pages, TRUST),
            Listed::OnceToDrop,
            "the one before may come later"
        );
        pages.drop_now();
        calm(&pages);
        assert_eq!(list(&pages, TRUST), Listed::Kept);
        assert_eq!(pages.trust(NODE, TRUST), Some(true));
    }

    #[test]
    fn a_listing_under_a_lease_prolongs_no_doubt() {
        let pages = KeptPages::default();
        assert_eq!(list(&pages, NONE), Listed::OnceToDrop);
        pages.drop_now();
        let doubtful = || {
            locked(&pages.files)
                .get(&NODE)
                .and_then(|it| it.doubtful_until)
        };
        let until = doubtful();
        assert_eq!(list(&pages, TRUST), Listed::OnceToDrop);
        assert_eq!(pages.trust(NODE, TRUST), None);
        assert_eq!(doubtful(), until);
    }

    #[test]
    fn a_recall_spoils_a_listing_that_is_under_way() {
        let pages = KeptPages::default();
        let start = pages.begin(NODE, TRUST);
        assert_eq!(pages.recalled(NODE), Recalled::Drop);
        pages.drop_now();
        assert_eq!(pages.end_listing(NODE, start, TRUST), Listed::OnceToDrop);
        assert_eq!(pages.trust(NODE, TRUST), None);
    }
}
