//! Threads for which the kernel walks a path again.
//!
//! The kernel walks a path a second time after `ESTALE` (`retry_estale` in include/linux/namei.h):
//! it looks each name up again, and asks for the operation by the node that it finds. Others may
//! replace that node in between, and there is no third walk. So the mount opens each file that a
//! thread looks up after it met `ESTALE`, and closes it once the thread has used it: until then it
//! outlives its name, as files do that a local file system looks up.

use crate::call::{Call, Shared};
use crate::interruption::locked;
use crate::operations::data::synchronize_file;
use futago_base::{Duration, Errno, FileId, SessionId};
use futago_client::Context;
use futago_fuse_kernel::Operation;
use futago_node::RecordedClient;
use std::collections::HashMap;
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The longest time of a walk with its final operation. A node that a thread has looked up and does
/// not use, as with `O_PATH`, is released then.
const WALK_MAX: Duration = Duration::from_secs(10);
/// A walk follows 40 symbolic links at most, and a system call has two paths at most.
const HELD_MAX: usize = 82;

/// A file that is open for a thread that is about to use it.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The file.
    pub file: FileId,
    /// The session that has it open.
    pub session: SessionId,
}

/// The second walks, by the threads for which the kernel does them.
#[derive(Debug, Default)]
pub struct RetriedWalks {
    walks: Mutex<HashMap<u32, Walk>>,
    /// How many have begun, ever.
    begun: AtomicU64,
}

#[derive(Debug, Default)]
struct Walk {
    number: u64,
    held: Vec<Held>,
    /// The kernel has asked for attributes of what is held: an operation follows, or another walk.
    is_reached: bool,
}

impl RetriedWalks {
    /// A thread met `ESTALE`. Returns the number of the walk that begins, and what was held for the
    /// one before.
    fn begin(&self, thread: u32) -> (u64, Vec<Held>) {
        let mut walks = locked(&self.walks);
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let walk = Walk {
            number,
            ..Walk::default()
        };
        let last = walks.insert(thread, walk);
        (number, last.map(|walk| walk.held).unwrap_or_default())
    }

    /// Whether what a thread looks up is to be held for it.
    pub fn is_under_way(&self, thread: u32) -> bool {
        // Nobody pays for the map until a first thread has met `ESTALE`.
        if self.begun.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let walks = locked(&self.walks);
        walks.get(&thread).is_some_and(|walk| !walk.is_reached)
    }

    /// Holds a file until its thread has used it. Returns it if the walk has ended.
    fn hold(&self, thread: u32, held: Held) -> Option<Held> {
        match locked(&self.walks).get_mut(&thread) {
            Some(walk) if walk.held.len() < HELD_MAX => {
                walk.held.push(held);
                None
            }
            _ => Some(held),
        }
    }

    /// The kernel asks for attributes of a node for a thread.
    fn reach(&self, thread: u32, node: u64) {
        if let Some(walk) = locked(&self.walks).get_mut(&thread) {
            walk.is_reached |= walk.held.iter().any(|held| held.file.0 == node);
        }
    }

    fn is_reached(&self, thread: u32) -> bool {
        let walks = locked(&self.walks);
        walks.get(&thread).is_some_and(|walk| walk.is_reached)
    }

    /// A thread's walk is over. Returns what was held for it.
    fn end(&self, thread: u32) -> Vec<Held> {
        let walk = locked(&self.walks).remove(&thread);
        walk.map(|walk| walk.held).unwrap_or_default()
    }

    /// The same if it is the walk with this number.
    fn end_late(&self, thread: u32, number: u64) -> Vec<Held> {
        let mut walks = locked(&self.walks);
        match walks.get_mut(&thread) {
            Some(walk) if walk.number == number => {
                let held = mem::take(&mut walk.held);
                walks.remove(&thread);
                held
            }
            _ => Vec::new(),
        }
    }
}

/// The effect of a request on the walk of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The walk goes on with it.
    Within,
    /// It asks for attributes, which may be all, or what an operation needs to begin.
    Reaches,
    /// It is the operation for which the path was walked.
    Ends,
}

impl Step {
    /// The effect of an operation.
    pub const fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Lookup { .. } | Operation::ReadLink => Self::Within,
            Operation::GetAttributes { .. } | Operation::Statx { .. } => Self::Reaches,
            _ => Self::Ends,
        }
    }
}

