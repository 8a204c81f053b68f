//! Buckets of directories whose names are all known: listed completely, or made by this client.
//!
//! The reply to each request of this client shows its effect on their names. Without a reliable
//! reply, the names are no longer all known.

use super::{Leases, NameKey, PartId, effects::Subject};
use alloc::vec::Vec;
use futago_base::{
    BucketStart, Duration, FileId, Name, NameHash, Time,
    record::{Entry, HeaderSum},
};
use futago_wire::ListedEntry;

/// A part of a listing from the cache.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedListing {
    /// The names, in the order of their hashes.
    pub entries: Vec<(Name, Entry)>,
    /// The bucket that was listed, and its level.
    pub bucket: (BucketStart, u8),
    /// Whether the bucket has no further names.
    pub complete: bool,
}

impl Leases {
    /// Whether an uncached name is known not to exist.
    pub(super) fn is_absent(&self, (part, hash, name): NameKey) -> bool {
        self.listed_bucket(part, hash).is_some()
            && !self.changing.contains_key(&Subject::Name(part, name))
    }

    /// The bucket of a part that covers a hash, with its level, if all its names are known.
    fn listed_bucket(&self, part: PartId, hash: NameHash) -> Option<(BucketStart, u8)> {
        let mut listed = self.held.get(part)?.listed.iter().copied();
        listed.find(|(bucket, level)| bucket.covers(*level, hash))
    }

    /// Whether all names of a directory are known.
    pub fn is_listed(&self, directory: FileId, now: Time) -> bool {
        let mut listed = HeaderSum::default();
        for part in self.parts_of(directory) {
            if self.trust(part.server, now) == Duration(0) || self.are_names_changing(part) {
                return false;
            }
            let buckets = self.held.get(part).map_or(&[][..], |held| &held.listed);
            for (_, level) in buckets {
                listed.hashes = listed.hashes.saturating_add(BucketStart::width(*level));
            }
        }
        listed.is_whole()
    }

    /// About `entries_max` names of a part with a larger hash than `after`. Names of one hash are
    /// not separated. `None` unless all names of the bucket that covers the next hash are known.
    pub fn listing(
        &self,
        part: PartId,
        after: NameHash,
        entries_max: usize,
        now: Time,
    ) -> Option<CachedListing> {
        let first = NameHash(after.0 + 1);
        let (bucket, level) = self.listed_bucket(part, first)?;
        if self.trust(part.server, now) == Duration(0) || self.are_names_changing(part) {
            return None;
        }
        let names = self.names.range((part, first, Name::least())..);
        let names =
            names.take_while(|((at, hash, _), _)| *at == part && bucket.covers(level, *hash));
        let mut entries: Vec<(Name, Entry)> = Vec::new();
        let mut last = first;
        for ((_, hash, name), entry) in names {
            if entries.len() >= entries_max && *hash != last {
                return Some(CachedListing {
                    entries,
                    bucket: (bucket, level),
                    complete: false,
                });
            }
            last = *hash;
            entries.extend(entry.map(|entry| (name.clone(), entry)));
        }
        Some(CachedListing {
            entries,
            bucket: (bucket, level),
            complete: true,
        })
    }

    /// A reply contains names of a leased part: all of a bucket, if it names one with its level.
    pub(super) fn list(
        &mut self,
        sequence: u64,
        part: PartId,
        bucket: Option<(BucketStart, u8)>,
        entries: &[ListedEntry],
    ) {
        let is_cached = self.held.get(part).is_some()
            && !self.are_names_changing(part)
            && self.are_names_settled(sequence, part)
            && self.names.len() + entries.len() <= self.names_max;
        if !is_cached {
            return;
        }
        for listed in entries {
            let key = (part, listed.name.hash(), listed.name.clone());
            self.names.insert(key, Some(listed.entry));
        }
        if let (Some(bucket), Some(held)) = (bucket, self.held.get_mut(part))
            && !held.listed.contains(&bucket)
        {
            held.listed.push(bucket);
        }
    }

    /// Not all names of some parts are known any more.
    pub(super) fn unlist(&mut self, parts: impl IntoIterator<Item = PartId>) {
        for part in parts {
            if let Some(held) = self.held.get_mut(part) {
                held.listed.clear();
            }
        }
    }

    /// Whether a pending request of this client may change names of a part.
    fn are_names_changing(&self, part: PartId) -> bool {
        let names = self.changing.range(Subject::Name(part, Name::least())..);
        names.take(1).any(|(subject, _)| is_name_of(subject, part))
    }

    /// Whether all changes of names of a part by this client were completed before a request was
    /// sent.
    fn are_names_settled(&self, sequence: u64, part: PartId) -> bool {
        let names = self.settled.range(Subject::Name(part, Name::least())..);
        names
            .take_while(|(subject, _)| is_name_of(subject, part))
            .all(|(_, &settled)| sequence > settled)
    }
}

fn is_name_of(subject: &Subject, part: PartId) -> bool {
    matches!(subject, Subject::Name(at, _) if *at == part)
}
