//! Lists a directory.

use crate::{
    Client, Context,
    client::{GONE, UNEXPECTED, all_or_failure},
    join_all,
};
use alloc::{collections::BTreeMap, vec::Vec};
use futago_base::{
    Attributes, BucketStart, Duration, Errno, FileId, Name, NameHash, ServerId, record::Entry,
};
use futago_wire::{Failure, ListedEntry, Reply, Request};

/// The most files in one request for attributes.
const FILES_AT_ONCE: usize = 1024;

/// The most names of a leased directory that one request lists.
const LISTED_AT_ONCE: u32 = 1024;

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
        let mut entries = match self.leased_listing(directory, after, entries_max) {
            Some(entries) => entries,
            None => self.list(directory, after, entries_max).await?,
        };
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

    /// Lists from the cache, if all names of the directory are known, with their cached attributes.
    fn leased_listing(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
    ) -> Option<Vec<ListedEntry>> {
        let (home, now) = (self.map().home(directory), self.context().now());
        let part = (after, entries_max as usize);
        let names = self.with_leases(|leases| leases.listing(directory, part, home, now))??;
        let entry = |(name, entry): (Name, Entry)| ListedEntry {
            name,
            entry,
            attributes: self.leased_state(entry.id).and_then(|state| {
                let attributes = state.attributes;
                attributes.allocated_bytes.map(|_| attributes)
            }),
        };
        Some(names.into_iter().map(entry).collect())
    }

    /// Lists from the servers. A leased directory is listed completely, if one request can do that.
    async fn list(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
    ) -> Result<Vec<ListedEntry>, Errno> {
        let mut entries: Vec<ListedEntry> = Vec::new();
        if after == NameHash(0) && self.is_listed_at_once(directory) {
            self.persist(|| self.list_bucket(directory, after, entries_max.max(LISTED_AT_ONCE)))
                .await?;
            if let Some(entries) = self.leased_listing(directory, after, entries_max) {
                return Ok(entries);
            }
        }
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

    /// Whether a directory is leased and small enough to be listed completely.
    fn is_listed_at_once(&self, directory: FileId) -> bool {
        let known = self.leased_state(directory);
        let entries = known.and_then(|state| state.directory.map(|it| it.header.entries));
        entries.is_some_and(|entries| entries <= LISTED_AT_ONCE.into())
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
            let request = Request::ReadDirectory {
                directory,
                bucket,
                after,
                entries_max,
            };
            let server = self.map().bucket_server(directory, bucket);
            match self.ask(server, request).await {
                Ok(Reply::Listing {
                    entries,
                    complete,
                    level,
                }) => {
                    self.learn(directory, bucket, level);
                    let next = continue_after(&entries, complete, bucket, level);
                    return Ok(Listing { entries, next });
                }
                Ok(_) => return Err(UNEXPECTED),
                Err(failure) => self.correct(directory, bucket, failure).await?,
            }
        }
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