/// Takes note of a request that is done.
pub fn note<T>(call: &Call, step: Step, outcome: Result<&T, &Errno>) {
    let (walks, thread) = (&call.shared.retried_walks, call.header.pid);
    if outcome.err() == Some(&Errno::ESTALE) {
        let (number, unused) = walks.begin(thread);
        let_go(call, unused);
        return end_later(call, number);
    }
    if walks.begun.load(Ordering::Relaxed) == 0 {
        return;
    }
    match step {
        Step::Within if walks.is_reached(thread) => let_go(call, walks.end(thread)),
        Step::Within => {}
        Step::Reaches => walks.reach(thread, call.header.node),
        Step::Ends => let_go(call, walks.end(thread)),
    }
}

/// Holds a file for the thread that has looked it up.
pub fn hold(call: &Call, held: Held) {
    let refused = call.shared.retried_walks.hold(call.header.pid, held);
    let_go(call, refused.into_iter().collect());
}

fn let_go(call: &Call, held: Vec<Held>) {
    if held.is_empty() {
        return;
    }
    let (shared, client) = (Arc::clone(&call.shared), Arc::clone(&call.client));
    let starter = &call.shared.starter;
    starter.spawn(async move { close_all(&shared, &client, held).await });
}

fn end_later(call: &Call, number: u64) {
    let (shared, client) = (Arc::clone(&call.shared), Arc::clone(&call.client));
    let thread = call.header.pid;
    call.shared.starter.spawn(async move {
        client.context().sleep(WALK_MAX).await;
        let held = shared.retried_walks.end_late(thread, number);
        close_all(&shared, &client, held).await;
    });
}

async fn close_all(shared: &Shared, client: &RecordedClient, held: Vec<Held>) {
    for held in held {
        let close = pin!(close(shared, client, held));
        if let Err(error) = client.context().poll_with_lock(close).await {
            tracing::debug!(?held, %error, "cannot close a file that was held for a walk");
        }
    }
}

async fn close(shared: &Shared, client: &RecordedClient, held: Held) -> Result<(), Errno> {
    // Only writers of the file get the error of lost data.
    synchronize_file(shared, client, held.file).await;
    let core = client.core();
    let close = pin!(core.close(held.file));
    let closed = core.in_session(held.session, close).await;
    if let Err(why) = closed {
        shared.unsynchronized.lost(held.file, why);
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: u32 = 7;

    fn held(number: u64) -> Held {
        Held {
            file: FileId(number),
            session: SessionId(1),
        }
    }

    fn files(held: &[Held]) -> Vec<u64> {
        held.iter().map(|held| held.file.0).collect()
    }

    #[test]
    fn files_are_held_from_a_stale_answer_until_they_are_used() {
        let walks = RetriedWalks::default();
        assert!(!walks.is_under_way(THREAD));
        assert!(
            walks.hold(THREAD, held(5)).is_some(),
            "no walk is under way"
        );
        assert!(walks.begin(THREAD).1.is_empty());
        assert!(walks.is_under_way(THREAD) && !walks.is_under_way(THREAD + 1));
        assert!(walks.hold(THREAD, held(5)).is_none());
        walks.reach(THREAD, 6);
        assert!(walks.is_under_way(THREAD), "a directory on the way");
        walks.reach(THREAD, 5);
        assert!(!walks.is_under_way(THREAD));
        assert_eq!(files(&walks.begin(THREAD).1), [5]);
        assert!(walks.is_under_way(THREAD), "another walk");
        walks.hold(THREAD, held(6));
        assert_eq!(files(&walks.end(THREAD)), [6]);
        assert!(walks.end(THREAD).is_empty());
    }

    #[test]
    fn a_walk_ends_late_only_if_it_is_the_same() {
        let walks = RetriedWalks::default();
        let (first, _) = walks.begin(THREAD);
        walks.end(THREAD);
        let (second, _) = walks.begin(THREAD);
        walks.hold(THREAD, held(5));
        assert!(walks.end_late(THREAD, first).is_empty());
        assert_eq!(files(&walks.end_late(THREAD, second)), [5]);
    }

    #[test]
    fn a_walk_holds_no_more_than_it_can_meet() {
        let walks = RetriedWalks::default();
        walks.begin(THREAD);
        let refused = (0..100).filter_map(|number| walks.hold(THREAD, held(number)));
        assert_eq!(refused.count(), 100 - HELD_MAX);
    }
}
