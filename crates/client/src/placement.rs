//! Where a directory's names are: its buckets, as far as a client knows them.

use crate::{
    Client, Context,
    client::{GONE, UNEXPECTED, all_or_failure},
    join_all,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};
use futago_base::{
    BucketStart, Errno, FileId, Name, NameHash, Payload, ServerId,
    record::{Header, HeaderSum},
};
use futago_wire::{Failure, Reply, Request, Spot};
use serde::Serialize;

/// The buckets of a directory and their levels; they always tile all hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buckets(BTreeMap<BucketStart, u8>);

impl Default for Buckets {
    fn default() -> Self {
        Self(BTreeMap::from([(BucketStart(0), 0)]))
    }
}

impl Buckets {
    /// The bucket that covers a hash.
    pub fn bucket_of(&self, hash: NameHash) -> BucketStart {
        let covering = self.0.range(..=BucketStart(hash.0)).next_back();
        covering.map_or(BucketStart(0), |(&start, _)| start)
    }

    /// A directory that was split evenly, `level` times over.
    pub fn at_level(level: u8) -> Self {
        let buckets = BucketStart::tiling(level);
        Self(buckets.map(|bucket| (bucket, level)).collect())
    }

    /// All buckets, in order.
    pub fn starts(&self) -> impl Iterator<Item = BucketStart> {
        self.0.keys().copied()
    }

    /// Whether it is news that a bucket is at `level`.
    fn teaches(&self, bucket: BucketStart, level: u8) -> bool {
        self.0.get(&bucket).is_some_and(|&known| known < level)
    }

    /// A bucket is at `level`: each of its splittings has made another one.
    pub fn learn(&mut self, bucket: BucketStart, level: u8) {
        let Some(known) = self.0.get(&bucket).copied() else {
            return;
        };
        for before in known..level.min(BucketStart::LEVEL_MAX) {
            self.0.insert(bucket.upper_half(before), before + 1);
        }
        if level > known {
            self.0.insert(bucket, level);
        }
    }
}

impl<C: Context> Client<C> {
    /// Remembers a bucket's level.
    pub(crate) fn learn(&self, directory: FileId, bucket: BucketStart, level: u8) {
        let mut memory = self.memory.borrow_mut();
        let known = memory.buckets.get(directory).cloned();
        // A directory of one bucket, as nearly all are, needs no memory.
        if known.is_none() && level == 0 {
            return;
        }
        let mut buckets = known.unwrap_or_default();
        if buckets.teaches(bucket, level) {
            Arc::make_mut(&mut buckets).learn(bucket, level);
            memory.buckets.insert(directory, buckets);
        }
    }

    /// The bucket that covers a hash, as far as the client knows.
    pub(crate) fn bucket_of(&self, directory: FileId, hash: NameHash) -> BucketStart {
        let memory = self.memory.borrow();
        let known = memory.buckets.get(directory);
        known.map_or(BucketStart(0), |buckets| buckets.bucket_of(hash))
    }

    /// The server of a bucket.
    pub(crate) fn server_of(&self, at: &Spot) -> ServerId {
        self.map().bucket_server(at.directory, at.bucket)
    }

    /// Asks the server of a name. Learns from it where the name is if it is not there. The inner
    /// result is what that server says; the outer error comes from elsewhere, such as the home of a
    /// directory that is gone.
    pub(crate) async fn ask_at(
        &self,
        directory: FileId,
        name: &Name,
        request: impl Fn(Spot) -> Request,
        data: &Payload,
    ) -> Result<(Spot, Result<Reply, Errno>), Failure> {
        loop {
            let at = Spot {
                directory,
                bucket: self.bucket_of(directory, name.hash()),
                name: name.clone(),
            };
            let answer = self.send(self.server_of(&at), request(at.clone()), data.clone());
            match answer.await {
                Ok((reply, _)) => return Ok((at, Ok(reply))),
                Err(Failure::Errno(errno)) => return Ok((at, Err(errno))),
                Err(failure) => self.correct(directory, at.bucket, failure).await?,
            }
        }
    }

    /// Makes use of a failure that tells that a bucket is not what the client took it for. Fails
    /// with anything else.
    pub(crate) async fn correct(
        &self,
        directory: FileId,
        bucket: BucketStart,
        failure: Failure,
    ) -> Result<(), Failure> {
        match failure {
            Failure::Moved {
                bucket: asked,
                level,
            } if asked == bucket => {
                let before = self.memory.borrow().buckets.get(directory).cloned();
                self.learn(directory, bucket, level);
                // An answer that teaches nothing must not be asked for again and again.
                if self.memory.borrow().buckets.get(directory) == before.as_ref() {
                    return Err(failure);
                }
                Ok(())
            }
            Failure::NoBucket => {
                self.relearn(directory).await?;
                Err(failure)
            }
            other => Err(other),
        }
    }

