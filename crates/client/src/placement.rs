//! The location of names, and the counts of buckets.

use crate::{
    Buckets, Client, Context,
    client::{GONE, UNEXPECTED, all_or_failure},
    join_all,
    leases::PartId,
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
use futago_wire::{DirectoryState, Failure, Reply, Request, Spot};

impl<C: Context> Client<C> {
    /// Caches the level of a bucket.
    pub(crate) fn learn(&self, directory: FileId, bucket: BucketStart, level: u8) {
        let mut memory = self.memory.borrow_mut();
        let known = memory.buckets.get(directory).cloned();
        // A directory of one bucket, as nearly all are, needs no entry.
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

    /// Asks the server of a name, and follows redirections to another bucket. The inner result is
    /// the reply of that server. The outer error comes from elsewhere, such as the home of a
    /// removed directory.
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
            match self.request(server, request, data.clone()).await {
                Ok((reply, _)) => return Ok((at, Ok(reply))),
                Err(Failure::Errno(errno)) => return Ok((at, Err(errno))),
                Err(failure) => self.correct(directory, at.bucket, failure).await?,
            }
        }
    }

    /// Corrects the known buckets after a failure that reports another bucket. Fails with any other
    /// failure.
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
                // A reply without new information must not cause a repeated request.
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

    /// Starts again from the state at the home of the directory. Errors: `ENOENT` if the directory
    /// is removed.
    async fn relearn(&self, directory: FileId) -> Result<(), Failure> {
        self.memory.borrow_mut().buckets.remove(directory);
        match self.ask_state(directory).await {
            Ok(state) if state.directory.is_some() => Ok(()),
            Ok(_) => Err(Errno::ENOTDIR.into()),
            Err(GONE) => Err(Errno::ENOENT.into()),
            Err(failure) => Err(failure),
        }
    }

    /// The headers of all buckets of a directory, requested in parallel until they tile all hashes.
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

    /// The sum of the headers of a directory. The home has replied with its own buckets; each other
    /// server sums its buckets, unless they are known under a lease. The level of the first bucket
    /// shows about how many buckets there are. If there are few, only their servers are asked.
    pub(crate) async fn header_sum(
        &self,
        id: FileId,
        directory: &DirectoryState,
    ) -> Result<HeaderSum, Failure> {
        let level = directory.header.level;
        if level < 16 && 1 << level < u64::from(self.map().server_count()) {
            let server_of = |start| self.map().bucket_server(id, start);
            let asked: BTreeSet<ServerId> = BucketStart::tiling(level).map(server_of).collect();
            let sum = self.sum_at(id, directory.here, asked).await?;
            if sum.is_whole() {
                return Ok(sum);
            }
        }
        let servers = self.map().servers();
        let sum = self.sum_at(id, directory.here, servers).await?;
        if sum.is_whole() {
            Ok(sum)
        } else {
            Err(Failure::Changed)
        }
    }

    /// Adds the buckets on some servers to those on the home.
    async fn sum_at(
        &self,
        directory: FileId,
        here: HeaderSum,
        servers: impl IntoIterator<Item = ServerId>,
    ) -> Result<HeaderSum, Failure> {
        let home = self.map().home(directory);
        let others = servers.into_iter().filter(|server| *server != home);
        let asked = others.map(|server| self.buckets_at(directory, server));
        let mut whole = here;
        for sum in all_or_failure(join_all(asked).await)? {
            whole.join(&sum);
        }
        Ok(whole)
    }

    /// The sum of the buckets on a server, from the cache under a lease.
    async fn buckets_at(&self, node: FileId, server: ServerId) -> Result<HeaderSum, Failure> {
        let (part, now) = (PartId { node, server }, self.context().now());
        if let Some(known) = self
            .with_leases(|leases| leases.buckets(part, now))
            .flatten()
        {
            return Ok(known);
        }
        match self.ask(server, Request::SumHeaders(node)).await? {
            Reply::Buckets(buckets) => Ok(buckets.sum),
            _ => Err(UNEXPECTED),
        }
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
