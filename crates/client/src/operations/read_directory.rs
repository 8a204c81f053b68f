//! Lists a directory.

use crate::{
    Client, Context,
    client::{GONE, UNEXPECTED, all_or_failure},
    join_all,
    leases::{CachedListing, Leases, PartId},
};
use alloc::{collections::BTreeMap, vec::Vec};
use futago_base::{
    Attributes, BucketStart, Duration, Errno, FileId, Name, NameHash, ServerId,
    record::{Entry, HeaderSum},
};
use futago_wire::{Failure, ListedEntry, Reply, Request};

/// The most files in one request for attributes.
const FILES_AT_ONCE: usize = 1024;

/// How long listings of a directory count as incomplete after one has omitted a part: longer than
/// one listing takes.
const LISTING_MAX: Duration = Duration::from_millis(60_000);

/// A part of a listing.
struct Listing {
    entries: Vec<ListedEntry>,
    /// The hash after which the listing continues; `None` at the end of the directory.
    next: Option<NameHash>,
}

impl<C: Context> Client<C> {
    /// Lists about `entries_max` entries whose names have a larger hash than `after`, in the order
    /// of hashes. The result is empty only at the end. Names of one hash are never separated. The
    /// first call passes `NameHash(0)`. With `attributes`, every entry gets attributes if its file
    /// exists and its home can be reached. An unreachable server hides only its own names: the
    /// listing continues without them, and ends with `EIO` instead of an empty result. Errors:
    /// `ENOENT` if the directory does not exist, `ENOTDIR`.
    pub async fn read_directory(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
        attributes: bool,
    ) -> Result<Vec<ListedEntry>, Errno> {
        let mut entries = self.list(directory, after, entries_max).await?;
        if attributes {
            self.persist(|| self.attributes_of(&entries))
                .await
                .map(|known| {
                    for entry in &mut entries {
                        let found = known.get(&entry.entry.id).copied();
                        entry.attributes = entry.attributes.or(found);
                    }
                })?;
        }
        Ok(entries)
    }

    /// Lists until there are enough entries.
    async fn list(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
    ) -> Result<Vec<ListedEntry>, Errno> {
        let mut entries: Vec<ListedEntry> = Vec::new();
        let mut next = Some(after);
        while let Some(after) = next.filter(|after| after.0 < HASH_MAX) {
            let wanted = entries_max.saturating_sub(entries.len() as u32).max(1);
            let listing = self.list_part(directory, after, wanted).await?;
            entries.extend(listing.entries);
            next = listing.next;
            if entries.len() as u64 >= u64::from(entries_max) {
                break;
            }
        }
        if entries.is_empty() && self.may_lack_part(directory) {
            return Err(Errno::EIO);
        }
        Ok(entries)
    }

    /// Lists the entries after a hash, or omits a part whose server cannot be reached.
    async fn list_part(
        &self,
        directory: FileId,
        after: NameHash,
        wanted: u32,
    ) -> Result<Listing, Errno> {
        let list = || self.list_bucket(directory, after, wanted);
        match self.persist(list).await {
            Err(Errno::EIO) => Ok(self.omit_part(directory, after)),
            listing => listing,
        }
    }

    /// Continues after the bucket that covers the next hash, because its server cannot be reached.
    fn omit_part(&self, directory: FileId, after: NameHash) -> Listing {
        let first = NameHash(after.0 + 1);
        let bucket = self.bucket_of(directory, first);
        if bucket.0 == first.0 {
            // The bucket was probably split as often as the first one. If not, the server of the
            // next one reports it.
            let level = self.buckets(directory).first_level();
            self.learn(directory, bucket, level);
        }
        let now = self.context().now();
        self.memory.borrow_mut().unlisted.insert(directory, now);
        let end = self.buckets(directory).end_of(bucket);
        Listing {
            entries: Vec::new(),
            next: end.map(|next| NameHash(next.0 - 1)),
        }
    }

    /// Whether a listing that ends now may lack a part.
    fn may_lack_part(&self, directory: FileId) -> bool {
        let memory = self.memory.borrow();
        let left_out = memory.unlisted.get(directory);
        left_out.is_some_and(|&at| self.context().now().since(at) < LISTING_MAX)
    }

    /// Lists a bucket from the cache, if all its names are known, with their cached attributes.
    fn cached_listing(&self, part: PartId, after: NameHash, entries_max: u32) -> Option<Listing> {
        let (entries_max, now) = (entries_max as usize, self.context().now());
        let listing = |leases: &mut Leases| leases.listing(part, after, entries_max, now);
        let CachedListing {
            entries,
            bucket: (bucket, level),
            complete,
        } = self.with_leases(listing)??;
        let entry = |(name, entry): (Name, Entry)| ListedEntry {
            name,
            entry,
            attributes: self.leased_state(entry.id).and_then(|state| {
                let attributes = state.attributes;
                attributes.allocated_bytes.map(|_| attributes)
            }),
        };
        let entries: Vec<ListedEntry> = entries.into_iter().map(entry).collect();
        let next = continue_after(&entries, complete, bucket, level);
        Some(Listing { entries, next })
    }