    /// Starts again from what the directory's home knows. Fails if the directory is gone.
    async fn relearn(&self, directory: FileId) -> Result<(), Failure> {
        self.memory.borrow_mut().buckets.remove(directory);
        match self.state_at_home(directory).await {
            Ok(state) if state.directory.is_some() => Ok(()),
            Ok(_) => Err(Errno::ENOTDIR.into()),
            Err(GONE) => Err(Errno::ENOENT.into()),
            Err(failure) => Err(failure),
        }
    }

    /// The headers of all buckets of a directory, asked side by side until they tile all hashes.
    pub(crate) async fn headers(
        &self,
        directory: FileId,
        first: Header,
    ) -> Result<Vec<(BucketStart, Header)>, Failure> {
        self.learn(directory, BucketStart(0), first.level);
        let mut headers = BTreeMap::from([(BucketStart(0), first)]);
        loop {
            let buckets = self.memory.borrow().buckets.get(directory).cloned();
            let missing: Vec<BucketStart> = buckets
                .unwrap_or_default()
                .starts()
                .filter(|start| !headers.contains_key(start))
                .collect();
            if missing.is_empty() {
                return Ok(headers.into_iter().collect());
            }
            let asked = missing
                .into_iter()
                .map(|start| self.header(directory, start));
            headers.extend(all_or_failure(join_all(asked).await)?);
        }
    }

    /// What all buckets of a directory count together: each server adds up its own. The level of the
    /// first bucket tells about how many there are; where there are few, only their servers are asked.
    pub(crate) async fn header_sum(
        &self,
        directory: FileId,
        first_level: u8,
    ) -> Result<HeaderSum, Failure> {
        let servers = self.map().servers().count() as u64;
        if first_level < 16 && 1 << first_level < servers {
            let buckets = BucketStart::tiling(first_level);
            let server_of = |start| self.map().bucket_server(directory, start);
            let asked: BTreeSet<ServerId> = buckets.map(server_of).collect();
            let sum = self.sum_at(directory, asked).await?;
            if sum.is_whole() {
                return Ok(sum);
            }
        }
        let sum = self.sum_at(directory, self.map().servers()).await?;
        if sum.is_whole() {
            Ok(sum)
        } else {
            Err(Failure::Changed)
        }
    }

    async fn sum_at(
        &self,
        directory: FileId,
        servers: impl IntoIterator<Item = ServerId>,
    ) -> Result<HeaderSum, Failure> {
        let request = Request::SumHeaders(directory);
        let asked = servers
            .into_iter()
            .map(|server| self.ask(server, request.clone()));
        let mut whole = HeaderSum::default();
        for reply in all_or_failure(join_all(asked).await)? {
            match reply {
                Reply::HeaderSum(sum) => whole.join(&sum),
                _ => return Err(UNEXPECTED),
            }
        }
        Ok(whole)
    }

    async fn header(
        &self,
        directory: FileId,
        bucket: BucketStart,
    ) -> Result<(BucketStart, Header), Failure> {
        let server = self.map().bucket_server(directory, bucket);
        let request = Request::GetHeader { directory, bucket };
        match self.ask(server, request).await {
            Ok(Reply::Header(header)) => {
                self.learn(directory, bucket, header.level);
                Ok((bucket, header))
            }
            Ok(_) => Err(UNEXPECTED),
            Err(failure) => {
                self.correct(directory, bucket, failure).await?;
                Err(Failure::Changed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_tells_of_all_buckets_that_were_split_off() {
        let mut buckets = Buckets::default();
        buckets.learn(BucketStart(0), 2);
        buckets.learn(BucketStart(1 << 62), 2);
        let expected = [(0, 2), (1 << 61, 2), (1 << 62, 2), (3 << 61, 2)];
        let expected = expected.map(|(start, level)| (BucketStart(start), level));
        assert_eq!(buckets, Buckets(BTreeMap::from(expected)));
        assert_eq!(
            buckets.bucket_of(NameHash((3 << 61) + 1)),
            BucketStart(3 << 61)
        );
        assert_eq!(
            buckets.bucket_of(NameHash((3 << 61) - 1)),
            BucketStart(1 << 62)
        );
    }

    #[test]
    fn what_is_older_or_unknown_teaches_nothing() {
        let mut buckets = Buckets::default();
        buckets.learn(BucketStart(0), 1);
        let before = buckets.clone();
        buckets.learn(BucketStart(0), 0);
        buckets.learn(BucketStart(5), 3);
        assert_eq!(buckets, before);
    }
}
