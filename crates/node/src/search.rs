//! Searches: the blocking interface of parallel find.

use crate::{Futago, RecordedClient, blocking::FileSystem};
use bytes::Bytes;
use futago_base::{
    Errno, FileId, Kind, NameHash, ServerId, Timestamp,
    search::{Case, Comparison, Kinds, Test},
};
use futago_client::{FoundFile, Search, SearchBatch, SearchFailure, SearchOptions, first_of};
use futago_wire::{ListedEntry, search::Detail};
use std::{io, pin::pin, vec};
use tokio::sync::mpsc;

/// The most results that wait to be taken; further requests wait, too.
const BATCHES_MAX: usize = 4;

/// A search to start. Tests mean what those of GNU find mean, and a file must pass all
/// of them.
///
/// ```no_run
/// use futago_base::{Kind, search::Comparison};
/// use futago_node::{Cluster, Options, blocking::FileSystem, search::Find};
/// use std::{io, path::Path};
///
/// fn main() -> io::Result<()> {
///     let cluster = Cluster::load(Path::new("c.toml")).map_err(io::Error::other)?;
///     let files = FileSystem::connect(&cluster, Options::default())?;
///     let large = Find::below(b"/results")
///         .name(b"*.h5")
///         .kinds([Kind::File])
///         .size(1 << 20, Comparison::More(16));
///     for found in files.find(large) {
///         println!("{}", found?.path.escape_ascii());
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Find {
    path: Bytes,
    options: SearchOptions,
}

impl Find {
    /// Everything below a path, and what is at the path itself. A symbolic link at the end of the
    /// path is not followed.
    #[must_use]
    pub fn below(path: &[u8]) -> Self {
        Self {
            path: Bytes::copy_from_slice(path),
            options: SearchOptions::default(),
        }
    }

    /// Files that pass a test, too.
    #[must_use]
    pub fn test(mut self, test: Test) -> Self {
        self.options.tests.0.push(test);
        self
    }

    /// Files whose names match a glob.
    #[must_use]
    pub fn name(self, glob: &[u8]) -> Self {
        let (glob, case) = (Bytes::copy_from_slice(glob), Case::Matters);
        self.test(Test::Name { glob, case })
    }

    /// Files whose names match a glob, whatever the case of letters.
    #[must_use]
    pub fn name_ignoring_case(self, glob: &[u8]) -> Self {
        let (glob, case) = (Bytes::copy_from_slice(glob), Case::Ignored);
        self.test(Test::Name { glob, case })
    }

    /// Files of these kinds.
    #[must_use]
    pub fn kinds(self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        let kinds = kinds.into_iter().fold(Kinds::default(), Kinds::with);
        self.test(Test::Kind(kinds))
    }

    /// Files whose size, in units of so many bytes and rounded up, compares so.
    #[must_use]
    pub fn size(self, unit_bytes: u64, units: Comparison) -> Self {
        self.test(Test::Size { unit_bytes, units })
    }

    /// Files that were modified after a time.
    #[must_use]
    pub fn modified_after(self, time: Timestamp) -> Self {
        self.test(Test::ModifiedAfter(time))
    }

    /// Files that were modified before a time.
    #[must_use]
    pub fn modified_before(self, time: Timestamp) -> Self {
        self.test(Test::ModifiedBefore(time))
    }

    /// Files of a user.
    #[must_use]
    pub fn owner(self, uid: u32) -> Self {
        self.test(Test::Owner(uid))
    }

    /// Files that are so deep at least; what is at the path itself has depth 0.
    #[must_use]
    pub const fn depth_min(mut self, depth: u32) -> Self {
        self.options.depth_min = depth;
        self
    }

    /// Files that are so deep at most.
    #[must_use]
    pub const fn depth_max(mut self, depth: u32) -> Self {
        self.options.depth_max = depth;
        self
    }

    /// Files with their attributes.
    #[must_use]
    pub const fn with_attributes(mut self) -> Self {
        self.options.detail = Detail::Attributes;
        self
    }

    /// Only the number of files.
    #[must_use]
    pub const fn counted(mut self) -> Self {
        self.options.detail = Detail::Count;
        self
    }

    /// Begins the search.
    pub fn start(self, futago: &Futago) -> Batches {
        let (results, receiver) = mpsc::channel(BATCHES_MAX);
        let Self { path, options } = self;
        futago.spawn(move |client| async move {
            match client.resolve(&path, false).await {
                Ok(start) => {
                    let search = client.search(&path, &start.attributes, options);
                    deliver(search, &results).await;
                }
                Err(errno) => {
                    // The receiver may be gone.
                    let _ = results.send(failed_start(path, errno)).await;
                }
            }
        });
        Batches(receiver)
    }
}

