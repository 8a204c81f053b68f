//! Buckets: their removal with the directory, and their copies of its attributes.

use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal};
use crate::operations::make_directory::inherited;
use crate::state::bucket::end_of;
use alloc::{vec, vec::Vec};
use futago_base::{
    BucketStart, Errno, FileId, Key, NameHash, Value, View,
    record::{Header, Target},
};
use futago_wire::{Failure, step::Inherited};

const FIRST: BucketStart = BucketStart(0);

impl<V: View> DecisionBuilder<'_, V> {
    /// Checks that the bucket has the level that the client knows; otherwise the client misses
    /// other buckets. Errors: `Changed`.
    pub fn check_header(
        &self,
        directory: FileId,
        bucket: BucketStart,
        level: u8,
    ) -> Checked<Vec<Target>> {
        self.unreserved(Target::Header(directory, bucket))?;
        if self.bucket(directory, bucket)?.level != level {
            return Err(Failure::Changed.into());
        }
        Ok(vec![Target::Header(directory, bucket)])
    }

    /// Checks that no new node is about to inherit from the present header.
    pub fn check_set_header(
        &self,
        directory: FileId,
        bucket: BucketStart,
        level: u8,
    ) -> Checked<Vec<Target>> {
        let (_, targets) = self.check_settled(directory, bucket, level)?;
        Ok(targets)
    }

    /// Like [`check_header`](Self::check_header), for a bucket in which no transaction makes an
    /// entry. Returns the header too.
    fn check_settled(
        &self,
        directory: FileId,
        bucket: BucketStart,
        level: u8,
    ) -> Checked<(Header, Vec<Target>)> {
        let targets = self.check_header(directory, bucket, level)?;
        let header = self.bucket(directory, bucket)?;
        self.no_pending_entries(directory, bucket, &header)?;
        Ok((header, targets))
    }

    /// Checks the inherited attributes. They stay until the transaction is decided, because a
    /// change of the header waits for the entry that the transaction has reserved.
    pub fn check_inherited(
        &self,
        directory: FileId,
        bucket: BucketStart,
        expected: Inherited,
    ) -> Checked<Vec<Target>> {
        self.unreserved(Target::Header(directory, bucket))?;
        if inherited(&self.bucket(directory, bucket)?) != expected {
            return Err(Failure::Changed.into());
        }
        Ok(Vec::new())
    }

    pub fn check_remove_bucket(
        &self,
        directory: FileId,
        bucket: BucketStart,
        level: u8,
    ) -> Checked<Vec<Target>> {
        if directory == FileId::ROOT {
            return Err(Errno::EBUSY.into());
        }
        let (header, mut targets) = self.check_settled(directory, bucket, level)?;
        if header.entries > 0 {
            return Err(Errno::ENOTEMPTY.into());
        }
        if bucket == FIRST {
            self.unreserved(Target::Inode(directory))?;
            targets.push(Target::Inode(directory));
        }
        Ok(targets)
    }

    pub fn check_not_empty(
        &self,
        directory: FileId,
        bucket: BucketStart,
        level: u8,
    ) -> Checked<Vec<Target>> {
        let (header, targets) = self.check_settled(directory, bucket, level)?;
        if header.entries == 0 {
            return Err(Failure::Changed.into());
        }
        Ok(targets)
    }

    /// Checks that no transaction has reserved a name of the bucket, because such a transaction
    /// decides whether the bucket is empty. Errors: `Conflict`.
    pub fn no_pending_entries(
        &self,
        directory: FileId,
        bucket: BucketStart,
        header: &Header,
    ) -> Checked<()> {
        if header.pending == 0 {
            return Ok(());
        }
        self.no_locators(directory, NameHash(bucket.0), end_of(bucket, header))
    }

    /// Checks that no transaction has reserved a name with a hash from `first` up to `end`. Errors:
    /// `Conflict`.
    pub fn no_locators(
        &self,
        directory: FileId,
        first: NameHash,
        end: Option<NameHash>,
    ) -> Checked<()> {
        let (from, to) = Key::entry_locators(directory, first, end);
        let locator = self
            .state
            .range(from, to)
            .find_map(|(_, value)| value.locator().copied());
        locator.map_or(Ok(()), |transaction| Err(Refusal::Conflict(transaction)))
    }

    pub fn install_remove_bucket(&mut self, directory: FileId, bucket: BucketStart) {
        self.state.delete(Key::Header(directory, bucket));
        if bucket == FIRST {
            self.remove_node(directory);
        }
    }

    pub fn install_header(
        &mut self,
        directory: FileId,
        bucket: BucketStart,
        change: impl FnOnce(&mut Header),
    ) {
        let key = Key::Header(directory, bucket);
        if let Some(Value::Header(mut header)) = self.state.get(&key).cloned() {
            change(&mut header);
            self.state.put(key, header);
        }
    }
}
