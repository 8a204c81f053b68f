//! Look-ups that the cache could not answer, and when to list a bucket instead.
//!
//! A look-up asks a server for one name. A client that looks up many names of a directory without
//! listing it would ask once for each. So it pays for a listing with look-ups: once it has looked
//! up a fixed part of the names on a server, it lists the buckets of the names that it asks for
//! next. It never spends much more than twice the cheaper way, whatever a program asks for (the
//! ski-rental rule: Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988).

use super::{Leases, PartId};

/// How many look-ups cost as much as one listing of few names.
const LOOKUPS_PER_LISTING: u32 = 8;
/// How many names cost as much in a listing as one more look-up.
const NAMES_PER_LOOKUP: u64 = 16;

impl Leases {
    /// Counts a look-up in a part of a directory with `names` names that the cache cannot answer.
    /// Returns whether to list the bucket of the name instead.
    pub fn note_miss(&mut self, part: PartId, names: u64) -> bool {
        let Some(held) = self.held.get_mut(part) else {
            return false;
        };
        held.misses = held.misses.saturating_add(1);
        let price = u64::from(LOOKUPS_PER_LISTING) + names / NAMES_PER_LOOKUP;
        let is_paid = u64::from(held.misses) >= price;
        if is_paid {
            held.misses -= LOOKUPS_PER_LISTING;
        }
        is_paid
    }
}
