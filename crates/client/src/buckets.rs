//! The buckets of a directory, as far as a client knows them.

use alloc::collections::BTreeMap;
use core::iter;
use futago_base::{BucketStart, NameHash};
use serde::Serialize;

/// The known buckets of a directory and their levels; they always tile all hashes.
///
/// Adjacent buckets of one level form one run. So a directory that was split evenly takes a single
/// entry, however many buckets it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buckets {
    /// The start of each run, and the level of its buckets.
    runs: BTreeMap<BucketStart, u8>,
}

impl Default for Buckets {
    fn default() -> Self {
        Self::at_level(0)
    }
}

impl Buckets {
    /// A directory that was split evenly `level` times.
    pub fn at_level(level: u8) -> Self {
        let level = level.min(BucketStart::LEVEL_MAX);
        Self {
            runs: BTreeMap::from([(BucketStart(0), level)]),
        }
    }

    /// The bucket that covers a hash.
    pub fn bucket_of(&self, hash: NameHash) -> BucketStart {
        BucketStart::covering(self.level_at(BucketStart(hash.0)), hash)
    }

    /// The start of the next bucket; `None` after the last one.
    pub fn end_of(&self, bucket: BucketStart) -> Option<BucketStart> {
        bucket.end(self.level_at(bucket))
    }

    /// The level of the first bucket. In a directory with evenly distributed names, all buckets
    /// have it.
    pub fn first_level(&self) -> u8 {
        self.level_at(BucketStart(0))
    }

    /// All buckets, in order.
    pub fn starts(&self) -> impl Iterator<Item = BucketStart> {
        iter::successors(Some(BucketStart(0)), |start| {
            start.end(self.level_at(*start))
        })
    }

    /// Whether `level` is newer than the known level of a bucket.
    pub fn teaches(&self, bucket: BucketStart, level: u8) -> bool {
        self.level_of(bucket).is_some_and(|known| known < level)
    }

    /// Records that a bucket is at `level`. Each of its splits has made another bucket.
    pub fn learn(&mut self, bucket: BucketStart, level: u8) {
        let level = level.min(BucketStart::LEVEL_MAX);
        let Some(known) = self.level_of(bucket).filter(|&known| known < level) else {
            return;
        };
        for before in known..level {
            self.set(bucket.upper_half(before), before + 1);
        }
        self.set(bucket, level);
    }

    /// The level of a bucket, if there is a bucket with this start.
    fn level_of(&self, bucket: BucketStart) -> Option<u8> {
        let level = self.level_at(bucket);
        bucket.is_range(level).then_some(level)
    }

    /// The level of the bucket that covers a position.
    fn level_at(&self, position: BucketStart) -> u8 {
        let run = self.runs.range(..=position).next_back();
        run.map_or(0, |(_, &level)| level)
    }

    /// Records that a part of a former bucket is a bucket at `level`.
    fn set(&mut self, bucket: BucketStart, level: u8) {
        let end = bucket.end(level);
        let after = end.map(|end| (end, self.level_at(end)));
        self.runs.insert(bucket, level);
        self.runs.extend(after);
        for start in iter::once(bucket).chain(end) {
            self.join(start);
        }
    }

    /// Joins a run with the run before it if both have the same level.
    fn join(&mut self, start: BucketStart) {
        let before = self.runs.range(..start).next_back();
        if before.map(|(_, level)| level) == self.runs.get(&start) {
            self.runs.remove(&start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A reference implementation that stores every bucket separately.
    #[derive(Debug)]
    struct Reference(BTreeMap<BucketStart, u8>);

    impl Reference {
        fn learn(&mut self, bucket: BucketStart, level: u8) {
            let Some(known) = self.0.get(&bucket).copied() else {
                return;
            };
            for before in known..level {
                self.0.insert(bucket.upper_half(before), before + 1);
            }
            self.0.insert(bucket, level.max(known));
        }

        fn buckets(&self) -> Vec<BucketStart> {
            self.0.keys().copied().collect()
        }
    }

    fn assert_agree(buckets: &Buckets, reference: &Reference) {
        assert_eq!(buckets.starts().collect::<Vec<_>>(), reference.buckets());
        for (&start, &level) in &reference.0 {
            let last = NameHash(start.0 + (BucketStart::width(level) - 1));
            assert_eq!(buckets.bucket_of(NameHash(start.0)), start);
            assert_eq!(buckets.bucket_of(last), start);
            assert!(buckets.teaches(start, level + 1));
            assert!(!buckets.teaches(start, level));
        }
        let levels: Vec<_> = buckets.runs.values().collect();
        assert!(levels.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn runs_say_what_single_buckets_say() {
        for seed in 1..50_u64 {
            let mut buckets = Buckets::default();
            let mut reference = Reference(BTreeMap::from([(BucketStart(0), 0)]));
            let mut drawn = seed;
            for _ in 0..40 {
                // Knuth's linear congruential generator; its high bits are the good ones.
                drawn = drawn
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                // At level 6 every drawn position is the start of a bucket; at lower levels some
                // are not.
                let bucket = BucketStart((drawn >> 58) << 57);
                let level = (drawn >> 40) as u8 % 7;
                buckets.learn(bucket, level);
                reference.learn(bucket, level);
                assert_agree(&buckets, &reference);
            }
        }
    }

    #[test]
    fn an_even_split_is_one_run() {
        let mut buckets = Buckets::default();
        for start in BucketStart::tiling(5) {
            buckets.learn(start, 5);
        }
        assert_eq!(buckets, Buckets::at_level(5));
        assert_eq!(buckets.runs.len(), 1);
    }

    #[test]
    fn an_invalid_bucket_teaches_nothing() {
        let mut buckets = Buckets::at_level(1);
        for nowhere in [BucketStart(5), BucketStart(1 << 63), BucketStart(u64::MAX)] {
            assert!(!buckets.teaches(nowhere, 3));
            buckets.learn(nowhere, 3);
        }
        assert_eq!(buckets, Buckets::at_level(1));
        buckets.learn(BucketStart(0), u8::MAX);
        assert_eq!(buckets.bucket_of(NameHash(1)), BucketStart(1));
    }
}
