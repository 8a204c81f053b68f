//! Searches a tree for files that pass tests, at all servers side by side.
//!
//! The client walks the tree, and the servers filter. A request carries many parts of directories
//! that its server holds. The reply brings what matches, the subdirectories to search next, and
//! where to continue. Entries whose attributes matter and are elsewhere are tested by their homes
//! in a second request. So no server is asked for what it does not have, and only what matches
//! travels.

mod frontier;
mod requests;
mod take;

use crate::{Client, Context};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};
use bytes::Bytes;
use core::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context as Task, Poll},
};
use frontier::{Frontier, Part};
use futago_base::{Attributes, Errno, Kind, NameHash, ServerId, record::Entry, search::Tests};
use futago_wire::search::Detail;
use requests::Done;

/// The most requests under way to one server. While the client takes one reply, the server works on
/// the next request.
const REQUESTS_PER_SERVER: u32 = 2;
/// The most parts of directories in one request.
const PARTS_MAX: usize = 256;
/// The most files that are tested by one request.
const FILES_MAX: usize = 1024;
/// The most entries that one request looks at.
const ENTRIES_MAX: u32 = 2048;
/// About the most entries in all replies under way, so that many servers do not fill the memory.
const ENTRIES_UNDER_WAY: u32 = 1 << 18;
/// Beyond so many waiting parts, the search goes deeper before it goes on.
const WAITING_MAX: usize = 1 << 16;
/// So many results are handed over before more requests are sent, also while replies keep coming.
const BATCH_RESULTS: usize = ENTRIES_MAX as usize;

/// The tests of a search, and the wanted results.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// A file that passes all of them matches.
    pub tests: Tests,
    /// The wanted information about files that match.
    pub detail: Detail,
    /// The least depth of a file that matches; the start has depth 0.
    pub depth_min: u32,
    /// The largest depth.
    pub depth_max: u32,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            tests: Tests::default(),
            detail: Detail::default(),
            depth_min: 0,
            depth_max: u32::MAX,
        }
    }
}

/// A file that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path: that of the start, and the names below it.
    pub path: Bytes,
    /// The file.
    pub entry: Entry,
    /// Its attributes, if they are wanted.
    pub attributes: Option<Box<Attributes>>,
}

/// A part of the tree that could not be searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchFailure {
    /// The directory, or the file whose attributes are not known.
    pub path: Bytes,
    /// The reason: `EIO` if a server cannot be reached.
    pub errno: Errno,
}

/// Some results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchBatch {
    /// How many files match.
    pub matches: u64,
    /// These files, unless only their number is wanted. The order means nothing.
    pub files: Vec<FoundFile>,
    /// The parts of the tree that are missing.
    pub failures: Vec<SearchFailure>,
}

impl SearchBatch {
    const fn is_empty(&self) -> bool {
        self.matches == 0 && self.files.is_empty() && self.failures.is_empty()
    }

    const fn is_full(&self) -> bool {
        self.files.len() + self.failures.len() >= BATCH_RESULTS
    }
}

/// A search under way. It sends requests only within [`Search::next`], so that results that nobody
/// takes do not accumulate. [`Search::end`] ends it early.
pub struct Search<'a, C> {
    client: &'a Client<C>,
    options: Arc<SearchOptions>,
    frontier: Frontier,
    under_way: Vec<Sent<'a>>,
    requests: BTreeMap<ServerId, u32>,
    /// Servers that could not be reached; they are not asked again.
    unreachable: BTreeSet<ServerId>,
    batch: SearchBatch,
}

/// A request under way.
struct Sent<'a> {
    server: ServerId,
    done: Pin<Box<dyn Future<Output = Done> + 'a>>,
}

impl<C> fmt::Debug for Search<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").finish_non_exhaustive()
    }
}

impl<C: Context> Client<C> {
    /// Searches the tree below a file that was resolved from a path.
    ///
    /// A file that is there from the beginning to the end of the search is found exactly once,
    /// unless it or a directory above it is moved meanwhile. Attributes are those that
    /// [`Client::attributes`] would return at some moment of the search.
    pub fn search(&self, path: &[u8], start: &Attributes, options: SearchOptions) -> Search<'_, C> {
        let mut search = Search {
            client: self,
            options: Arc::new(options),
            frontier: Frontier::default(),
            under_way: Vec::new(),
            requests: BTreeMap::new(),
            unreachable: BTreeSet::new(),
            batch: SearchBatch::default(),
        };
        search.begin(path, start);
        search
    }
}

impl<C: Context> Search<'_, C> {
    /// The next results; `None` when the search has ended.
    pub async fn next(&mut self) -> Option<SearchBatch> {
        poll_fn(|task| self.poll_next(task)).await
    }

    /// Ends the search: waits for the requests under way, and drops what they find.
    pub async fn end(mut self) {
        self.frontier = Frontier::default();
        while !self.under_way.is_empty() {
            poll_fn(|task| match self.poll_requests(task) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
    }

    fn begin(&mut self, path: &[u8], start: &Attributes) {
        let path = Bytes::copy_from_slice(path);
        let options = Arc::clone(&self.options);
        if options.depth_min == 0 && options.tests.admit(last_name(&path), start) {
            let (id, kind) = (start.id, start.kind);
            let attributes = Some(Box::new(*start));
            self.found(path.clone(), Entry { id, kind }, attributes);
        }
        if start.kind == Kind::Directory && options.depth_max > 0 {
            let part = Part {
                path,
                directory: start.id,
                after: NameHash(0),
                end: None,
                depth: 1,
                failed: None,
            };
            self.frontier.add(self.client, part);
        }
    }

    /// Notes a file that matches.
    fn found(&mut self, path: Bytes, entry: Entry, attributes: Option<Box<Attributes>>) {
        self.batch.matches += 1;
        if self.options.detail != Detail::Count {
            let wanted = self.options.detail == Detail::Attributes;
            self.batch.files.push(FoundFile {
                path,
                entry,
                attributes: attributes.filter(|_| wanted),
            });
        }
    }

    fn fail(&mut self, path: Bytes, errno: Errno) {
        self.batch.failures.push(SearchFailure { path, errno });
    }

    fn poll_next(&mut self, task: &mut Task<'_>) -> Poll<Option<SearchBatch>> {
        while !self.batch.is_full() {
            self.send();
            if !self.poll_requests(task) {
                break;
            }
        }
        if !self.batch.is_empty() {
            return Poll::Ready(Some(core::mem::take(&mut self.batch)));
        }
        match self.under_way.is_empty() {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    /// Takes the replies that have arrived. Returns whether there were any.
    fn poll_requests(&mut self, task: &mut Task<'_>) -> bool {
        let mut done = Vec::new();
        self.under_way.retain_mut(|sent| {
            let polled = sent.done.as_mut().poll(task);
            match polled {
                Poll::Ready(reply) => {
                    done.push((sent.server, reply));
                    false
                }
                Poll::Pending => true,
            }
        });
        let any = !done.is_empty();
        for (server, reply) in done {
            self.requests.entry(server).and_modify(|count| *count -= 1);
            self.take(server, reply);
        }
        any
    }
}

/// The name that a path ends in; `/` for the root, as GNU find tests it.
fn last_name(path: &[u8]) -> &[u8] {
    let mut names = path.rsplit(|&byte| byte == b'/');
    names.find(|name| !name.is_empty()).unwrap_or(b"/")
}

/// The path of a name in a directory.
fn join(directory: &[u8], name: &[u8]) -> Bytes {
    let separator: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
    Bytes::from([directory, separator, name].concat())
}
