//! Threads for which the kernel walks a path again.
//!
//! The kernel walks a path a second time after `ESTALE` (`retry_estale` in include/linux/namei.h):
//! it looks each name up again, and asks for the operation by the node that it finds. Others may
//! replace that node in between, and there is no third walk. So the mount opens each file that a
//! thread looks up after it met `ESTALE`, and closes it once the thread has used it: until then it
//! outlives its name, as files do that a local file system looks up.

use crate::call::Call;
use crate::interruption::locked;
use futago_base::{Duration, Errno, Time};
use futago_client::Context;
use futago_files::OpenFile;
use futago_fuse_kernel::Operation;
use futago_node::RecordedClient;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The longest time of a walk with its final operation. A node that a thread has looked up and does
/// not use, as with `O_PATH`, is released then.
const WALK_MAX: Duration = Duration::from_secs(10);
/// A walk follows 40 symbolic links at most, and a system call has two paths at most.
const HELD_MAX: usize = 82;
/// The number of every thread in another pid namespace. Their walks cannot be distinguished, so a
/// walk of theirs ends with its time.
const FOREIGN: u32 = 0;

/// A file that is open for a thread that is about to use it.
type Held = Arc<OpenFile>;

/// The second walks, by the threads for which the kernel does them.
#[derive(Debug, Default)]
pub struct RetriedWalks {
    state: Mutex<State>,
    /// Whether any walk has begun, ever.
    has_begun: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    walks: HashMap<u32, Walk>,
    /// Whether a task ends the walks that last too long. One serves all of them.
    is_watched: bool,
}

#[derive(Debug)]
struct Walk {
    /// The walk ends at this time at the latest.
    until: Time,
    held: Vec<Held>,
    /// The kernel has asked for attributes of what is held: an operation follows, or another walk.
    is_reached: bool,
}

/// The consequences of a walk that begins.
#[derive(Debug)]
struct Begun {
    /// The files that were held for the walk before.
    unused: Vec<Held>,
    /// Whether a task must be started that ends late walks.
    needs_watch: bool,
}

impl RetriedWalks {
    /// A thread met `ESTALE`.
    fn begin(&self, thread: u32, now: Time) -> Begun {
        self.has_begun.store(true, Ordering::Relaxed);
        let state = &mut *locked(&self.state);
        let needs_watch = !state.is_watched;
        state.is_watched = true;
        let walk = Walk {
            until: now + WALK_MAX,
            held: Vec::new(),
            is_reached: false,
        };
        let unused = match thread {
            FOREIGN => {
                state.walks.entry(thread).or_insert(walk);
                None
            }
            _ => state.walks.insert(thread, walk),
        };
        Begun {
            unused: unused.map(|walk| walk.held).unwrap_or_default(),
            needs_watch,
        }
    }

    /// Whether what a thread looks up is to be held for it.
    pub fn is_under_way(&self, thread: u32) -> bool {
        // The map costs nothing until a first thread has met `ESTALE`.
        if !self.has_begun.load(Ordering::Relaxed) {
            return false;
        }
        let state = locked(&self.state);
        state
            .walks
            .get(&thread)
            .is_some_and(|walk| !walk.is_reached)
    }

    /// Holds a file until its thread has used it. Returns it if the walk has ended.
    fn hold(&self, thread: u32, held: Held) -> Option<Held> {
        match locked(&self.state).walks.get_mut(&thread) {
            Some(walk) if walk.held.len() < HELD_MAX => {
                walk.held.push(held);
                None
            }
            _ => Some(held),
        }
    }

    /// The kernel asks for attributes of a node for a thread.
    fn reach(&self, thread: u32, node: u64) {
        if thread != FOREIGN
            && let Some(walk) = locked(&self.state).walks.get_mut(&thread)
        {
            walk.is_reached |= walk.held.iter().any(|held| held.id().0 == node);
        }
    }

    fn is_reached(&self, thread: u32) -> bool {
        let state = locked(&self.state);
        let walk = state.walks.get(&thread);
        walk.is_some_and(|walk| walk.is_reached)
    }

    /// A thread has used what it walked to. Returns what was held for it.
    fn end(&self, thread: u32) -> Vec<Held> {
        if thread == FOREIGN {
            return Vec::new();
        }
        let walk = locked(&self.state).walks.remove(&thread);
        walk.map(|walk| walk.held).unwrap_or_default()
    }

