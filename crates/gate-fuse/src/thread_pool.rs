//! The threads of a mount, and the choice of the threads that take requests.
//!
//! Either the client's own thread takes requests; it also continues waiting operations, and polls
//! instead of blocking. Or the worker threads do, which block in `read` between requests. Polling
//! is best for a single caller, which would otherwise wait for a wake-up, and for callers that need
//! servers, because the same thread receives the replies. Workers are best for several callers that
//! need no server, because a caller and a worker alternate on one core.
//!
//! The switch leaves no gap: each worker stops after one more request, and the last one wakes the
//! client's thread.

use crate::call::Shared;
use crate::gateway::Gateway;
use crate::interruption::locked;
use crate::traffic::{Nature, Traffic};
use futago_fuse_kernel::Incoming;
use futago_node::{Futago, cores, time_slices};
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::Notify;

/// Hosts with fewer cores are treated like the measured one with two. There, callers and servers
/// leave no core to a thread that only receives replies, so each worker is bound to a core.
const MANY_CORES: usize = 4;

/// The threads of a mount.
pub struct ThreadPool {
    /// The state that the requests of all threads share.
    pub shared: Arc<Shared>,
    rule: Rule,
    traffic: Traffic,
    /// Whether the workers should take requests.
    workers_wanted: AtomicBool,
    workers: Mutex<Workers>,
    /// Notified when the last worker has stopped.
    returned: Notify,
    report: Sender<io::Result<()>>,
}

/// The rule that selects the threads.
enum Rule {
    /// All threads, always.
    All,
    /// The threads that are best for the current traffic. With few cores, each worker is bound to
    /// one.
    Adaptive { few_cores: Option<Vec<usize>> },
}

/// The threads other than the client's own.
#[derive(Default)]
struct Workers {
    /// The number of workers that take requests.
    at_work: usize,
    /// The connections of the stopped workers.
    idle: Vec<Incoming>,
}

impl ThreadPool {
    /// Starts one thread for each of `incoming`, of which the first is the client's own. They take
    /// requests until the end of the mount, which the returned channel reports.
    ///
    /// # Errors
    /// The connection cannot be made non-blocking.
    pub fn start(
        client: &Futago,
        shared: &Arc<Shared>,
        mut incoming: Vec<Incoming>,
        all_serve: bool,
    ) -> io::Result<Receiver<io::Result<()>>> {
        let (report, ended) = mpsc::channel();
        let idle = incoming.split_off(1);
        let pool = Arc::new(Self {
            shared: Arc::clone(shared),
            rule: Rule::of_host(all_serve),
            traffic: Traffic::default(),
            workers_wanted: AtomicBool::new(all_serve),
            workers: Mutex::new(Workers { at_work: 0, idle }),
            returned: Notify::new(),
            report,
        });
        for incoming in incoming {
            incoming.never_wait()?;
            pool.begin(client, incoming);
        }
        if all_serve {
            pool.start_workers();
        }
        Ok(ended)
    }

    /// Records a request from a thread, 0 for the kernel itself, and whether it has to wait for a
    /// server.
    pub fn note(&self, caller: u32, waits: bool) {
        if let Rule::Adaptive { few_cores } = &self.rule
            && let Some(nature) = self.traffic.note(caller, waits)
        {
            let suits = suits_workers(nature, few_cores.as_ref().map(Vec::len));
            // Workers that are stopping must all stop first, because the client's thread restarts
            // them.
            let may_fit = self.workers_stay() || locked(&self.workers).at_work == 0;
            self.workers_wanted
                .store(suits && may_fit, Ordering::Relaxed);
        }
    }

    /// Starts the workers instead of the client's thread, if they should take requests. Returns
    /// whether they do.
    pub fn hands_over(self: &Arc<Self>) -> bool {
        matches!(self.rule, Rule::Adaptive { .. }) && self.workers_stay() && self.start_workers()
    }

    /// Waits until the client's thread must take requests again.
    pub async fn returned(&self) {
        self.returned.notified().await;
        tracing::debug!("the client's thread takes requests");
    }

