//! Buckets of directories: finding names in them, counting, and splitting.

use crate::answer::{Checked, Refusal};
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Key, Kind, Name, NameHash, Timestamp, Value, View,
    record::{Entry, Header, Target},
};
use futago_wire::{Failure, PeerChange, Spot};

/// How many entries one message carries when a bucket moves.
const TRANSFER_ENTRIES: usize = 256;

/// Where a name stands: its bucket, checked to be the right one.
#[derive(Clone, Debug)]
pub struct Place {
    pub directory: FileId,
    pub bucket: BucketStart,
    pub hash: NameHash,
    pub name: Name,
}

impl Place {
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

impl<V: View> Turn<'_, V> {
    /// The header of a bucket that should be here.
    pub fn bucket(&self, directory: FileId, bucket: BucketStart) -> Checked<Header> {
        self.state
            .header(directory, bucket)
            .ok_or(Refusal::Failure(Failure::NoBucket))
    }

    /// The bucket of this server that covers a hash.
    pub fn bucket_of_hash(
        &self,
        directory: FileId,
        hash: NameHash,
    ) -> Option<(BucketStart, Header)> {
        let from = Key::Header(directory, BucketStart(0));
        let to = Key::Header(directory, BucketStart(hash.0 + 1));
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

    /// Finds the place of a name. The bucket must be here, cover the name, and no transaction may be
    /// about to change the name.
    pub fn place(&self, at: &Spot) -> Checked<(Place, Header)> {
        let header = self.bucket(at.directory, at.bucket)?;
        let hash = at.name.hash();
        if !at.bucket.covers(header.level, hash) {
            return Err(Failure::Moved {
                bucket: at.bucket,
                level: header.level,
            }
            .into());
        }
        let place = Place {
            directory: at.directory,
            bucket: at.bucket,
            hash,
            name: at.name.clone(),
        };
        if header.pending > 0 {
            self.unreserved(place.target())?;
        }
        Ok((place, header))
    }

    /// As [`Turn::place`], for a name that comes or goes: the bucket may not be about to vanish.
    pub fn place_to_change(&self, at: &Spot) -> Checked<(Place, Header)> {
        let found = self.place(at)?;
        self.unreserved(Target::Header(at.directory, at.bucket))?;
        Ok(found)
    }

    /// What a name leads to.
    pub fn entry(&self, place: &Place) -> Option<Entry> {
        self.state.get(&place.key()).and_then(Value::entry).copied()
    }

    /// Puts, replaces or removes an entry and counts it in the header.
    pub fn set_entry(&mut self, place: &Place, entry: Option<Entry>) {
        let before = self.entry(place);
        self.replace_entry(place, before, entry);
    }

    /// The same where it is known what the name leads to.
    pub fn replace_entry(&mut self, place: &Place, before: Option<Entry>, after: Option<Entry>) {
        match after {
            Some(entry) => self.state.put(place.key(), entry),
            None => self.state.delete(place.key()),
        }
        self.count_change(place, before, after);
        if before.is_none() {
            self.grown.push((place.directory, place.bucket));
        }
    }

    fn count_change(&mut self, place: &Place, before: Option<Entry>, after: Option<Entry>) {
        let Some(mut header) = self.state.header(place.directory, place.bucket) else {
            return;
        };
        let entries = |entry: Option<Entry>| u64::from(entry.is_some());
        let directories =
            |entry: Option<Entry>| u32::from(entry.is_some_and(|e| e.kind == Kind::Directory));
        header.entries = (header.entries + entries(after)).saturating_sub(entries(before));
        header.subdirectories =
            (header.subdirectories + directories(after)).saturating_sub(directories(before));
        header.modified = header.modified.max(Timestamp::from(self.stamp));
        self.state
            .put(Key::Header(place.directory, place.bucket), header);
    }

    /// Splits the buckets that have grown, once everything else is decided: all steps of a
    /// transaction find their names where they were when it was prepared.
    pub fn split_grown(&mut self) {
        while let Some((directory, bucket)) = self.grown.pop() {
            self.split_if_large(directory, bucket);
        }
    }

    /// Gives the upper half of a bucket that has grown too large to the next server.
    ///
    /// A bucket with names that transactions are about to change waits until they are resolved, so
    /// that locators never move. The new owner knows nothing of the bucket until the last message
    /// has brought its header: at no time do two servers answer for one name.
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
        // While somebody has a lease on its names it grows on; the next name finds it without.
        if is_spread && !self.recall(directory) {
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
        header.entries -= moved.entries;
        header.subdirectories -= moved.subdirectories;
        self.state.put(Key::Header(directory, bucket), header);
        self.grown.push((directory, bucket));
        if self.server.map.bucket_server(directory, upper) == self.server.id() {
            self.state.put(Key::Header(directory, upper), moved);
            self.grown.push((directory, upper));
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

    /// Takes entries, and at last the header, of a bucket that is now this server's.
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
            self.grown.push((directory, bucket));
        }
    }

    /// The header of a bucket that has come, with what is here of it. A directory that lives on in
    /// a new life of its home may have had the same bucket here before, whose names come back; and
    /// entries that this server took in its last life are lost.
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
