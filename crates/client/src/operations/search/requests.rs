//! The requests of a search.

use super::{
    ENTRIES_MAX, ENTRIES_UNDER_WAY, FILES_MAX, PARTS_MAX, REQUESTS_PER_SERVER, Search,
    SearchOptions, Sent, WAITING_MAX,
    frontier::{Candidate, Part},
};
use crate::{Client, Context};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::{future::Future, pin::Pin};
use futago_base::{Errno, FileId, ServerId};
use futago_wire::{
    Failure, Reply, Request,
    search::{Detail, Scan, ScanEnd, Scanned, Verdict},
};

/// A part that was asked for, and the bucket that was taken for it.
pub(super) struct Asked {
    pub part: Part,
    pub scan: Scan,
}

/// A scan, and what to do about a failed one.
pub(super) struct Answered {
    pub asked: Asked,
    pub scanned: Scanned,
    pub again: Option<Result<(), Errno>>,
}

/// A request that is done.
pub(super) enum Done {
    Scans(Vec<Answered>),
    FailedScans(Vec<Asked>, Errno),
    Tests(Vec<(Candidate, Verdict)>),
    FailedTests(Vec<Candidate>, Errno),
}

impl<'a, C: Context> Search<'a, C> {
    /// Sends what may be sent.
    pub(super) fn send(&mut self) {
        // Too many parts wait: the newest are the deepest, so their subtrees go first.
        let is_full = self.frontier.waiting() > WAITING_MAX;
        // Too many files wait for their homes, which may be slower than the servers of their names.
        let is_tested = self.frontier.candidates() <= WAITING_MAX;
        for server in self.frontier.servers() {
            if self.unreachable.contains(&server) {
                self.give_up(server);
            }
            while self.send_tests(server, is_tested) {}
            while !is_full && is_tested && self.send_scans(server, PARTS_MAX) {}
        }
        if is_full
            && is_tested
            && self.under_way.is_empty()
            && let Some(server) = self.frontier.newest()
        {
            self.send_scans(server, 1);
        }
    }

    fn has_room(&self, server: ServerId) -> bool {
        let under_way = self.requests.get(&server).copied();
        under_way.unwrap_or_default() < REQUESTS_PER_SERVER
    }

    /// Has a server test files, if there are any and there is room. With `may_wait`, few files wait
    /// for others that its scans may bring. Returns whether it does.
    fn send_tests(&mut self, server: ServerId, may_wait: bool) -> bool {
        if !self.has_room(server) {
            return false;
        }
        let candidates = self.frontier.take_candidates(server, FILES_MAX, may_wait);
        if candidates.is_empty() {
            return false;
        }
        let (client, options) = (self.client, Arc::clone(&self.options));
        self.start(server, Box::pin(test(client, server, candidates, options)));
        true
    }

    /// Has a server scan parts, if there are any and there is room. Returns whether it does.
    fn send_scans(&mut self, server: ServerId, parts_max: usize) -> bool {
        if !self.has_room(server) {
            return false;
        }
        let asked = self.ask_parts(server, parts_max);
        if asked.is_empty() {
            return false;
        }
        let (client, options) = (self.client, Arc::clone(&self.options));
        self.start(server, Box::pin(scan(client, server, asked, options)));
        true
    }

    fn start(&mut self, server: ServerId, done: Pin<Box<dyn Future<Output = Done> + 'a>>) {
        *self.requests.entry(server).or_default() += 1;
        self.under_way.push(Sent { server, done });
    }

    /// Takes parts for a request. Those whose bucket has turned out to be elsewhere go there.
    fn ask_parts(&mut self, server: ServerId, parts_max: usize) -> Vec<Asked> {
        let mut asked = Vec::new();
        for part in self.frontier.take_parts(server, parts_max) {
            let bucket = part.bucket(self.client);
            if self.client.map().bucket_server(part.directory, bucket) == server {
                let scan = Scan {
                    directory: part.directory,
                    bucket,
                    after: part.after,
                    matches: part.depth >= self.options.depth_min,
                    subdirectories: part.depth < self.options.depth_max,
                };
                asked.push(Asked { part, scan });
            } else {
                self.frontier.add(self.client, part);
            }
        }
        asked
    }

    /// Fails the work of a server that cannot be reached.
    fn give_up(&mut self, server: ServerId) {
        for part in self.frontier.take_parts(server, usize::MAX) {
            self.fail(part.path, Errno::EIO);
        }
        for candidate in self.frontier.take_candidates(server, usize::MAX, false) {
            self.fail(candidate.path, Errno::EIO);
        }
    }
}

/// How many entries one request looks at.
fn entries_max<C: Context>(client: &Client<C>, options: &SearchOptions) -> u32 {
    if options.detail == Detail::Count {
        return ENTRIES_MAX;
    }
    let requests = u32::from(client.map().server_count()) * REQUESTS_PER_SERVER;
    (ENTRIES_UNDER_WAY / requests.max(1)).clamp(64, ENTRIES_MAX)
}