    /// Whether the buckets of a part are listed at once: names are cached, and the part is not
    /// known to have too many.
    fn is_listed_at_once(&self, part: PartId) -> bool {
        let now = self.context().now();
        let known = self.with_leases(|leases| leases.buckets(part, now));
        let most = self.config().listed_at_once.into();
        let is_small = |buckets: HeaderSum| buckets.entries <= most;
        known.is_some_and(|known| known.is_none_or(is_small))
    }

    /// Lists the bucket that covers the hashes after `after`.
    async fn list_bucket(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
    ) -> Result<Listing, Failure> {
        loop {
            let bucket = self.bucket_of(directory, NameHash(after.0 + 1));
            let (node, server) = (directory, self.map().bucket_server(directory, bucket));
            let part = PartId { node, server };
            if let Some(listing) = self.cached_listing(part, after, entries_max) {
                return Ok(listing);
            }
            let is_first = after.0 == bucket.0.saturating_sub(1);
            let at_once = is_first && self.is_listed_at_once(part);
            let listed_at_once = self.config().listed_at_once;
            let request = Request::ReadDirectory {
                directory,
                bucket,
                after,
                entries_max: entries_max.max(if at_once { listed_at_once } else { 0 }),
            };
            match self.ask(server, request).await {
                Ok(Reply::Listing {
                    mut entries,
                    complete,
                    level,
                    ..
                }) => {
                    self.learn(directory, bucket, level);
                    let is_shortened = shorten(&mut entries, entries_max as usize);
                    let complete = complete && !is_shortened;
                    let next = continue_after(&entries, complete, bucket, level);
                    return Ok(Listing { entries, next });
                }
                Ok(_) => return Err(UNEXPECTED),
                Err(failure) => self.correct(directory, bucket, failure).await?,
            }
        }
    }

    /// Lists the bucket of a name, so that its names are cached.
    pub(crate) async fn list_around(&self, directory: FileId, name: &Name) -> Result<(), Failure> {
        let bucket = self.bucket_of(directory, name.hash());
        let before = NameHash(bucket.0.saturating_sub(1));
        let most = self.config().listed_at_once;
        self.list_bucket(directory, before, most).await.map(drop)
    }

    /// The missing attributes of the files in a listing.
    async fn attributes_of(
        &self,
        entries: &[ListedEntry],
    ) -> Result<BTreeMap<FileId, Attributes>, Failure> {
        let mut homes: BTreeMap<ServerId, Vec<FileId>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.attributes.is_none()) {
            let home = self.map().home(entry.entry.id);
            homes.entry(home).or_default().push(entry.entry.id);
        }
        let mut batches = Vec::new();
        for (&home, ids) in &homes {
            for batch in ids.chunks(FILES_AT_ONCE) {
                batches.push(self.attributes_at(home, batch));
            }
        }
        let known = join_all(batches).await.into_iter().map(reached);
        let known = all_or_failure(known.collect())?;
        Ok(known.into_iter().flatten().collect())
    }

    async fn attributes_at(
        &self,
        home: ServerId,
        ids: &[FileId],
    ) -> Result<Vec<(FileId, Attributes)>, Failure> {
        for &id in ids {
            self.flush(id).await;
        }
        let request = Request::GetAttributes(ids.to_vec());
        let Reply::Files(files) = self.ask(home, request).await? else {
            return Err(UNEXPECTED);
        };
        let states = files.into_iter().flatten();
        let folded = states.map(|state| self.fold(self.seen(state)));
        let states = join_all(folded).await.into_iter();
        // A file may have been removed since it was listed.
        let known = states.filter(|state| !matches!(state, Err(GONE)));
        let pair = |state: futago_wire::FileState| (state.attributes.id, state.attributes);
        known.map(|state| state.map(pair)).collect()
    }
}

/// An unreachable server hides no names, only the attributes of its files.
fn reached<T>(answer: Result<Vec<T>, Failure>) -> Result<Vec<T>, Failure> {
    match answer {
        Err(Failure::Errno(Errno::EIO)) => Ok(Vec::new()),
        answer => answer,
    }
}

/// Leaves about `entries_max` entries; names of one hash are not separated. Returns whether it took
/// any away.
fn shorten(entries: &mut Vec<ListedEntry>, entries_max: usize) -> bool {
    let Some(last) = entries.get(entries_max.saturating_sub(1)) else {
        return false;
    };
    let (before, last) = (entries.len(), last.name.hash());
    entries.truncate(entries.partition_point(|entry| entry.name.hash() <= last));
    entries.len() < before
}

/// The largest possible hash of a name.
const HASH_MAX: u64 = (1 << 63) - 1;

/// The hash after which a listing continues.
fn continue_after(
    entries: &[ListedEntry],
    complete: bool,
    bucket: BucketStart,
    level: u8,
) -> Option<NameHash> {
    match entries.last() {
        Some(last) if !complete => Some(last.name.hash()),
        _ => bucket.end(level).map(|next| NameHash(next.0 - 1)),
    }
}
