//! The threads of a mount: who takes requests, who joins and who leaves.
//!
//! The first one is the client's own, which also goes on with all that waits.

use crate::call::Shared;
use crate::gateway::Gateway;
use crate::interruption::locked;
use crate::pace::{Advice, Pace};
use futago_fuse_kernel::Incoming;
use futago_node::Futago;
use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

/// Which thread of a mount.
pub type ThreadIndex = usize;

/// The client's thread, which takes requests as long as the mount lasts.
const FIRST: ThreadIndex = 0;

/// The threads.
pub struct Crew {
    /// What the requests of all threads share.
    pub shared: Arc<Shared>,
    /// The threads that take no requests, and where they would take them from.
    idle: Mutex<BTreeMap<ThreadIndex, Incoming>>,
    /// Whether every thread takes requests all the time.
    all_serve: bool,
    /// How many threads take requests, for the log.
    serving: AtomicIsize,
    report: Sender<io::Result<()>>,
}

impl Crew {
    /// Has one thread for each of `incoming`, or as many as are needed, take requests until the end of
    /// the mount. Tells of the end.
    pub fn start(
        client: &Futago,
        shared: &Arc<Shared>,
        incoming: Vec<Incoming>,
        all_serve: bool,
    ) -> Receiver<io::Result<()>> {
        let (report, ended) = mpsc::channel();
        let at_once = if all_serve { incoming.len() } else { 1 };
        let crew = Arc::new(Self {
            shared: Arc::clone(shared),
            idle: Mutex::new(incoming.into_iter().enumerate().collect()),
            all_serve,
            serving: AtomicIsize::new(0),
            report,
        });
        crew.begin(client);
        for _ in 1..at_once {
            crew.call();
        }
        ended
    }

    /// Acts on how many requests a thread has found. Returns whether the thread goes on.
    pub fn follow(self: &Arc<Self>, thread: ThreadIndex, pace: &mut Pace, found: usize) -> bool {
        match pace.found(found) {
            Advice::GoOn => true,
            Advice::Call => {
                self.call();
                true
            }
            Advice::Leave => thread == FIRST || self.all_serve,
        }
    }

    /// Has the client's thread take requests.
    fn begin(self: &Arc<Self>, client: &Futago) {
        let Some(incoming) = locked(&self.idle).remove(&FIRST) else {
            return;
        };
        self.count("a thread joins", 1);
        let crew = Arc::clone(self);
        // If the client has stopped, the end tells of it.
        client.spawn_beside(async move |_| {
            let mut end = End::new(&crew);
            let gateway = Gateway::new(FIRST, Arc::clone(&crew));
            end.outcome = crew.ended(FIRST, gateway.serve(incoming).await);
        });
    }

    /// Has the next idle thread take requests, if there is one.
    fn call(self: &Arc<Self>) {
        let Some((thread, incoming)) = locked(&self.idle).pop_first() else {
            return;
        };
        self.count("a thread joins", 1);
        let crew = Arc::clone(self);
        let work = move || {
            let mut end = End::new(&crew);
            let gateway = Gateway::new(thread, Arc::clone(&crew));
            end.outcome = crew.ended(thread, gateway.serve_alone(incoming));
        };
        let named = thread::Builder::new().name(format!("futago-mount-{thread}"));
        if let Err(error) = named.spawn(work) {
            tracing::warn!(%error, "cannot start another thread for the mount; going on without it");
            self.count("a thread leaves", -1);
            locked(&self.idle).clear();
        }
    }

    /// A thread takes no more requests. Returns how the mount has ended, if it has.
    fn ended(
        &self,
        thread: ThreadIndex,
        outcome: io::Result<Option<Incoming>>,
    ) -> Option<io::Result<()>> {
        self.count("a thread leaves", -1);
        match outcome {
            Ok(Some(incoming)) => {
                locked(&self.idle).insert(thread, incoming);
                None
            }
            Ok(None) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    }

    fn count(&self, what: &str, change: isize) {
        let threads = self.serving.fetch_add(change, Ordering::Relaxed) + change;
        tracing::debug!(threads, "{what}");
    }
}

/// Tells how a thread has ended, also if it panics or its client stops.
struct End {
    /// `None` if it has only left.
    outcome: Option<io::Result<()>>,
    report: Sender<io::Result<()>>,
}

impl End {
    fn new(crew: &Crew) -> Self {
        Self {
            outcome: Some(Err(io::Error::other("the client has stopped"))),
            report: crew.report.clone(),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let Some(outcome) = mem::take(&mut self.outcome) {
            // Nobody may be left to hear of it.
            let _ = self.report.send(outcome);
        }
    }
}