async fn scan<C: Context>(
    client: &Client<C>,
    server: ServerId,
    asked: Vec<Asked>,
    options: Arc<SearchOptions>,
) -> Done {
    let request = Request::Find {
        scans: asked.iter().map(|asked| asked.scan).collect(),
        tests: options.tests.clone(),
        detail: options.detail,
        entries_max: entries_max(client, &options),
    };
    match client.persist(|| client.ask(server, request.clone())).await {
        Ok(Reply::Scanned(scanned)) if scanned.len() == asked.len() => {
            Done::Scans(correct_all(client, asked, scanned).await)
        }
        Ok(_) => Done::FailedScans(asked, Errno::EPROTO),
        Err(errno) => Done::FailedScans(asked, errno),
    }
}

/// Corrects the known buckets where a scan has failed.
async fn correct_all<C: Context>(
    client: &Client<C>,
    asked: Vec<Asked>,
    scanned: Vec<Scanned>,
) -> Vec<Answered> {
    let mut answered = Vec::new();
    let (mut pause, mut is_lost) = (None, false);
    for (asked, scanned) in asked.into_iter().zip(scanned) {
        let corrected = match scanned.end {
            // Homes that do not answer cost the time of one.
            ScanEnd::Failed(_) if is_lost => Some(Err(Errno::EIO)),
            ScanEnd::Failed(failure) => Some(correct(client, &asked, failure).await),
            _ => None,
        };
        is_lost |= corrected == Some(Err(Errno::EIO));
        if corrected == Some(Ok(Wait::Pause)) {
            pause = pause.max(Some(asked.part.failed.map_or(0, |(_, times)| times)));
        }
        answered.push(Answered {
            asked,
            scanned,
            again: corrected.map(|corrected| corrected.map(drop)),
        });
    }
    if let Some(times) = pause {
        client.pause(times).await;
    }
    answered
}

/// When to try again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    No,
    Pause,
}

async fn correct<C: Context>(
    client: &Client<C>,
    asked: &Asked,
    failure: Failure,
) -> Result<Wait, Errno> {
    let Scan {
        directory, bucket, ..
    } = asked.scan;
    match client.correct(directory, bucket, failure).await {
        Ok(()) => Ok(Wait::No),
        Err(Failure::Errno(errno)) => Err(errno),
        Err(Failure::SessionExpired | Failure::Late | Failure::WrongServer) => Err(Errno::EIO),
        Err(_) => Ok(Wait::Pause),
    }
}

async fn test<C: Context>(
    client: &Client<C>,
    server: ServerId,
    candidates: Vec<Candidate>,
    options: Arc<SearchOptions>,
) -> Done {
    let files: Vec<FileId> = candidates.iter().map(|it| it.entry.id).collect();
    // A stat sees what this client has written, too.
    for &id in &files {
        client.flush(id).await;
    }
    let request = Request::TestFiles {
        files,
        tests: options.tests.clone(),
        detail: options.detail,
    };
    match client.persist(|| client.ask(server, request.clone())).await {
        Ok(Reply::Tested(verdicts)) if verdicts.len() == candidates.len() => {
            decide_all(client, candidates, verdicts, &options).await
        }
        Ok(_) => Done::FailedTests(candidates, Errno::EPROTO),
        Err(errno) => Done::FailedTests(candidates, errno),
    }
}

/// Decides about directories whose names are on several servers, and about removed files.
async fn decide_all<C: Context>(
    client: &Client<C>,
    candidates: Vec<Candidate>,
    verdicts: Vec<Verdict>,
    options: &SearchOptions,
) -> Done {
    let mut decided = Vec::new();
    for (candidate, verdict) in candidates.into_iter().zip(verdicts) {
        let verdict = match verdict {
            Verdict::Spread => decide(client, candidate.entry.id, options).await,
            Verdict::Gone => recheck(client, &candidate).await,
            verdict => verdict,
        };
        decided.push((candidate, verdict));
    }
    Done::Tests(decided)
}

async fn decide<C: Context>(
    client: &Client<C>,
    directory: FileId,
    options: &SearchOptions,
) -> Verdict {
    match client.attributes(directory).await {
        Ok(state) if options.tests.admit_attributes(&state.attributes) => {
            Verdict::Passes(Some(Box::new(state.attributes)))
        }
        Ok(_) => Verdict::Fails,
        Err(Errno::ESTALE) => Verdict::Gone,
        Err(_) => Verdict::Spread,
    }
}

/// Checks the name of a file that its home lacks. The name must be removed or replaced, too.
/// If it still leads to the file, the file is lost, which must not go unnoticed.
async fn recheck<C: Context>(client: &Client<C>, candidate: &Candidate) -> Verdict {
    let Candidate {
        directory, name, ..
    } = candidate;
    match client.persist(|| client.ask_place(*directory, name)).await {
        Ok(Ok(found)) if found.entry == candidate.entry => Verdict::Spread,
        Ok(_) | Err(Errno::ENOENT) => Verdict::Gone,
        Err(_) => Verdict::Spread,
    }
}
