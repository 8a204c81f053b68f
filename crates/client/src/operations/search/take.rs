//! Takes the replies of a search.

use super::{
    Search,
    frontier::{Candidate, Part},
    join,
    requests::{Answered, Asked, Done},
};
use crate::Context;
use alloc::vec::Vec;
use futago_base::{BucketStart, Errno, NameHash, ServerId};
use futago_wire::search::{FoundEntry, ScanEnd, Subdirectory, Verdict};

impl<C: Context> Search<'_, C> {
    pub(super) fn take(&mut self, server: ServerId, done: Done) {
        match done {
            Done::Scans(answered) => answered.into_iter().for_each(|it| self.take_scan(it)),
            Done::FailedScans(asked, errno) => {
                self.note_errno(server, errno);
                for Asked { part, .. } in asked {
                    self.fail(part.path, errno);
                }
            }
            Done::Tests(tested) => self.take_tests(tested),
            Done::FailedTests(candidates, errno) => {
                self.note_errno(server, errno);
                for candidate in candidates {
                    self.fail(candidate.path, errno);
                }
            }
        }
    }

    fn note_errno(&mut self, server: ServerId, errno: Errno) {
        if errno == Errno::EIO {
            self.unreachable.insert(server);
        }
    }

    fn take_scan(&mut self, answered: Answered) {
        let Answered {
            asked: Asked { part, scan },
            scanned,
            again,
        } = answered;
        self.go_on(&part, scan.bucket, scanned.end, again);
        let directories = scanned.subdirectories.into_iter();
        directories.for_each(|it| self.descend(&part, it));
        self.batch.matches += scanned.matches - scanned.found.len() as u64;
        for found in scanned.found {
            let path = join(&part.path, found.name.as_bytes());
            self.found(path, found.entry, found.attributes);
        }
        for undecided in scanned.undecided {
            self.leave_undecided(&part, undecided);
        }
    }

    /// Adds what is left of a part.
    fn go_on(
        &mut self,
        part: &Part,
        bucket: BucketStart,
        end: ScanEnd,
        again: Option<Result<(), Errno>>,
    ) {
        let rest = match end {
            ScanEnd::Bucket { level } => {
                self.client.learn(part.directory, bucket, level);
                let end = bucket.end(level);
                end.and_then(|end| part.rest(NameHash(end.0 - 1)))
            }
            ScanEnd::After { after, level } => {
                self.client.learn(part.directory, bucket, level);
                part.rest(after)
            }
            ScanEnd::NotBegun => Some(part.clone()),
            ScanEnd::Failed(_) => self.try_again(part, again),
        };
        if let Some(rest) = rest {
            self.frontier.add(self.client, rest);
        }
    }

    /// A part to try again, unless its directory is gone or it has failed for too long.
    fn try_again(&mut self, part: &Part, again: Option<Result<(), Errno>>) -> Option<Part> {
        let now = self.client.context().now();
        let (since, times) = part.failed.unwrap_or((now, 0));
        let is_over = now.since(since) >= self.client.config().retry;
        match again {
            // A directory that was removed since has nothing to find.
            Some(Err(Errno::ENOENT)) => None,
            Some(Err(errno)) => {
                self.fail(part.path.clone(), errno);
                None
            }
            _ if is_over => {
                self.fail(part.path.clone(), Errno::EIO);
                None
            }
            _ => Some(Part {
                failed: Some((since, times + 1)),
                ..part.clone()
            }),
        }
    }

    fn descend(&mut self, part: &Part, into: Subdirectory) {
        let part = Part {
            path: join(&part.path, into.name.as_bytes()),
            directory: into.id,
            after: NameHash(0),
            end: None,
            depth: part.depth.saturating_add(1),
            failed: None,
        };
        self.frontier.add(self.client, part);
    }

    fn leave_undecided(&mut self, part: &Part, undecided: FoundEntry) {
        let FoundEntry { name, entry, .. } = undecided;
        let candidate = Candidate {
            path: join(&part.path, name.as_bytes()),
            directory: part.directory,
            name,
            entry,
        };
        let home = self.client.map().home(entry.id);
        self.frontier.add_candidate(home, candidate);
    }

    fn take_tests(&mut self, tested: Vec<(Candidate, Verdict)>) {
        for (Candidate { path, entry, .. }, verdict) in tested {
            match verdict {
                Verdict::Passes(attributes) => self.found(path, entry, attributes),
                Verdict::Fails | Verdict::Gone => {}
                Verdict::Spread => self.fail(path, Errno::EIO),
            }
        }
    }
}
