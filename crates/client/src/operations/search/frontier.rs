//! The parts of directories that are still to be searched, and the files still to be tested.

use crate::{Client, Context};
use alloc::{collections::BTreeMap, vec::Vec};
use bytes::Bytes;
use futago_base::{BucketStart, FileId, Name, NameHash, ServerId, Time, record::Entry};

/// Names of a directory whose hashes are larger than `after`, and smaller than `end` if there is
/// one. The parts of a directory never overlap.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The path of the directory.
    pub path: Bytes,
    pub directory: FileId,
    pub after: NameHash,
    pub end: Option<BucketStart>,
    /// The depth of the names.
    pub depth: u32,
    /// Since when and how often the part could not be searched.
    pub failed: Option<(Time, u32)>,
}

impl Part {
    /// The bucket of the first names, as far as the client knows.
    pub fn bucket<C: Context>(&self, client: &Client<C>) -> BucketStart {
        client.bucket_of(self.directory, NameHash(self.after.0 + 1))
    }

    /// The rest of the part after a hash; `None` if nothing is left.
    pub fn rest(&self, after: NameHash) -> Option<Self> {
        let is_left = self.end.is_none_or(|end| after.0 + 1 < end.0) && after.0 < HASH_MAX;
        is_left.then(|| Self {
            after,
            failed: None,
            ..self.clone()
        })
    }
}

/// The largest possible hash of a name.
const HASH_MAX: u64 = (1 << 63) - 1;

/// A file whose home must test it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub path: Bytes,
    pub directory: FileId,
    pub name: Name,
    pub entry: Entry,
}

/// Work by the server that does it.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    /// The parts, the newest last, with their age. The newest go first, so that few wait.
    parts: BTreeMap<ServerId, Vec<(u64, Part)>>,
    candidates: BTreeMap<ServerId, Vec<Candidate>>,
    waiting: usize,
    candidates_waiting: usize,
    added: u64,
}

impl Frontier {
    /// How many parts wait.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many files wait for their homes.
    pub const fn candidates(&self) -> usize {
        self.candidates_waiting
    }

    /// Adds a part, cut at the buckets that the client knows.
    pub fn add<C: Context>(&mut self, client: &Client<C>, part: Part) {
        let mut rest = Some(part);
        while let Some(part) = rest {
            let bucket = part.bucket(client);
            let end = client.buckets(part.directory).end_of(bucket);
            let next = end.and_then(|end| part.rest(NameHash(end.0 - 1)));
            let end = if next.is_some() { end } else { part.end };
            let server = client.map().bucket_server(part.directory, bucket);
            self.put(server, Part { end, ..part });
            rest = next;
        }
    }

    fn put(&mut self, server: ServerId, part: Part) {
        self.added += 1;
        self.waiting += 1;
        let parts = self.parts.entry(server).or_default();
        parts.push((self.added, part));
    }

    pub fn add_candidate(&mut self, home: ServerId, candidate: Candidate) {
        self.candidates_waiting += 1;
        self.candidates.entry(home).or_default().push(candidate);
    }

    /// The servers for which there is work.
    pub fn servers(&self) -> Vec<ServerId> {
        let mut servers: Vec<ServerId> = self.parts.keys().copied().collect();
        servers.extend(self.candidates.keys());
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// The server of the newest part.
    pub fn newest(&self) -> Option<ServerId> {
        let age = |parts: &Vec<(u64, Part)>| parts.last().map(|(age, _)| *age);
        let newest = self.parts.iter().max_by_key(|(_, parts)| age(parts));
        newest.map(|(server, _)| *server)
    }

    /// Takes up to `most` of the newest parts of a server.
    pub fn take_parts(&mut self, server: ServerId, most: usize) -> Vec<Part> {
        let taken = take_last(&mut self.parts, server, most);
        self.waiting -= taken.len();
        taken.into_iter().map(|(_, part)| part).collect()
    }

    /// Takes up to `most` candidates of a server. With `may_wait`, fewer are left while parts wait
    /// there, which may bring more.
    pub fn take_candidates(
        &mut self,
        server: ServerId,
        most: usize,
        may_wait: bool,
    ) -> Vec<Candidate> {
        let waiting = self.candidates.get(&server).map_or(0, Vec::len);
        if may_wait && waiting < most && self.parts.contains_key(&server) {
            return Vec::new();
        }
        let taken = take_last(&mut self.candidates, server, most);
        self.candidates_waiting -= taken.len();
        taken
    }
}

/// Takes up to `most` of the last items of a server. A server without items has no entry.
fn take_last<T>(of: &mut BTreeMap<ServerId, Vec<T>>, server: ServerId, most: usize) -> Vec<T> {
    let Some(items) = of.get_mut(&server) else {
        return Vec::new();
    };
    let taken = items.split_off(items.len().saturating_sub(most));
    if items.is_empty() {
        of.remove(&server);
    }
    taken
}
