//! Buckets of directories: finding names in them, counting, and splitting.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal};
use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Key, Kind, Name, NameHash, Timestamp, Value, View,
    record::{Entry, Header, HeaderSum, Target},
};
use futago_wire::{Failure, PeerChange, Spot};

/// The most entries in one message of a bucket transfer.
const TRANSFER_ENTRIES: usize = 256;

/// The location of a name: its bucket, checked to cover the name.
#[derive(Clone, Debug)]
pub struct EntryLocation {
    pub directory: FileId,
    pub bucket: BucketStart,
    pub hash: NameHash,
    pub name: Name,
}

impl EntryLocation {
    pub fn key(&self) -> Key {
        Key::Entry(self.directory, self.hash, self.name.clone())
    }

    pub fn target(&self) -> Target {
        Target::Entry(self.directory, self.hash, self.name.clone())
    }
}

/// The first hash after a bucket.
pub fn end_of(bucket: BucketStart, header: &Header) -> Option<NameHash> {
    bucket.end(header.level).map(|end| NameHash(end.0))
}

impl<V: View> DecisionBuilder<'_, V> {
    /// The header of a bucket of this server. Errors: `NoBucket`.
    pub fn bucket(&self, directory: FileId, bucket: BucketStart) -> Checked<Header> {
        self.state
            .header(directory, bucket)
            .ok_or(Refusal::Failure(Failure::NoBucket))
    }

    /// The buckets of a directory on this server.
    pub fn buckets_here(&self, directory: FileId) -> impl Iterator<Item = (BucketStart, &Header)> {
        let (from, to) = Key::headers(directory);
        let headers = self.state.range(from, to);
        headers.filter_map(|(key, value)| match (key, value) {
            (Key::Header(_, bucket), Value::Header(header)) => Some((*bucket, header)),
            _ => None,
        })
    }

    /// The sum of the headers of these buckets. Most directories have one bucket, at their home.
    pub fn sum_here(&self, directory: FileId) -> HeaderSum {
        let mut sum = HeaderSum::default();
        match self.state.header(directory, BucketStart(0)) {
            Some(only) if only.level == 0 => sum.add(&only),
            _ => self
                .buckets_here(directory)
                .for_each(|(_, header)| sum.add(header)),
        }
        sum
    }

    /// Checks that no transaction has reserved a name of a directory here. Errors: `Conflict`.
    pub fn no_pending_names(&self, directory: FileId) -> Checked<()> {
        let mut buckets = self.buckets_here(directory);
        buckets.try_for_each(|(bucket, header)| self.no_pending_entries(directory, bucket, header))
    }

    /// Whether no transaction has reserved a name or a bucket of a directory here.
    pub fn is_settled(&self, directory: FileId) -> bool {
        let is_reserved = |bucket| {
            let locator = Key::Locator(Target::Header(directory, bucket));
            self.state.get(&locator).is_some()
        };
        let mut buckets = self.buckets_here(directory);
        buckets.all(|(bucket, header)| header.pending == 0 && !is_reserved(bucket))
    }

    /// The bucket of this server that covers a hash.
    pub fn bucket_of_hash(
        &self,
        directory: FileId,
        hash: NameHash,
    ) -> Option<(BucketStart, Header)> {
        let from = Key::Header(directory, BucketStart(0));
        let to = Key::Header(directory, BucketStart(hash.0.saturating_add(1)));
        let last = self.state.range(from, to).last();
        match last {
            Some((Key::Header(_, bucket), Value::Header(header)))
                if bucket.covers(header.level, hash) =>
            {
                Some((*bucket, *header))
            }
            _ => None,
        }
    }

    /// Finds the location of a name. The bucket must be on this server and cover the name, and no
    /// transaction may have reserved the name.
    pub fn locate(&self, at: &Spot) -> Checked<(EntryLocation, Header)> {
        let header = self.bucket(at.directory, at.bucket)?;
        let hash = at.name.hash();
        if !at.bucket.covers(header.level, hash) {
            return Err(Failure::Moved {
                bucket: at.bucket,
                level: header.level,
            }
            .into());
        }
        let location = EntryLocation {
            directory: at.directory,
            bucket: at.bucket,
            hash,
            name: at.name.clone(),
        };
        if header.pending > 0 {
            self.unreserved(location.target())?;
        }
        Ok((location, header))
    }

    /// Like [`DecisionBuilder::locate`], for a name that is added or removed: no transaction may be
    /// about to remove the bucket.
    pub fn locate_to_change(&self, at: &Spot) -> Checked<(EntryLocation, Header)> {
        let found = self.locate(at)?;
        self.unreserved(Target::Header(at.directory, at.bucket))?;
        Ok(found)
    }

    /// The entry of a name.
    pub fn entry(&self, location: &EntryLocation) -> Option<Entry> {
        self.state
            .get(&location.key())
            .and_then(Value::entry)
            .copied()
    }

    /// Adds, replaces or removes an entry and counts it in the header.
    pub fn set_entry(&mut self, location: &EntryLocation, entry: Option<Entry>) {
        let before = self.entry(location);
        self.replace_entry(location, before, entry);
    }

    /// Like [`DecisionBuilder::set_entry`], with the known present entry of the name.
    pub fn replace_entry(
        &mut self,
        location: &EntryLocation,
        before: Option<Entry>,
        after: Option<Entry>,
    ) {
        match after {
            Some(entry) => self.state.put(location.key(), entry),
            None => self.state.delete(location.key()),
        }
        self.count_change(location, before, after);
        if before.is_none() {
            self.effects
                .grown
                .push((location.directory, location.bucket));
        }
    }

    fn count_change(
        &mut self,
        location: &EntryLocation,
        before: Option<Entry>,
        after: Option<Entry>,
    ) {
        let Some(mut header) = self.state.header(location.directory, location.bucket) else {
            return;
        };
        let entries = |entry: Option<Entry>| u64::from(entry.is_some());
        let directories =
            |entry: Option<Entry>| u32::from(entry.is_some_and(|e| e.kind == Kind::Directory));
        header.entries = header
            .entries
            .saturating_add(entries(after))
            .saturating_sub(entries(before));
        header.subdirectories = header
            .subdirectories
            .saturating_add(directories(after))
            .saturating_sub(directories(before));
        header.modified = header.modified.max(Timestamp::from(self.stamp));
        self.state
            .put(Key::Header(location.directory, location.bucket), header);
    }

    /// Splits the buckets that have grown, at the end of the decision. So all steps of a
    /// transaction find their names where they were at its preparation.
    pub fn split_grown(&mut self) {
        while let Some((directory, bucket)) = self.effects.grown.pop() {
            self.split_if_large(directory, bucket);
        }
    }

    /// Moves the upper half of a bucket that is too large to the next server.
    ///
    /// A bucket with reserved names waits until their transactions are resolved, so that locators
    /// never move. The new owner does not serve the bucket until the last message has brought its
    /// header. So no two servers ever serve one name.
    fn split_if_large(&mut self, directory: FileId, bucket: BucketStart) {
        let Some(header) = self.state.header(directory, bucket) else {
            return;
        };
        let splits = header.entries > self.server.config().split_entries
            && header.pending == 0
            && header.level < BucketStart::LEVEL_MAX
            && self
                .state
                .get(&Key::Locator(Target::Header(directory, bucket)))
                .is_none();
        if !splits {
            return;
        }
        let upper = bucket.upper_half(header.level);
        let is_spread = upper.ordinal() < u64::from(self.server.map.server_count());
        // A bucket of a leased directory stays large until the leases are returned and the next
        // name is added. No client has contended for the directory, so leases need no pause.
        if is_spread && !self.recall(directory, None) {
            self.state.delete(Key::Recall(directory));
            self.split(directory, bucket, header);
        }
    }

    fn split(&mut self, directory: FileId, bucket: BucketStart, mut header: Header) {
        let upper = bucket.upper_half(header.level);
        let end = end_of(bucket, &header);
        header.level += 1;
        let moving = self.entries_between(directory, NameHash(upper.0), end);
        let mut moved = Header {
            entries: 0,
            subdirectories: 0,
            ..header
        };
        for (_, entry) in &moving {
            moved.entries += 1;
            moved.subdirectories += u32::from(entry.kind == Kind::Directory);
        }
        header.entries = header.entries.saturating_sub(moved.entries);
        header.subdirectories = header.subdirectories.saturating_sub(moved.subdirectories);
        self.state.put(Key::Header(directory, bucket), header);
        self.effects.grown.push((directory, bucket));
        if self.server.map.bucket_server(directory, upper) == self.server.id() {
            self.state.put(Key::Header(directory, upper), moved);
            self.effects.grown.push((directory, upper));
        } else {
            self.transfer(directory, upper, moving, moved);
        }
    }

    pub fn entries_between(
        &self,
        directory: FileId,
        first: NameHash,
        end: Option<NameHash>,
    ) -> Vec<(Name, Entry)> {
        let (from, to) = Key::entries(directory, first, end);
        self.state
            .range(from, to)
            .filter_map(|(key, value)| match key {
                Key::Entry(_, _, name) => Some((name.clone(), *value.entry()?)),
                _ => None,
            })
            .collect()
    }

    /// Sends entries to the server of their new bucket, in small messages of the ordered channel.
    fn transfer(
        &mut self,
        directory: FileId,
        bucket: BucketStart,
        entries: Vec<(Name, Entry)>,
        header: Header,
    ) {
        let to = self.server.map.bucket_server(directory, bucket);
        for (name, _) in &entries {
            self.state
                .delete(Key::Entry(directory, name.hash(), name.clone()));
        }
        for part in entries.chunks(TRANSFER_ENTRIES) {
            let entries = part.to_vec();
            self.send(
                to,
                PeerChange::Transfer {
                    directory,
                    bucket,
                    entries,
                    header: None,
                },
            );
        }
        let header = Some(header);
        self.send(
            to,
            PeerChange::Transfer {
                directory,
                bucket,
                entries: Vec::new(),
                header,
            },
        );
    }

    /// Receives entries, and at last the header, of a bucket that moves to this server.
    pub fn receive_bucket(
        &mut self,
        directory: FileId,
        bucket: BucketStart,
        entries: Vec<(Name, Entry)>,
        header: Option<Header>,
    ) {
        for (name, entry) in entries {
            self.state
                .put(Key::Entry(directory, name.hash(), name), entry);
        }
        if let Some(header) = header {
            let header = self.recounted(directory, bucket, header);
            self.state.put(Key::Header(directory, bucket), header);
            self.effects.grown.push((directory, bucket));
        }
    }

    /// The header of a received bucket, with the entries counted on this server. A directory that
    /// survives a new incarnation of its home may already have had this bucket here, whose names
    /// return. Entries that this server had received in its last incarnation are lost.
    fn recounted(&self, directory: FileId, bucket: BucketStart, header: Header) -> Header {
        let known = self.state.header(directory, bucket);
        let end = end_of(bucket, &header);
        let here = self.entries_between(directory, NameHash(bucket.0), end);
        let directories = here.iter();
        let directories = directories.filter(|(_, entry)| entry.kind == Kind::Directory);
        Header {
            entries: here.len() as u64,
            subdirectories: directories.count() as u32,
            pending: known.map_or(header.pending, |known| known.pending),
            ..header
        }
    }
}
