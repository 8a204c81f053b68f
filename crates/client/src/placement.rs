//! Where a directory's names are, and what its buckets count.

use crate::{
    Buckets, Client, Context,
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

    /// The buckets of a directory, as far as the client knows.
    pub(crate) fn buckets(&self, directory: FileId) -> Arc<Buckets> {
        let memory = self.memory.borrow();
        memory.buckets.get(directory).cloned().unwrap_or_default()
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
            let (server, request) = (self.server_of(&at), request(at.clone()));
            match self.send(server, request, data.clone()).await {
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
        match self.ask_state(directory).await {
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
            let missing: Vec<BucketStart> = self
                .buckets(directory)
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