    /// Whether a worker continues.
    pub fn workers_stay(&self) -> bool {
        self.workers_wanted.load(Ordering::Relaxed)
    }

    /// Makes the client's thread take requests.
    fn begin(self: &Arc<Self>, client: &Futago, incoming: Incoming) {
        let pool = Arc::clone(self);
        // If the client has stopped, the drop of `End` reports it.
        client.spawn_beside(async move |_| {
            let mut end = End::new(&pool);
            end.outcome = Some(Gateway::new(Arc::clone(&pool)).look(incoming).await);
        });
    }

    /// Starts all stopped workers. Returns whether at least one takes requests.
    fn start_workers(self: &Arc<Self>) -> bool {
        let mut workers = locked(&self.workers);
        for (number, incoming) in mem::take(&mut workers.idle).into_iter().enumerate() {
            let pool = Arc::clone(self);
            let named = thread::Builder::new().name(format!("futago-mount-{number}"));
            match named.spawn(move || pool.sleep(number, incoming)) {
                Ok(_) => workers.at_work += 1,
                Err(error) => {
                    tracing::warn!(%error, "cannot start a thread for the mount; going on without it");
                }
            }
        }
        if workers.at_work > 0 {
            tracing::debug!(threads = workers.at_work, "workers take requests");
        }
        workers.at_work > 0
    }

    /// The loop of a worker.
    fn sleep(self: Arc<Self>, number: usize, incoming: Incoming) {
        time_slices::shorten();
        if let Rule::Adaptive {
            few_cores: Some(cores),
        } = &self.rule
        {
            cores::bind(cores[number % cores.len()]);
        }
        let mut end = End::new(&self);
        end.outcome = match Gateway::new(Arc::clone(&self)).sleep(incoming) {
            Ok(Some(incoming)) => {
                self.leave(incoming);
                None
            }
            Ok(None) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
    }

    fn leave(&self, incoming: Incoming) {
        let mut workers = locked(&self.workers);
        workers.idle.push(incoming);
        workers.at_work -= 1;
        if workers.at_work == 0 {
            self.returned.notify_one();
        }
    }
}

impl Rule {
    fn of_host(all_serve: bool) -> Self {
        if all_serve {
            return Self::All;
        }
        let cores = cores::allowed();
        Self::Adaptive {
            few_cores: (1..MANY_CORES).contains(&cores.len()).then_some(cores),
        }
    }
}

/// Whether workers are best for such requests.
///
/// A single caller gets the fastest replies from a polling thread. Several callers get them from
/// workers, because the kernel alternates a caller and a worker on one core like a call. With few
/// cores there are two exceptions. Callers that need servers are best served by one thread that has
/// requests and replies in one place. So are very many callers, because that thread always finds
/// several requests.
fn suits_workers(nature: Nature, few_cores: Option<usize>) -> bool {
    let suits_few = |cores| !nature.needs_servers && nature.callers as usize <= 2 * cores;
    nature.callers > 1 && few_cores.is_none_or(suits_few)
}

/// Reports the end of a thread, even after a panic or the end of its client.
struct End {
    /// `None` if the worker has only stopped.
    outcome: Option<io::Result<()>>,
    report: Sender<io::Result<()>>,
}

impl End {
    fn new(pool: &ThreadPool) -> Self {
        Self {
            outcome: Some(Err(io::Error::other("the client has stopped"))),
            report: pool.report.clone(),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let Some(outcome) = mem::take(&mut self.outcome) {
            // The receiver may be gone.
            let _ = self.report.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_take_what_they_are_best_at() {
        let suits = |callers, needs_servers, few_cores| {
            let nature = Nature {
                callers,
                needs_servers,
            };
            suits_workers(nature, few_cores)
        };
        for few_cores in [None, Some(2)] {
            assert!(!suits(1, false, few_cores));
            assert!(suits(2, false, few_cores));
            assert_eq!(suits(2, true, few_cores), few_cores.is_none());
            assert_eq!(suits(5, false, few_cores), few_cores.is_none());
        }
        assert!(suits(4, false, Some(2)));
    }
}