/// The result of a search that cannot begin.
fn failed_start(path: Bytes, errno: Errno) -> SearchBatch {
    SearchBatch {
        failures: Vec::from([SearchFailure { path, errno }]),
        ..SearchBatch::default()
    }
}

/// Sends the results of a search until nobody takes them any more.
async fn deliver<C: futago_client::Context>(
    mut search: Search<'_, C>,
    results: &mpsc::Sender<SearchBatch>,
) {
    loop {
        let next = {
            let (next, closed) = (pin!(search.next()), pin!(results.closed()));
            first_of(next, closed).await.flatten()
        };
        let Some(batch) = next else {
            break;
        };
        if results.send(batch).await.is_err() {
            break;
        }
    }
    search.end().await;
}

/// The results of a search as they arrive, of many files each. Dropping it ends the search.
#[derive(Debug)]
pub struct Batches(mpsc::Receiver<SearchBatch>);

impl Iterator for Batches {
    type Item = SearchBatch;

    fn next(&mut self) -> Option<SearchBatch> {
        self.0.blocking_recv()
    }
}

/// The files of a search, one by one. An error is a part of the tree that could not be searched;
/// the search goes on after it. Dropping it ends the search.
#[derive(Debug)]
pub struct FoundFiles {
    batches: Batches,
    files: vec::IntoIter<FoundFile>,
    failures: vec::IntoIter<SearchFailure>,
}

impl Iterator for FoundFiles {
    type Item = io::Result<FoundFile>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(file) = self.files.next() {
                return Some(Ok(file));
            }
            if let Some(failure) = self.failures.next() {
                return Some(Err(error_of(&failure)));
            }
            let batch = self.batches.next()?;
            self.files = batch.files.into_iter();
            self.failures = batch.failures.into_iter();
        }
    }
}

/// The error names the path, and has the kind of the error number.
fn error_of(failure: &SearchFailure) -> io::Error {
    let error = io::Error::from_raw_os_error(failure.errno.number());
    let path = failure.path.escape_ascii();
    io::Error::new(error.kind(), format!("searching {path}: {error}"))
}

impl FileSystem {
    /// Searches at the servers. The order of the files means nothing. Not to be used within an
    /// asynchronous operation, because it blocks.
    pub fn find(&self, find: Find) -> FoundFiles {
        FoundFiles {
            batches: find.start(self.futago()),
            files: Vec::new().into_iter(),
            failures: Vec::new().into_iter(),
        }
    }

    /// The entries of a directory that one server has, by the number of the server. Over all
    /// servers, each entry comes exactly once, unless the directory changes meanwhile. So several
    /// processes can share the work on one directory.
    ///
    /// # Errors
    /// Those of `readdir`; `EINVAL` if there is no such server.
    pub fn read_directory_of_server(
        &self,
        path: &[u8],
        server: u16,
    ) -> io::Result<Vec<ListedEntry>> {
        self.run(async |client| {
            let directory = client.resolve(path, true).await?.attributes;
            if directory.kind != Kind::Directory {
                return Err(Errno::ENOTDIR);
            }
            if server >= client.map().server_count() {
                return Err(Errno::EINVAL);
            }
            list_all(client, directory.id, ServerId(server)).await
        })
    }

    /// How many files a search finds.
    ///
    /// # Errors
    /// The first part of the tree that could not be searched.
    pub fn count(&self, find: Find) -> io::Result<u64> {
        let mut matches = 0;
        for batch in find.counted().start(self.futago()) {
            if let Some(failure) = batch.failures.first() {
                return Err(io::Error::from_raw_os_error(failure.errno.number()));
            }
            matches += batch.matches;
        }
        Ok(matches)
    }
}

/// All entries of a directory that a server has.
async fn list_all(
    client: &RecordedClient,
    directory: FileId,
    server: ServerId,
) -> Result<Vec<ListedEntry>, Errno> {
    const PAGE_ENTRIES: u32 = 2048;
    let (mut all, mut after) = (Vec::new(), NameHash(0));
    loop {
        let page = client.list_here(directory, server, after, PAGE_ENTRIES);
        let page = page.await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        after = last.name.hash();
        all.extend(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_part_of_the_tree_that_is_missing() {
        let error = error_of(&SearchFailure {
            path: Bytes::from_static(b"/a/\xff"),
            errno: Errno::ENOENT,
        });
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(
            error.to_string().starts_with("searching /a/\\xff: "),
            "{error}"
        );
    }
}
