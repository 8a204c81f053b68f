//! The threads of a mount, and which of them take requests.
//!
//! Either the client's own thread does, which also goes on with all that waits, and looks for requests instead of sleeping; or the
//! others do, which sleep in between. They change places by themselves: sleepers have no further turn once they have
//! taken one request more, and the last of them tells the client's thread to go on.

use crate::call::Shared;
use crate::gateway::Gateway;
use crate::interruption::locked;
use crate::traffic::{Nature, Traffic};
use futago_fuse_kernel::Incoming;
use futago_node::{Futago, cores};
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::Notify;

/// Hosts with fewer cores than these are treated as those with two, on which all was measured: callers and servers leave no core to a thread that
/// only hears servers, and sleepers have a core each.
const MANY_CORES: usize = 4;

/// The threads.
pub struct Crew {
    /// What the requests of all threads share.
    pub shared: Arc<Shared>,
    rule: Rule,
    traffic: Traffic,
    /// Whether the sleepers are to take requests.
    sleepers_fit: AtomicBool,
    sleepers: Mutex<Sleepers>,
    /// Told when the last sleeper has left.
    returned: Notify,
    report: Sender<io::Result<()>>,
}

/// Who takes requests when.
enum Rule {
    /// All threads, always.
    All,
    /// Who suits what comes. Of few cores, the sleepers have one each.
    WhoSuits { few_cores: Option<Vec<usize>> },
}

/// The threads other than the client's own.
#[derive(Default)]
struct Sleepers {
    /// How many take requests.
    at_work: usize,
    /// Where the others would take them from.
    idle: Vec<Incoming>,
}

impl Crew {
    /// Has one thread for each of `incoming`, of which the first is the client's own, take requests until the end of the mount. Tells
    /// of the end.
    ///
    /// # Errors
    /// When the connection cannot be told not to wait.
    pub fn start(
        client: &Futago,
        shared: &Arc<Shared>,
        mut incoming: Vec<Incoming>,
        all_serve: bool,
    ) -> io::Result<Receiver<io::Result<()>>> {
        let (report, ended) = mpsc::channel();
        let idle = incoming.split_off(1);
        let crew = Arc::new(Self {
            shared: Arc::clone(shared),
            rule: Rule::of_host(all_serve),
            traffic: Traffic::default(),
            sleepers_fit: AtomicBool::new(all_serve),
            sleepers: Mutex::new(Sleepers { at_work: 0, idle }),
            returned: Notify::new(),
            report,
        });
        for incoming in incoming {
            incoming.never_wait()?;
            crew.begin(client, incoming);
        }
        if all_serve {
            crew.wake_sleepers();
        }
        Ok(ended)
    }

    /// A request has come from that thread, 0 if from the kernel itself, and has or has not to wait for a server.
    pub fn note(&self, caller: u32, waits: bool) {
        if let Rule::WhoSuits { few_cores } = &self.rule
            && let Some(nature) = self.traffic.note(caller, waits)
        {
            let suits = suits_sleepers(nature, few_cores.as_ref().map(Vec::len));
            // All who are leaving leave, as it is the client's thread that calls them again.
            let may_fit = self.sleepers_stay() || locked(&self.sleepers).at_work == 0;
            self.sleepers_fit.store(suits && may_fit, Ordering::Relaxed);
        }
    }

    /// Has the sleepers take requests in the place of the client's thread, if they are to. Returns whether they do.
    pub fn hands_over(self: &Arc<Self>) -> bool {
        matches!(self.rule, Rule::WhoSuits { .. }) && self.sleepers_stay() && self.wake_sleepers()
    }

    /// Waits until the client's thread is to take requests again.
    pub async fn returned(&self) {
        self.returned.notified().await;
        tracing::debug!("the client's thread takes requests");
    }

    /// Whether a sleeper goes on.
    pub fn sleepers_stay(&self) -> bool {
        self.sleepers_fit.load(Ordering::Relaxed)
    }

    /// Has the client's thread take requests.
    fn begin(self: &Arc<Self>, client: &Futago, incoming: Incoming) {
        let crew = Arc::clone(self);
        // If the client has stopped, the end tells of it.
        client.spawn_beside(async move |_| {
            let mut end = End::new(&crew);
            end.outcome = Some(Gateway::new(Arc::clone(&crew)).look(incoming).await);
        });
    }

    /// Has all idle sleepers take requests. Returns whether there is one that does.
    fn wake_sleepers(self: &Arc<Self>) -> bool {
        let mut sleepers = locked(&self.sleepers);
        for (number, incoming) in mem::take(&mut sleepers.idle).into_iter().enumerate() {
            let crew = Arc::clone(self);
            let named = thread::Builder::new().name(format!("futago-mount-{number}"));
            match named.spawn(move || crew.sleep(number, incoming)) {
                Ok(_) => sleepers.at_work += 1,
                Err(error) => {
                    tracing::warn!(%error, "cannot start a thread for the mount; going on without it");
                }
            }
        }
        if sleepers.at_work > 0 {
            tracing::debug!(threads = sleepers.at_work, "sleepers take requests");
        }
        sleepers.at_work > 0
    }

    /// A sleeper takes requests for as long as it is to.
    fn sleep(self: Arc<Self>, number: usize, incoming: Incoming) {
        if let Rule::WhoSuits {
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
        let mut sleepers = locked(&self.sleepers);
        sleepers.idle.push(incoming);
        sleepers.at_work -= 1;
        if sleepers.at_work == 0 {
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
        Self::WhoSuits {
            few_cores: (1..MANY_CORES).contains(&cores.len()).then_some(cores),
        }
    }
}

/// Whether sleepers are the best to take such requests. A caller that is alone is answered soonest by a thread that looks for requests all the
/// time. Several are answered soonest by sleepers: the kernel lets a caller and a thread take turns on one core, as if the one
/// called the other. But on few cores who needs a server is answered soonest by a thread that has requests and answers in one place, and so are
/// so many callers that it always finds several requests.
fn suits_sleepers(nature: Nature, few_cores: Option<usize>) -> bool {
    let suits_few = |cores| !nature.needs_servers && nature.callers as usize <= 2 * cores;
    nature.callers > 1 && few_cores.is_none_or(suits_few)
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
            suits_sleepers(nature, few_cores)
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
