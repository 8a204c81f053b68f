//! Directories whose names are all known: listed completely, or made by this client.
//!
//! The reply to each request of this client shows its effect on their names. Without a reliable
//! reply, the names are no longer all known.

use super::{Leases, effects::Subject};
use alloc::vec::Vec;
use futago_base::{Duration, FileId, Name, NameHash, ServerId, Time, record::Entry};
use futago_wire::ListedEntry;

/// A directory with more names than this is not sorted for each part of a listing.
const LISTED_MAX: usize = 1024;

impl Leases {
    /// Whether an uncached name is known not to exist.
    pub(super) fn is_absent(&self, (directory, name): (FileId, Name)) -> bool {
        let is_listed = self.held.get(directory).is_some_and(|held| held.is_listed);
        is_listed && !self.changing.contains_key(&Subject::Name(directory, name))
    }

    /// Whether all names of a directory are known under a lease of its `home`.
    pub fn is_listed(&self, directory: FileId, home: ServerId, now: Time) -> bool {
        let is_listed = self.held.get(directory).is_some_and(|held| held.is_listed);
        is_listed && !self.are_names_changing(directory) && self.trust(home, now) > Duration(0)
    }

    /// About `entries_max` names of a directory with a larger hash than `after`, in the order of
    /// hashes. Names of one hash are not separated. `None` unless all names are known under a lease
    /// of its `home`.
    pub fn listing(
        &self,
        directory: FileId,
        (after, entries_max): (NameHash, usize),
        home: ServerId,
        now: Time,
    ) -> Option<Vec<(Name, Entry)>> {
        if !self.is_listed(directory, home, now) {
            return None;
        }
        let names = self.names.range((directory, Name::least())..);
        let names = names.take_while(|((at, _), _)| *at == directory);
        let mut listed = Vec::new();
        for (count, ((_, name), entry)) in names.enumerate() {
            if count == LISTED_MAX {
                return None;
            }
            let hash = name.hash();
            listed.extend(
                entry
                    .filter(|_| hash > after)
                    .map(|entry| (hash, name, entry)),
            );
        }
        listed.sort_by_key(|(hash, name, _)| (*hash, *name));
        let last = entries_max.checked_sub(1).and_then(|last| listed.get(last));
        if let Some(&(last, ..)) = last {
            listed.retain(|(hash, ..)| *hash <= last);
        }
        let owned = |(_, name, entry): (NameHash, &Name, Entry)| (name.clone(), entry);
        Some(listed.into_iter().map(owned).collect())
    }

    /// A reply contains all names of a directory under a lease.
    pub(super) fn list(&mut self, sequence: u64, directory: FileId, entries: &[ListedEntry]) {
        let is_cached = self.held.get(directory).is_some()
            && !self.are_names_changing(directory)
            && self.are_names_settled(sequence, directory)
            && self.names.len() + entries.len() <= self.names_max;
        if !is_cached {
            return;
        }
        for listed in entries {
            self.names
                .insert((directory, listed.name.clone()), Some(listed.entry));
        }
        if let Some(held) = self.held.get_mut(directory) {
            held.is_listed = true;
        }
    }

    /// The entries of some names are not known any more.
    pub(super) fn unlist(&mut self, names: &[(FileId, Name)]) {
        for (directory, _) in names {
            if let Some(held) = self.held.get_mut(*directory) {
                held.is_listed = false;
            }
        }
    }

    /// The reply to a request that may have changed a node does not contain its state. The node may
    /// be removed.
    pub(super) fn unlist_node(&mut self, subject: &Subject) {
        if let Subject::Attributes(id) = subject
            && let Some(held) = self.held.get_mut(*id)
        {
            held.is_listed = false;
        }
    }

    /// Whether a pending request of this client may change names of a directory.
    fn are_names_changing(&self, directory: FileId) -> bool {
        let names = self
            .changing
            .range(Subject::Name(directory, Name::least())..);
        names
            .take(1)
            .any(|(subject, _)| is_name_of(subject, directory))
    }

    /// Whether all changes of names of a directory by this client were completed before a request
    /// was sent.
    fn are_names_settled(&self, sequence: u64, directory: FileId) -> bool {
        let names = self
            .settled
            .range(Subject::Name(directory, Name::least())..);
        names
            .take_while(|(subject, _)| is_name_of(subject, directory))
            .all(|(_, &settled)| sequence > settled)
    }
}

fn is_name_of(subject: &Subject, directory: FileId) -> bool {
    matches!(subject, Subject::Name(at, _) if *at == directory)
}