    /// Ends the walks that last too long. Returns what was held for them, and when the next of the
    /// others does.
    fn end_late(&self, now: Time) -> (Vec<Held>, Option<Time>) {
        let state = &mut *locked(&self.state);
        let late = state.walks.extract_if(|_, walk| walk.until <= now);
        let held = late.flat_map(|(_, walk)| walk.held).collect();
        let next = state.walks.values().map(|walk| walk.until).min();
        state.is_watched = next.is_some();
        (held, next)
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
        let begun = walks.begin(thread, call.client.context().now());
        let_go(call, begun.unused);
        if begun.needs_watch {
            end_late_walks(call);
        }
        return;
    }
    if !walks.has_begun.load(Ordering::Relaxed) {
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
    let client = Arc::clone(&call.client);
    let starter = &call.shared.starter;
    starter.spawn(async move { close_all(&client, held).await });
}

/// Starts the task that ends walks that last too long, until there are none.
fn end_late_walks(call: &Call) {
    let (shared, client) = (Arc::clone(&call.shared), Arc::clone(&call.client));
    call.shared.starter.spawn(async move {
        let mut pause = Some(WALK_MAX);
        while let Some(span) = pause {
            client.context().sleep(span).await;
            let now = client.context().now();
            let (held, next) = shared.retried_walks.end_late(now);
            pause = next.map(|next| next.since(now));
            close_all(&client, held).await;
        }
    });
}

async fn close_all(client: &RecordedClient, held: Vec<Held>) {
    for held in held {
        let id = held.id();
        let close = pin!(client.files().close(client.core(), held));
        if let Err(error) = client.context().poll_with_lock(close).await {
            tracing::debug!(%id, %error, "cannot close a file that was held for a walk");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{FileId, SessionId};
    use futago_files::OpenFiles;

    const THREAD: u32 = 7;
    const NOW: Time = Time(1_000);

    fn held(number: u64) -> Held {
        OpenFiles::default().add(FileId(number), SessionId(1))
    }

    fn files(held: &[Held]) -> Vec<u64> {
        held.iter().map(|held| held.id().0).collect()
    }

    #[test]
    fn files_are_held_from_a_stale_answer_until_they_are_used() {
        let walks = RetriedWalks::default();
        assert!(!walks.is_under_way(THREAD));
        assert!(
            walks.hold(THREAD, held(5)).is_some(),
            "no walk is under way"
        );
        assert!(walks.begin(THREAD, NOW).unused.is_empty());
        assert!(walks.is_under_way(THREAD) && !walks.is_under_way(THREAD + 1));
        assert!(walks.hold(THREAD, held(5)).is_none());
        walks.reach(THREAD, 6);
        assert!(walks.is_under_way(THREAD), "a directory on the way");
        walks.reach(THREAD, 5);
        assert!(!walks.is_under_way(THREAD));
        assert_eq!(files(&walks.begin(THREAD, NOW).unused), [5]);
        assert!(walks.is_under_way(THREAD), "another walk");
        walks.hold(THREAD, held(6));
        assert_eq!(files(&walks.end(THREAD)), [6]);
        assert!(walks.end(THREAD).is_empty());
    }

    #[test]
    fn one_task_ends_all_walks_that_last_too_long() {
        let walks = RetriedWalks::default();
        assert!(walks.begin(THREAD, NOW).needs_watch);
        for thread in 0..100 {
            assert!(!walks.begin(thread, NOW).needs_watch);
        }
        walks.end(THREAD);
        let later = NOW + Duration::from_secs(1);
        assert!(!walks.begin(THREAD, later).needs_watch);
        walks.hold(THREAD, held(5));
        walks.hold(THREAD + 1, held(6));
        let (late, next) = walks.end_late(NOW + WALK_MAX);
        assert_eq!((files(&late), next), (vec![6], Some(later + WALK_MAX)));
        let (late, next) = walks.end_late(later + WALK_MAX);
        assert_eq!((files(&late), next), (vec![5], None));
        assert!(walks.begin(THREAD, later).needs_watch);
    }

    #[test]
    fn a_foreign_thread_does_not_end_the_walk_of_another() {
        let walks = RetriedWalks::default();
        walks.begin(FOREIGN, NOW);
        walks.hold(FOREIGN, held(5));
        walks.reach(FOREIGN, 5);
        assert!(walks.is_under_way(FOREIGN));
        let later = NOW + Duration::from_secs(1);
        assert!(walks.begin(FOREIGN, later).unused.is_empty());
        assert!(walks.end(FOREIGN).is_empty());
        assert_eq!(files(&walks.end_late(NOW + WALK_MAX).0), [5]);
    }

    #[test]
    fn a_walk_holds_no_more_than_it_can_meet() {
        let walks = RetriedWalks::default();
        walks.begin(THREAD, NOW);
        let refused = (0..100).filter_map(|number| walks.hold(THREAD, held(number)));
        assert_eq!(refused.count(), 100 - HELD_MAX);
    }
}
